/**
 * The share of the event loop that runs get while launches arrive. A burst of launches goes first. Beside a
 * load that lasts, as many runs are under way as ends are missing to a share of the accepted launches. When
 * runs are far behind all the same, further launches wait until as many runs have ended.
 *
 * @module
 */
import type { Clock } from "../platform/clock.ts";
import { LoadWindow } from "./load_window.ts";

/** Simultaneous launches from which on senders wait for each other, and runs hold back. */
const HEAVY_LOAD = 8;
const LOAD_WINDOW_MS = 25;
/** Runs that are performed at a time during a burst. */
const BURST_CONCURRENCY = 1;
/** Ends for each accepted launch: a half is promised, and the rest makes up for a burst. */
const SHARE = 0.6;
/** Ends that a burst of launches may leave for later, and how long it may. */
const BURST = 500;
const BURST_MS = 500;
/** Backlog at which launches wait for runs to end. */
const BEHIND = 30_000;
/** Limit of the launches that may be ahead of the ends while runs are behind, and the other way round. */
const LEAD_MAX = 1_024;
/**
 * Time under way after which a run counts as one that waits for something else than its turn, such as a
 * silent git server: with all places taken, runs took up to a second and a half on an overloaded machine.
 */
const ELSEWHERE_MS = 5_000;

/** The share of runs beside launches. */
export class WorkShare {
  readonly #clock: Pick<Clock, "steady">;
  readonly #concurrency: number;
  readonly #load = new LoadWindow(LOAD_WINDOW_MS, HEAVY_LOAD);
  #expected = 0;
  /** The time since which the load lasts, as far as it was asked for. */
  #loadedSince_ms: number | undefined;
  /** When the runs under way began, oldest first. */
  readonly #underWay = new Set<{ since_ms: number }>();
  /** Launches accepted minus runs ended, since runs are behind. */
  #lead = 0;
  /** Ends that are missing to their share of the launches. */
  #owed = 0;
  /** Runs that have ended since other instances were told how many. */
  #ended = 0;

  /** @param concurrency runs that are performed at a time where no launches arrive */
  constructor(clock: Pick<Clock, "steady">, concurrency: number) {
    this.#clock = clock;
    this.#concurrency = concurrency;
  }

  /** Number of launches that are being stored. */
  get expected(): number {
    return this.#expected;
  }

  /** Notes a launch that is being stored, or with -1 one that no longer is. */
  expect(change: 1 | -1): void {
    this.#expected += change;
    this.#load.note(this.#expected, this.#clock.steady());
  }

  /** Notes accepted launches. */
  accepted(backlog: number, count = 1): void {
    this.#moveLead(count, backlog);
    this.#owed = Math.min(this.#owed + SHARE * count, BURST + this.#concurrency);
  }

  /** Notes the end of a run. */
  ended(backlog: number): void {
    this.#ended++;
    this.#moveLead(-1, backlog);
    this.#owed = Math.max(0, this.#owed - 1);
  }

  /** Notes a run that begins; returns a function that notes when its place is free again. */
  begin(): () => void {
    const run = { since_ms: this.#clock.steady() };
    this.#underWay.add(run);
    return () => void this.#underWay.delete(run);
  }

  /** Returns the number of runs to perform at a time now. */
  places(): number {
    const now_ms = this.#clock.steady();
    if (!this.#load.lasts(now_ms)) {
      this.#loadedSince_ms = undefined;
      return this.#concurrency;
    }
    this.#loadedSince_ms ??= now_ms;
    const later = now_ms - this.#loadedSince_ms < BURST_MS ? BURST : 0;
    const more = Math.floor(Math.max(0, this.#owed - later));
    return Math.min(this.#concurrency, BURST_CONCURRENCY + more);
  }

  /**
   * Returns true while launches should wait for runs to end. Where half of the places are taken by runs
   * that wait for something else than their turn, waiting launches would not help them.
   */
  holdsLaunches(backlog: number): boolean {
    return this.#lead > 0 && this.#isBehind(backlog);
  }

  /**
   * Returns the number of runs that have ended since the last call, for which other instances may accept as many
   * launches; undefined while these need not wait.
   */
  takeEnded(backlog: number): number | undefined {
    const ended = this.#ended;
    this.#ended = 0;
    return this.#isBehind(backlog) ? ended : undefined;
  }

  #isBehind(backlog: number): boolean {
    return backlog >= BEHIND && this.#elsewhere < this.#concurrency / 2;
  }

  get #elsewhere(): number {
    const now_ms = this.#clock.steady();
    let count = 0;
    for (const { since_ms } of this.#underWay) {
      if (now_ms - since_ms < ELSEWHERE_MS) break;
      count++;
    }
    return count;
  }

  #moveLead(change: number, backlog: number): void {
    const lead = Math.max(-LEAD_MAX, Math.min(LEAD_MAX, this.#lead + change));
    this.#lead = backlog < BEHIND ? 0 : lead;
  }
}
