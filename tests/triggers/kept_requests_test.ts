/** The limits of what is kept of refused requests: bytes of a minute, bytes in all, and room on the disk. */
import { assertEquals } from "@std/assert";
import { deadline } from "@std/async/deadline";
import { hash } from "node:crypto";
import { KeptRequests } from "../../src/triggers/kept_requests.ts";
import { secretBox } from "../../src/triggers/secrets.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { newId } from "../../src/platform/ids.ts";
import type { Store } from "../../src/store/store.ts";
import { TestClock } from "../data.ts";
import { removeKeptOf } from "../../src/store/records/kept_requests.ts";
import { sharedStore, standIn, storeInMemory, storeOn, watchedKv } from "../store/fixture.ts";

const MIB = 1024 * 1024;
const SECRETS = secretBox([new Uint8Array(32)]);

function triggerOf(id: string, keep_refused = "1h"): Parameters<KeptRequests["hasRoom"]>[0] {
  return { id, keep_refused, conditions: [] };
}

/** Keeps requests in a store of its own. */
async function keeper(
  parts: {
    bytes_max?: number;
    isShort?: boolean;
    isLeader?: boolean;
    store?: Store;
    clock?: TestClock;
  } = {},
) {
  const {
    isShort = false,
    isLeader = true,
    store = await storeInMemory(),
    clock = new TestClock(),
    ...limits
  } = parts;
  const kept = new KeptRequests({ store, secrets: SECRETS, clock, space: { isShort }, ...limits });
  const closing = new AbortController();
  if (isLeader) kept.start(closing.signal);
  else kept.follow();
  await kept.close();
  return {
    kept,
    clock,
    store,
    /** Keeps a request of a trigger if there is room, and answers its id. */
    async keep(
      triggerId: string,
      bytes: number,
      keep_refused?: string,
    ): Promise<string | undefined> {
      const trigger = triggerOf(triggerId, keep_refused);
      if (!kept.hasRoom(trigger, bytes)) return undefined;
      const entryId = newId(clock.now());
      const body = new Uint8Array(bytes);
      const request = {
        method: "POST",
        target: "/",
        headers: new Headers(),
        remoteIp: "192.0.2.7",
      };
      await kept.keep(
        { triggerId, entryId },
        { ...request, receivedAt_ms: clock.now(), body },
        { until_ms: kept.until_ms(trigger), sha256: hash("sha256", body) },
      );
      return entryId;
    },
    isKept: async (triggerId: string, entryId = "") =>
      await kept.read({ triggerId, entryId }) !== undefined,
    [Symbol.asyncDispose]: () => store.close(),
  };
}

Deno.test("a flood fills its minute, of one trigger and in all, and the next minute has room again", async () => {
  await using own = await keeper();
  const flood = async (triggerId: string) => {
    let count = 0;
    while (await own.keep(triggerId, MIB) !== undefined) count++;
    return count;
  };
  assertEquals(await flood("a"), 15);
  assertEquals(await own.keep("a", 100) !== undefined, true, "a short one has room still");
  const others = [await flood("b"), await flood("c"), await flood("d"), await flood("e")];
  assertEquals(others, [15, 15, 15, 2]);
  own.clock.time_ms += 60_000;
  assertEquals(await flood("a"), 15);
});

Deno.test("where all is full, the trigger with the most makes room, its oldest first", async () => {
  await using own = await keeper({ bytes_max: 3 * MIB });
  const large = [await own.keep("large", MIB), await own.keep("large", MIB)];
  const small = await own.keep("small", 100);
  const more = await own.keep("small", MIB);
  assertEquals(await own.isKept("large", large[0]), false);
  for (const [trigger, id] of [["large", large[1]], ["small", small], ["small", more]]) {
    assertEquals(await own.isKept(trigger ?? "", id), true);
  }
  assertEquals(own.kept.size.requests, 3);
});

Deno.test("nothing is kept on a disk that is nearly full, nor too long a body", async () => {
  await using full = await keeper({ isShort: true });
  assertEquals(await full.keep("a", 1), undefined);
  await using own = await keeper();
  assertEquals(await own.keep("a", MIB + 1), undefined);
});

Deno.test("what another instance has kept is removed after its time, too", async () => {
  await using gone = await keeper();
  const { store, clock } = gone;
  const other = await keeper({ store, clock });
  const id = await gone.keep("a", 100);
  clock.time_ms += 30 * 60_000;
  const own = await other.keep("a", 100);
  await other.kept.sweep();
  assertEquals(await other.isKept("a", id), true);
  clock.time_ms += 31 * 60_000;
  await other.kept.sweep();
  assertEquals(await other.isKept("a", own), true);
  const left = await Array.fromAsync(store.kv.list({ prefix: ["kept"] }), ({ key }) => key[2]);
  assertEquals(left, [own]);
  await other.kept.close();
});

Deno.test("beside the leader the oldest make room, and with the leader's next also those of all instances", async () => {
  using open = await Deno.openKv(":memory:");
  // The test closes it, and not the stores.
  const kv = standIn(open, { close() {}, [Symbol.dispose]() {} });
  await using leading = await sharedStore(kv, systemClock);
  await using following = await sharedStore(kv, systemClock, { leads: false });
  const clock = new TestClock();
  const stored = () => Array.fromAsync(kv.list({ prefix: ["kept"] }), ({ key }) => String(key[2]));
  const other = await keeper({ store: following, clock, isLeader: false });
  const ids: string[] = [];
  for (let count = 0; count < 101; count++) ids.push(await other.keep("a", 1) ?? "");
  assertEquals(await stored(), ids.slice(1));
  const second = await keeper({ store: following, clock, isLeader: false });
  for (let count = 0; count < 3; count++) ids.push(await second.keep("a", 1) ?? "");
  const leader = await keeper({ store: leading, clock });
  ids.push(await leader.keep("a", 1) ?? "");
  assertEquals(await stored(), ids.slice(5));
  // Of what others have removed nothing counts.
  const third = await keeper({ store: following, clock, isLeader: false });
  for (let hour = 0; hour < 2; hour++) {
    for (let count = 0; count < 101; count++) await third.keep("b", 1, "24h");
    clock.time_ms += 61 * 60_000;
    await leader.kept.sweep();
    assertEquals(leader.kept.size.requests, (await stored()).length);
  }
});

Deno.test("requests that make room for one end with their trigger", async () => {
  await using one = await keeper();
  const { store, clock } = one;
  const two = await keeper({ store, clock });
  for (let count = 0; count < 100; count++) {
    await one.keep("a", 1);
    await two.keep("a", 1);
  }
  const next = await keeper({ store, clock });
  assertEquals(next.kept.size.requests, 200);
  const keeping = next.keep("a", 1);
  await next.kept.forget("a");
  await deadline(keeping, 30_000);
  assertEquals(next.kept.size, { requests: 0, bytes: 0 });
});

Deno.test("of a request whose trigger goes while it is stored, nothing is left", async () => {
  const kv = await Deno.openKv(":memory:");
  const other = storeOn(kv);
  let isRemoved = false;
  const store = storeOn(watchedKv(kv, async ({ keys }, commit) => {
    const answer = await commit();
    if (!isRemoved && keys.some(([kind]) => kind === "kept")) {
      isRemoved = true;
      await removeKeptOf(other, "a");
    }
    return answer;
  }));
  await using own = await keeper({ store });
  await own.keep("a", 200_000);
  assertEquals(isRemoved, true);
  assertEquals(await Array.fromAsync(kv.list({ prefix: [] }), ({ key }) => key), []);
});
