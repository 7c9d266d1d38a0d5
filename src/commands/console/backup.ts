/**
 * Progress, warnings and interruption of the commands for backups.
 *
 * @module
 */
import { BackupError } from "../../backup/error.ts";
import type { Flaw } from "../../backup/manifest.ts";
import { onStopSignal } from "../process/stop_signals.ts";
import { harmlessJson } from "./harmless_json.ts";
import { harmless } from "./table.ts";

/** The time between two lines of progress in a file. */
const LINE_MS = 10_000;
const FLAWS_SHOWN = 20;

/** Shows progress on standard error: on one line of a terminal, else a line now and then. */
export class Progress implements Disposable {
  readonly #isTerminal = Deno.stderr.isTerminal();
  readonly #begun_ms = performance.now();
  #shown_ms = this.#begun_ms;
  #isShown = false;

  /** Shows a text, unless one was shown just now. */
  show(text: string): void {
    const now_ms = performance.now();
    if (now_ms - this.#shown_ms < (this.#isTerminal ? 100 : LINE_MS)) return;
    this.#shown_ms = now_ms;
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

/** The time that a stopped process gets to end by itself. */
const EXIT_MS = 500;

/** Does work that SIGINT and SIGTERM abort, so that it can remove what it has half done. */
export async function untilStopped<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const stop = new AbortController();
  using _listening = onStopSignal((name) => stop.abort(new BackupError(`Stopped by ${name}`)));
  try {
    return await work(stop.signal);
  } finally {
    // A reader that does not read would keep the process alive.
    if (stop.signal.aborted) Deno.unrefTimer(setTimeout(() => Deno.exit(1), EXIT_MS));
  }
}

/** Prints the flaws of a backup. */
export function warnOfFlaws(flaws: readonly Flaw[]): void {
  for (const { path, detail } of flaws.slice(0, FLAWS_SHOWN)) {
    // In a backup from elsewhere both can be any text.
    const shown = harmlessJson(JSON.stringify(path));
    console.error(`Flaw in the backup: ${shown}: ${harmless(detail)}`);
  }
  if (flaws.length > FLAWS_SHOWN) {
    console.error(`and ${flaws.length - FLAWS_SHOWN} more; --json lists all of them`);
  }
}
