import { assertEquals, assertLessOrEqual } from "@std/assert";
import { readFirstBytes } from "../../../src/platform/files/bytes.ts";

/** A stream of pieces, whose bytes count up. */
function streamOf(
  ...lengths: readonly number[]
): { stream: ReadableStream<Uint8Array>; all: Uint8Array } {
  const all = Uint8Array.from(
    { length: lengths.reduce((sum, length) => sum + length, 0) },
    (_, at) => at,
  );
  let at = 0;
  const pieces = lengths.map((length) => all.slice(at, at += length));
  return { stream: ReadableStream.from(pieces), all };
}

Deno.test("the first bytes of a stream, in pieces of any length and up to any limit", async () => {
  for (const lengths of [[], [1], [16_384], [16_385], [10, 20_000, 5, 70_000], [100_000, 1]]) {
    for (const limit of [0, 1, 16_384, 40_000, 1_000_000]) {
      const { stream, all } = streamOf(...lengths);
      let cuts = 0;
      const { bytes, isCut } = await readFirstBytes(stream, limit, { onCut: () => cuts++ });
      const what = `${lengths} up to ${limit}`;
      assertEquals(bytes, all.slice(0, limit), what);
      assertEquals([isCut, cuts > 0], [all.length > limit, all.length > limit], what);
    }
  }
});

Deno.test("what may be long takes little memory while it is short", async () => {
  const { stream } = streamOf(100);
  const { bytes } = await readFirstBytes(stream, 64 * 1024 * 1024);
  assertLessOrEqual(bytes.buffer.byteLength, 16 * 1024);
});
