/**
 * The silence of triggers: the time since the newest accepted delivery.
 *
 * It counts while the service runs, by a clock that never jumps: nobody can deliver anything to a service that does not
 * run, and a wall clock that is set makes no silence. Times in which silence is normal do not count.
 *
 * @module
 */
import { timeSpan_ms } from "../platform/text/time_span.ts";
import type { NotifierSettings, TriggerSilence } from "../store/records/notifiers.ts";
import { isQuiet } from "./quiet.ts";

/** The silence of each trigger grows to this much before it is stored again. */
const STORED_SHARE = 0.05;
const STORED_MAX_MS = 15 * 60_000;

/** The silences of the triggers of a notifier. */
export class Silences {
  readonly #notifier: Pick<NotifierSettings, "silent" | "quiet">;
  readonly #limit_ms: number;
  readonly #known: Map<string, TriggerSilence>;
  #unstored_ms = 0;
  #hasChanged = false;

  /** @param stored the silences that an earlier look has stored, by trigger */
  constructor(
    notifier: Pick<NotifierSettings, "silent" | "quiet">,
    stored: Readonly<Record<string, TriggerSilence>> = {},
  ) {
    this.#notifier = notifier;
    this.#limit_ms = timeSpan_ms(notifier.silent ?? "");
    this.#known = new Map(Object.entries(stored));
  }

  /** Returns what is to be stored; undefined while that has not changed much. */
  get toStore(): Record<string, TriggerSilence> | undefined {
    const step_ms = Math.min(this.#limit_ms * STORED_SHARE, STORED_MAX_MS);
    return this.#hasChanged || this.#unstored_ms >= step_ms
      ? Object.fromEntries(this.#known)
      : undefined;
  }

  /** Notes that all is stored. */
  stored(): void {
    this.#unstored_ms = 0;
    this.#hasChanged = false;
  }

  /** The id of the newest run of a trigger that was seen; "" without one. */
  newestOf(triggerId: string): string {
    return this.#known.get(triggerId)?.run_id ?? "";
  }

  /** Begins a look, some time after the last one. */
  pass(elapsed_ms: number, now_ms: number): void {
    if (isQuiet(this.#notifier.quiet ?? [], now_ms)) return;
    this.#unstored_ms += elapsed_ms;
    for (const silence of this.#known.values()) silence.silent_ms += elapsed_ms;
  }

  /**
   * Looks at a trigger.
   *
   * @param newest the id of its newest accepted run; "" without one
   * @returns true when it is silent
   */
  isSilent(triggerId: string, newest: string): boolean {
    const known = this.#known.get(triggerId);
    if (known === undefined || newest > known.run_id) {
      this.#known.set(triggerId, { run_id: newest, silent_ms: 0 });
      this.#hasChanged = true;
      return false;
    }
    return known.silent_ms >= this.#limit_ms;
  }

  /** Forgets the triggers that are not looked at any more. */
  keepOnly(triggerIds: ReadonlySet<string>): void {
    for (const id of this.#known.keys()) {
      if (triggerIds.has(id)) continue;
      this.#known.delete(id);
      this.#hasChanged = true;
    }
  }
}
