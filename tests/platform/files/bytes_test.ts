import { assert, assertEquals, assertLessOrEqual } from "@std/assert";
import { readFirstBytes } from "../../../src/platform/files/bytes.ts";

/** Pieces, whose bytes count up. */
function piecesOf(
  ...lengths: readonly number[]
): { pieces: Uint8Array<ArrayBuffer>[]; all: Uint8Array } {
  const all = Uint8Array.from(
    { length: lengths.reduce((sum, length) => sum + length, 0) },
    (_, at) => at,
  );
  let at = 0;
  return { pieces: lengths.map((length) => all.slice(at, at += length)), all };
}

/** Streams of what is in memory, and of what a file or a program writes, which is read into any buffer. */
const STREAMS = {
  values: (pieces: Uint8Array<ArrayBuffer>[]) => ReadableStream.from(pieces),
  bytes: (pieces: Uint8Array<ArrayBuffer>[]) =>
    new ReadableStream({
      type: "bytes",
      start(controller) {
        for (const piece of pieces) controller.enqueue(piece.slice());
        controller.close();
        // Who waits for bytes is told of the end by an answer without any.
        controller.byobRequest?.respond(0);
      },
    }),
};

Deno.test("the first bytes of a stream, in pieces of any length and up to any limit", async () => {
  for (const lengths of [[], [1], [16_384], [16_385], [10, 20_000, 5, 70_000], [100_000, 1]]) {
    for (const limit of [0, 1, 16_384, 40_000, 1_000_000]) {
      const { pieces, all } = piecesOf(...lengths);
      for (const [kind, open] of Object.entries(STREAMS)) {
        let cuts = 0;
        const { bytes, isCut } = await readFirstBytes(open(pieces), limit, { onCut: () => cuts++ });
        const what = `${lengths} up to ${limit}, ${kind}`;
        assertEquals(bytes, all.slice(0, limit), what);
        assertEquals([isCut, cuts > 0], [all.length > limit, all.length > limit], what);
      }
    }
  }
});

Deno.test("what may be long takes little memory while it is short", async () => {
  const { pieces } = piecesOf(100);
  const { bytes } = await readFirstBytes(STREAMS.values(pieces), 64 * 1024 * 1024);
  assertLessOrEqual(bytes.buffer.byteLength, 16 * 1024);
});

Deno.test("a program's output is read into one small buffer, also where there is none", async () => {
  const sizes: number[] = [];
  const stream = new ReadableStream({
    type: "bytes",
    autoAllocateChunkSize: 64 * 1024,
    pull(controller) {
      const view = controller.byobRequest?.view;
      assert(view);
      sizes.push(view.buffer.byteLength);
      if (sizes.length > 1) controller.close();
      controller.byobRequest?.respond(sizes.length > 1 ? 0 : 10);
    },
  });
  const { bytes } = await readFirstBytes(stream, 1_024);
  assertEquals(bytes.length, 10);
  assertEquals(sizes, [8 * 1024, 8 * 1024]);
});

Deno.test("what was read before an end from outside is kept", async () => {
  const enough = new AbortController();
  const { promise: isRead, resolve } = Promise.withResolvers<void>();
  let pulls = 0;
  const stream = new ReadableStream({
    type: "bytes",
    pull(controller) {
      if (pulls++ === 0) controller.byobRequest?.respond(10);
      else resolve();
      // Nothing more comes.
      return pulls > 1 ? new Promise(() => {}) : undefined;
    },
  });
  const reading = readFirstBytes(stream, 1_024, { signal: enough.signal });
  await isRead;
  enough.abort();
  assertEquals((await reading).bytes.length, 10);
});
