/**
 * What tests take from their surroundings: folders, time, patience. Nothing here needs a service.
 *
 * @module
 */
import { assertEquals, assertLess } from "@std/assert";
import process from "node:process";
import denoConfig from "../deno.json" with { type: "json" };
import { type Clock, systemClock } from "../src/platform/clock.ts";
import { PORTS_FOLDER } from "./needs.ts";

/**
 * The flags of V8 in `deno task start`. Deno keeps compiled code for one set of them: a process with other flags compiles
 * everything anew, and so does the next process of the service.
 */
export const V8_FLAGS: readonly string[] = denoConfig.tasks.start.command.split(" ")
  .filter((word) => word.startsWith("--v8"));

/** Tells `deno run` what modules of the tests import, and keeps it from noting that in the service's lock file. */
export const CONFIG_FLAGS = [
  ...V8_FLAGS,
  "--config",
  new URL("../deno.json", import.meta.url).pathname,
  `--lock=${new URL("deno.lock", import.meta.url).pathname}`,
];

/** A folder that is removed at the end of its scope. */
export async function temporaryFolder(): Promise<AsyncDisposable & { path: string }> {
  const path = await Deno.makeTempDir({ prefix: "hooklaunch-test-" });
  return {
    path,
    [Symbol.asyncDispose]: () => Deno.remove(path, { recursive: true }),
  };
}

/** A clock that a test sets. */
export class TestClock implements Clock {
  /** How far the wall clock is ahead of the steady one. */
  ahead_ms = 0;

  constructor(public time_ms: number = Date.UTC(2026, 0, 1)) {}

  now(): number {
    return this.time_ms + this.ahead_ms;
  }

  steady(): number {
    return this.time_ms;
  }

  /** Timers follow the machine's clock. */
  after(delay_ms: number, call: () => void): () => void {
    return systemClock.after(delay_ms, call);
  }
}

/** The machine's clock, set ahead. */
export class AheadClock implements Clock {
  ahead_ms = 0;
  steady = systemClock.steady;
  after = systemClock.after;

  now(): number {
    return systemClock.now() + this.ahead_ms;
  }

  /** Goes on to so many milliseconds after the beginning of the next hour. */
  toHour(after_ms = 0): void {
    const hour_ms = 60 * 60_000;
    this.ahead_ms += hour_ms - this.now() % hour_ms + after_ms;
  }
}

/** The machine's clock, whose time that does not jump is ahead. */
export class SteadyAheadClock implements Clock {
  ahead_ms = 0;
  now = systemClock.now;
  after = systemClock.after;

  steady(): number {
    return systemClock.steady() + this.ahead_ms;
  }
}

/** The ports that no system gives to who asks for any, or to a connection. */
const PORT_MIN = 10_000;
const PORT_MAX = 29_999;

/**
 * A port of the loopback address that nobody listens on now, and that nobody gets until it is used: neither by chance
 * nor, within one `deno task test`, from this function.
 */
export function freePort(): number {
  const folder = Deno.env.get(PORTS_FOLDER);
  for (;;) {
    const port = PORT_MIN + Math.floor(Math.random() * (PORT_MAX - PORT_MIN));
    try {
      using _listener = Deno.listen({ hostname: "127.0.0.1", port });
      if (folder !== undefined) {
        Deno.writeTextFileSync(`${folder}/${port}`, "", { createNew: true });
      }
      return port;
    } catch (error) {
      const isTaken = error instanceof Deno.errors.AddrInUse ||
        error instanceof Deno.errors.AlreadyExists;
      if (!isTaken) throw error;
    }
  }
}

/** The time after which a wait has failed: long enough that a machine that does much else takes less. */
export const PATIENCE_MS = 180_000;
/** How soon it is looked again, and how late at most. */
const POLL_MS = 10;
const POLL_MS_MAX = 200;

/**
 * Waits until a look answers something else than undefined, or false. It looks the more rarely, the longer it has
 * waited: where that is for seconds, as for containers, looking would take a processor of its own.
 */
export async function eventually<T>(
  look: () => Promise<T | undefined> | T | undefined,
  { within_ms = PATIENCE_MS, what = "what was waited for" } = {},
): Promise<T> {
  const began_ms = performance.now();
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    const waited_ms = performance.now() - began_ms;
    if (waited_ms > within_ms) throw new Error(`Did not see ${what} in ${within_ms} ms`);
    const pause_ms = Math.min(POLL_MS_MAX, Math.max(POLL_MS, waited_ms / 4));
    await new Promise((resolve) => setTimeout(resolve, pause_ms));
  }
}

/** Caches that others fill may take the time of one try, and not of three. */
const TRIES_MAX = 3;
/** The time that {@linkcode knownWork} takes of a thread on an ordinary machine that does nothing else. */
const KNOWN_WORK_MS = 25;
const KNOWN_TEXT = "webhook é 😀 ".repeat(80_000);

/**
 * Tells that something takes less than so long of its thread's time on an ordinary machine. What takes longer is
 * compared with work that is known, done at once on the same thread: a machine that is slow, or busy with other tests,
 * is as slow with that.
 */
export async function assertTakesLess(
  most_ms: number,
  work: () => Promise<void> | void,
): Promise<void> {
  let taken_ms = Infinity;
  let slowness = 1;
  for (let tries = 0; tries < TRIES_MAX && taken_ms >= most_ms * slowness; tries++) {
    taken_ms = await threadTimeOf(work);
    if (taken_ms >= most_ms) slowness = await slownessOfThread();
  }
  assertLess(taken_ms / slowness, most_ms, `${taken_ms} ms, ${slowness.toFixed(1)} times as slow`);
}

/** Returns the thread's own time that something takes. */
export async function threadTimeOf(work: () => Promise<void> | void): Promise<number> {
  const before = process.threadCpuUsage();
  await work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
}

/** Returns how many times as long as an ordinary machine, at least once, this thread takes now. */
export async function slownessOfThread(): Promise<number> {
  // What is done for the first time takes longer.
  knownWork();
  const known_ms = await threadTimeOf(() => {
    for (let round = 0; round < TRIES_MAX; round++) knownWork();
  });
  return Math.max(1, known_ms / TRIES_MAX / KNOWN_WORK_MS);
}

/** Copies a text of a mebibyte, looks at each byte, and reads a JSON list: the kinds of work that tests measure. */
function knownWork(): void {
  const bytes = new TextEncoder().encode(KNOWN_TEXT);
  let sum = 0;
  for (const byte of bytes) sum = (sum * 31 + byte) % 65_521;
  const list = JSON.stringify(Array.from({ length: 20_000 }, (_, index) => ({ index, sum })));
  assertEquals(JSON.parse(list).length, 20_000);
  assertEquals(new TextDecoder().decode(bytes).length, KNOWN_TEXT.length);
}

/** True when tests run that take too long for the suite; `deno task faults engines` sets it. */
export const isLong = Deno.env.get("HOOKLAUNCH_LONG_TESTS") !== undefined;
