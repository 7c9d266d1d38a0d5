/**
 * Reads of single values: what is asked for at the same time is read together, and everyone gets what
 * they asked for.
 */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { Reads } from "../../../src/store/read/batched_get.ts";

/** A database that notes how many keys each read has, and fails when a function says so. */
function countingKv(kv: Deno.Kv, fail: (keys: readonly Deno.KvKey[]) => Error | undefined) {
  const sizes: number[] = [];
  const read = (keys: readonly Deno.KvKey[]) => {
    sizes.push(keys.length);
    const error = fail(keys);
    if (error) throw error;
  };
  // Only what reads use is there.
  const watched = {
    async get(key: Deno.KvKey) {
      read([key]);
      return await kv.get(key);
    },
    async getMany(keys: readonly Deno.KvKey[]) {
      read(keys);
      return await kv.getMany([...keys]);
    },
  } as unknown as Deno.Kv;
  return { watched, sizes };
}

Deno.test("values that are asked for at the same time are read together, each for who asked", async () => {
  using kv = await Deno.openKv(":memory:");
  for (let at = 0; at < 30; at++) await kv.set(["value", at], `value ${at}`);
  const { watched, sizes } = countingKv(kv, () => undefined);
  const reads = new Reads(watched);
  const found = await Promise.all(
    Array.from({ length: 33 }, (_, at) => reads.read(["value", at])),
  );
  const expected = Array.from({ length: 33 }, (_, at) => at < 30 ? `value ${at}` : null);
  assertEquals(found, expected);
  assertEquals(sizes.reduce((sum, size) => sum + size), 33);
  assert(sizes.length <= 5, `${sizes.length} reads`);
});

Deno.test("a value is never older than the call that asks for it", async () => {
  using kv = await Deno.openKv(":memory:");
  const reads = new Reads(kv);
  const looks: Promise<void>[] = [];
  for (let version = 1; version <= 200; version++) {
    await kv.set(["version"], version);
    const look = async () => assert(Number(await reads.read(["version"])) >= version);
    looks.push(look(), look());
  }
  await Promise.all(looks);
});

Deno.test("a value that cannot be decoded hides no other that is read with it", async () => {
  using kv = await Deno.openKv(":memory:");
  for (let at = 0; at < 5; at++) await kv.set(["value", at], at);
  const isDamaged = (keys: readonly Deno.KvKey[]) => keys.some(([, at]) => at === 3);
  const { watched } = countingKv(
    kv,
    (keys) => isDamaged(keys) ? new RangeError("could not deserialize value") : undefined,
  );
  const reads = new Reads(watched);
  const found = await Promise.all([0, 1, 2, 3, 4].map((at) => reads.read(["value", at])));
  assertEquals(found, [0, 1, 2, null, 4]);
});

Deno.test("a read that fails is told to all who wait for it, and to nobody after them", async () => {
  using kv = await Deno.openKv(":memory:");
  await kv.set(["value"], 1);
  let broken = true;
  const { watched } = countingKv(kv, () => broken ? new Error("disk I/O error") : undefined);
  const reads = new Reads(watched);
  const looks = [1, 2, 3].map(() => assertRejects(() => reads.read(["value"]), Error, "disk I/O"));
  await Promise.all(looks);
  broken = false;
  assertEquals(await reads.read(["value"]), 1);
});
