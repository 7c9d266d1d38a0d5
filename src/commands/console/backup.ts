/**
 * What the commands for backups say while they work, and how they are stopped.
 *
 * @module
 */
import { BackupError } from "../../backup/error.ts";
import type { Flaw } from "../../backup/manifest.ts";
import { onStopSignal } from "../process/stop_signals.ts";
import { harmless, harmlessJson } from "./table.ts";

/** How often progress is told where it goes to a file. */
const LINE_MS = 10_000;
const FLAWS_SHOWN = 20;

/** Tells on standard error how far something is: in one line of a terminal, or a line now and then. */
export class Progress implements Disposable {
  readonly #isTerminal = Deno.stderr.isTerminal();
  readonly #begun_ms = performance.now();
  #told_ms = this.#begun_ms;
  #isShown = false;

  /** Tells it, unless it was told just now. */
  show(text: string): void {
    const now_ms = performance.now();
    if (now_ms - this.#told_ms < (this.#isTerminal ? 100 : LINE_MS)) return;
    this.#told_ms = now_ms;
    this.#isShown = this.#isTerminal;
    Deno.stderr.writeSync(
      new TextEncoder().encode(this.#isTerminal ? `\r\x1b[K${text}` : `${text}\n`),
    );
  }

  /** Removes the line from the terminal. */
  end(): void {
    if (this.#isShown) Deno.stderr.writeSync(new TextEncoder().encode("\r\x1b[K"));
    this.#isShown = false;
  }

  [Symbol.dispose](): void {
    this.end();
  }
}

/** How long a process that was stopped may take to end by itself. */
const EXIT_MS = 500;

/** Does work that SIGINT and SIGTERM stop, so that it can remove what it has half done. */
export async function untilStopped<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const stop = new AbortController();
  using _listening = onStopSignal((name) => stop.abort(new BackupError(`Stopped by ${name}`)));
  try {
    return await work(stop.signal);
  } finally {
    // What is written to who does not read it would keep the process alive.
    if (stop.signal.aborted) Deno.unrefTimer(setTimeout(() => Deno.exit(1), EXIT_MS));
  }
}

/** Says what is not in a backup as it should be. */
export function warnOfFlaws(flaws: readonly Flaw[]): void {
  for (const { path, detail } of flaws.slice(0, FLAWS_SHOWN)) {
    // Of a backup that was made elsewhere, both are whatever it says.
    const shown = harmlessJson(JSON.stringify(path));
    console.error(`Not as it should be: ${shown}: ${harmless(detail)}`);
  }
  if (flaws.length > FLAWS_SHOWN) {
    console.error(`and ${flaws.length - FLAWS_SHOWN} more, --json lists all of them`);
  }
}
