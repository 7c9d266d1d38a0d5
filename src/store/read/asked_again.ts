/**
 * Reads of a remote database. Nobody notices a connection that breaks without a word, as when the database's machine
 * loses power, and Deno waits for ever for what was asked on it. So a read that is not answered is made again, on
 * another connection, and the first answer counts.
 *
 * @module
 */
import type { Clock } from "../../platform/clock.ts";
import { within } from "../../platform/waiting/timers.ts";

/** The time after which a read is made again. It doubles with each: the database may be away. */
const AGAIN_MS = 10_000;
/** Entries of a list that are read at a time, as Deno has it: by default, and of one with a limit at most. */
const BATCH_SIZE = 100;
const BATCH_SIZE_MAX = 500;

/** Returns a database whose reads are made again until they are answered. Closing it closes the database. */
export function askingAgain(kv: Deno.Kv, clock: Clock, again_ms: number = AGAIN_MS): Deno.Kv {
  const closing = new AbortController();
  const { signal } = closing;
  const ask = async <T>(read: () => Promise<T>): Promise<T> => {
    const answers: Promise<T>[] = [];
    for (let wait_ms = again_ms;; wait_ms *= 2) {
      answers.push(read());
      const first = Promise.race(answers);
      if (signal.aborted) return await first;
      const answer = await within(clock, wait_ms, first.then((value) => ({ value })), signal);
      if (answer) return answer.value;
    }
  };
  async function* entriesOf(
    selector: Deno.KvListSelector,
    { limit: all, batchSize = Math.min(all ?? BATCH_SIZE, BATCH_SIZE_MAX), ...options }:
      Deno.KvListOptions = {},
  ) {
    let cursor = options.cursor ?? "";
    for (let left = all ?? Infinity; left > 0; left -= batchSize) {
      const limit = Math.min(left, batchSize);
      const batch = await ask(async () => {
        const found = kv.list(selector, { ...options, limit, batchSize: limit, cursor });
        return { entries: await Array.fromAsync(found), cursor: found.cursor };
      });
      yield* batch.entries;
      if (batch.entries.length < limit) return;
      cursor = batch.cursor;
    }
  }
  const close = () => {
    closing.abort();
    kv.close();
  };
  const own = {
    get: (...of: Parameters<Deno.Kv["get"]>) => ask(() => kv.get(...of)),
    getMany: (...of: Parameters<Deno.Kv["getMany"]>) => ask(() => kv.getMany(...of)),
    list: (...of: Parameters<Deno.Kv["list"]>) => entriesOf(...of),
    close,
    [Symbol.dispose]: close,
  };
  return new Proxy(kv, {
    get(_target, name) {
      if (Object.hasOwn(own, name)) return Reflect.get(own, name);
      const value = Reflect.get(kv, name);
      return typeof value === "function" ? value.bind(kv) : value;
    },
  });
}
