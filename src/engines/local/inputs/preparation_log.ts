/**
 * The log of an execution before its command starts. Nothing is written unless there is something to say.
 *
 * @module
 */
import { dirname } from "node:path";
import type { Clock } from "../../../platform/clock.ts";
import { appendToLog, type StoredLine } from "../../shared/log_file.ts";

/** Adds lines to a log, one after the other. */
export class PreparationLog {
  readonly #path: string;
  readonly #clock: Clock;
  readonly #bytesMax: number;
  /** What an earlier service has written. */
  #kept: Uint8Array | undefined;
  #written: Promise<void> | undefined;

  /**
   * @param path the log's file, whose folder is made when something is told
   * @param bytesMax how long the log may become
   */
  constructor(path: string, { clock, bytesMax }: { clock: Clock; bytesMax: number }) {
    this.#path = path;
    this.#clock = clock;
    this.#bytesMax = bytesMax;
  }

  /** Whether something was told. */
  get isUsed(): boolean {
    return this.#written !== undefined;
  }

  /** Remembers what is in the file, which may be removed then: it comes before what is told next. */
  async keep(): Promise<void> {
    this.#kept = await Deno.readFile(this.#path).catch(() => undefined);
  }

  /** Adds a line. That it cannot be written, as on a full disk, must not end the execution. */
  tell(message: string): Promise<void> {
    const time = new Date(this.#clock.now()).toISOString();
    const before = this.#written ?? Promise.resolve();
    return this.#written = before.then(() => this.#write({ time, stream: "event", message }))
      .catch(() => {});
  }

  async #write(line: StoredLine): Promise<void> {
    await Deno.mkdir(dirname(this.#path), { recursive: true, mode: 0o700 });
    const kept = this.#kept;
    this.#kept = undefined;
    if (kept) await Deno.writeFile(this.#path, kept, { mode: 0o600 });
    await appendToLog(this.#path, this.#bytesMax, line);
  }
}
