/**
 * The log of an execution before its command starts. Its file is created with the first line.
 *
 * @module
 */
import { dirname } from "node:path";
import type { Clock } from "../../platform/clock.ts";
import type { StoredLine } from "../shared/log_format.ts";
import { appendToLog } from "../shared/log_writer.ts";

/** The options of a {@linkcode PreparationLog}. */
interface PreparationLogOptions {
  clock: Clock;
  /** The size limit of the log. */
  bytesMax: number;
  /** Called when the log has grown. */
  onLog(): void;
}

/** Adds lines to a log, one after the other. */
export class PreparationLog {
  readonly #path: string;
  readonly #clock: Clock;
  readonly #bytesMax: number;
  readonly #onLog: () => void;
  /** The lines of an earlier service. */
  #earlier: Uint8Array | undefined;
  #written: Promise<void> | undefined;

  /**
   * @param path the log's file, whose folder is created with the first line
   */
  constructor(path: string, { clock, bytesMax, onLog }: PreparationLogOptions) {
    this.#path = path;
    this.#clock = clock;
    this.#bytesMax = bytesMax;
    this.#onLog = onLog;
  }

  /** True when a line was added. */
  get isUsed(): boolean {
    return this.#written !== undefined;
  }

  /** Reads the file into memory before it is removed: its lines come before new ones. */
  async keepEarlier(): Promise<void> {
    this.#earlier = await Deno.readFile(this.#path).catch(() => undefined);
  }

  /** Adds a line. A line that cannot be written, such as on a full disk, is left out. */
  logEvent(message: string): Promise<void> {
    const time = new Date(this.#clock.now()).toISOString();
    const before = this.#written ?? Promise.resolve();
    return this.#written = before.then(() => this.#write({ time, stream: "event", message }))
      .catch(() => {});
  }

  async #write(line: StoredLine): Promise<void> {
    await Deno.mkdir(dirname(this.#path), { recursive: true, mode: 0o700 });
    const earlier = this.#earlier;
    this.#earlier = undefined;
    if (earlier) await Deno.writeFile(this.#path, earlier, { mode: 0o600 });
    await appendToLog(this.#path, this.#bytesMax, line);
    this.#onLog();
  }
}
