/** The database of the simulation answers as Deno KV does. */
import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { MemoryDatabase, MemoryKv } from "./memory_kv.ts";

const part = fc.oneof(
  fc.constantFrom("a", "b", "a\0", "ä", "\0", "\x7f"),
  fc.constantFrom(-1.5, 0, 1, 255, 256, 1e9),
  fc.boolean(),
  fc.uint8Array({ maxLength: 2 }),
);
const key = fc.array(part, { minLength: 1, maxLength: 3 });

const step = fc.record({
  sets: fc.array(fc.tuple(key, fc.nat()), { maxLength: 3 }),
  deletes: fc.array(key, { maxLength: 2 }),
  /** A key that is checked, and whether against what was read a moment before. */
  check: fc.option(fc.tuple(key, fc.boolean()), { nil: undefined }),
});

Deno.test("memory database: it stores, checks and lists as Deno KV does", async () => {
  const property = fc.asyncProperty(fc.array(step, { maxLength: 12 }), key, async (steps, at) => {
    using real = await Deno.openKv(":memory:");
    const { kv: memory } = new MemoryKv(new MemoryDatabase());
    for (const { sets, deletes, check } of steps) {
      const results = await Promise.all([real, memory].map(async (kv) => {
        const operation = kv.atomic();
        if (check) {
          const [key, isTrue] = check;
          const { versionstamp } = await kv.get(key);
          operation.check({ key, versionstamp: isTrue ? versionstamp : "0123456789abcdef0000" });
        }
        for (const [key, value] of sets) operation.set(key, value);
        for (const key of deletes) operation.delete(key);
        return (await operation.commit()).ok;
      }));
      assertEquals(results[0], results[1]);
    }
    const seen = await Promise.all([real, memory].map(async (kv) => {
      const selectors: Deno.KvListSelector[] = [
        { prefix: [] },
        { prefix: at },
        { prefix: at.slice(0, 1), start: [...at.slice(0, 1), "a"] },
        { start: [false], end: [true, "b"] },
      ];
      const lists = selectors.map((selector) =>
        [{}, { limit: 2 }, { limit: 3, reverse: true }, { batchSize: 1 }].map(async (options) =>
          (await Array.fromAsync(kv.list(selector, options))).map(({ key, value }) => [key, value])
        )
      );
      return [
        (await kv.get(at)).value,
        (await kv.getMany([at, ["a"]])).map(({ value }) => value),
        await Promise.all(lists.flat()),
      ];
    }));
    assertEquals(seen[1], seen[0]);
  });
  await fc.assert(property, { numRuns: 60, endOnFailure: true });
});
