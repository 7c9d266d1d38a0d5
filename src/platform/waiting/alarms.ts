/**
 * Calls at times of the wall clock, by names.
 *
 * @module
 */
import type { Clock } from "../clock.ts";

/** The longest wait at once: a longer one overflows a timer, and a clock that was set is noticed. */
const WAIT_MS_MAX = 60 * 60_000;
/** The most calls in one turn of the event loop. */
const CALLS_MAX = 100;
/** The least alarms at which those that were replaced or cancelled are taken out. */
const SWEPT_MIN = 64;

interface Alarm {
  readonly name: string;
  readonly at_ms: number;
  /** Those of one time are called in the order in which they were set. */
  readonly number: number;
}

/** The calls that are to come: one timer, however many there are. */
export class Alarms {
  readonly #clock: Clock;
  readonly #call: (name: string) => void;
  readonly #alarms = new Map<string, Alarm>();
  /** A binary heap, the earliest first. Those that were replaced or cancelled are among them. */
  #heap: Alarm[] = [];
  #set = 0;
  /** The timer for the earliest, and its end by the clock that never jumps. */
  #timer: { ends_ms: number; cancel: () => void } | undefined;

  /** @param call is called with the name of each alarm at its time */
  constructor(clock: Clock, call: (name: string) => void) {
    this.#clock = clock;
    this.#call = call;
  }

  /** Makes a call at a time, in place of the one of this name. */
  set(name: string, at_ms: number): void {
    const alarm = { name, at_ms, number: this.#set++ };
    this.#alarms.set(name, alarm);
    this.#sweep();
    push(this.#heap, alarm);
    this.#wait();
  }

  /** Makes no call of this name any more; returns whether there was one to come. */
  cancel(name: string): boolean {
    return this.#alarms.delete(name);
  }

  /** Makes no call any more. */
  close(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#alarms.clear();
    this.#heap = [];
  }

  /** Takes out what was replaced or cancelled, once that is most of all. */
  #sweep(): void {
    if (this.#heap.length < SWEPT_MIN || this.#heap.length < 2 * this.#alarms.size) return;
    const heap: Alarm[] = [];
    for (const alarm of this.#heap) if (this.#isToCome(alarm)) push(heap, alarm);
    this.#heap = heap;
  }

  #isToCome(alarm: Alarm): boolean {
    return this.#alarms.get(alarm.name) === alarm;
  }

  /** Waits for the earliest. */
  #wait(): void {
    const [next] = this.#heap;
    if (next === undefined) return;
    const left_ms = Math.min(WAIT_MS_MAX, Math.max(0, next.at_ms - this.#clock.now()));
    const ends_ms = this.#clock.steady() + left_ms;
    if (this.#timer && this.#timer.ends_ms <= ends_ms) return;
    this.#timer?.cancel();
    const cancel = this.#clock.after(left_ms, () => {
      this.#timer = undefined;
      this.#callDue();
      this.#wait();
    });
    this.#timer = { ends_ms, cancel };
  }

  #callDue(): void {
    const now_ms = this.#clock.now();
    const due: Alarm[] = [];
    for (let [next] = this.#heap; next && due.length < CALLS_MAX; [next] = this.#heap) {
      if (next.at_ms > now_ms && this.#isToCome(next)) break;
      pop(this.#heap);
      if (this.#isToCome(next)) due.push(next);
    }
    for (const alarm of due) {
      // A call before may have replaced or cancelled it.
      if (!this.#isToCome(alarm)) continue;
      this.#alarms.delete(alarm.name);
      this.#call(alarm.name);
    }
  }
}

function isBefore(one: Alarm, other: Alarm): boolean {
  return one.at_ms < other.at_ms || (one.at_ms === other.at_ms && one.number < other.number);
}

function push(heap: Alarm[], alarm: Alarm): void {
  let index = heap.length;
  heap.push(alarm);
  for (let above = (index - 1) >> 1; index > 0; above = (index - 1) >> 1) {
    const parent = heap[above];
    if (parent === undefined || isBefore(parent, alarm)) break;
    heap[index] = parent;
    index = above;
  }
  heap[index] = alarm;
}

/** Takes off the earliest. */
function pop(heap: Alarm[]): void {
  const last = heap.pop();
  if (last === undefined || heap.length === 0) return;
  let index = 0;
  for (;;) {
    const [left, right] = [heap[2 * index + 1], heap[2 * index + 2]];
    if (left === undefined) break;
    const isRight = right !== undefined && isBefore(right, left);
    const child = isRight ? right : left;
    if (isBefore(last, child)) break;
    heap[index] = child;
    index = 2 * index + (isRight ? 2 : 1);
  }
  heap[index] = last;
}
