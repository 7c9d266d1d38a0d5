/** Lines come out of a file as they stand in it, however it is read, and from any of them on. */
import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { type Line, LINE_BYTES_MAX, LineReader } from "../../../src/engines/local/line_reader.ts";
import { temporaryFolder } from "../../surroundings.ts";

const line = fc.oneof(
  { weight: 8, arbitrary: fc.uint8Array({ maxLength: 12 }) },
  {
    weight: 4,
    arbitrary: fc.string({ unit: "grapheme" }).map((text) => new TextEncoder().encode(text)),
  },
  {
    weight: 4,
    arbitrary: fc.string({ unit: fc.constantFrom("\r", "a") })
      .map((text) => new TextEncoder().encode(text)),
  },
  {
    weight: 1,
    arbitrary: fc.integer({ min: -2, max: 2 })
      .map((more) => new Uint8Array(LINE_BYTES_MAX + more).fill(0x61)),
  },
);

/** Everything that a reader gives out. */
async function readAll(path: string, offset: number, bufferBytes: number): Promise<Line[]> {
  const reader = new LineReader(() => Deno.open(path), offset);
  const buffer = new Uint8Array(bufferBytes);
  const all: Line[] = [];
  for (;;) {
    const { lines, bytes } = await reader.read(buffer);
    if (bytes === 0) break;
    all.push(...lines);
  }
  const rest = reader.rest();
  reader.close();
  return rest ? [...all, rest] : all;
}

/** What a line shows at last: what is behind its last carriage return that has anything behind it. */
function shownOf(line: Uint8Array): Uint8Array {
  const end = line.findLastIndex((byte) => byte !== 0x0d) + 1;
  return line.subarray(line.subarray(0, end).lastIndexOf(0x0d) + 1, end);
}

/** The lines of bytes, as splitting all of them at once finds them. */
function linesOf(bytes: Uint8Array): Line[] {
  const lines: Line[] = [];
  let start = 0;
  while (start < bytes.length) {
    const at = bytes.indexOf(0x0a, start);
    const end = at === -1 ? bytes.length : at;
    const shown = shownOf(bytes.subarray(start, end));
    lines.push({
      text: new TextDecoder("utf-8", { ignoreBOM: true }).decode(shown.subarray(0, LINE_BYTES_MAX)),
      isWhole: shown.length <= LINE_BYTES_MAX,
      end: at === -1 ? end : end + 1,
    });
    start = end + 1;
  }
  return lines;
}

Deno.test("any file is read as its lines, in pieces of any size and from any line on", async () => {
  await using folder = await temporaryFolder();
  const path = `${folder.path}/out`;
  await fc.assert(
    fc.asyncProperty(
      fc.array(line, { maxLength: 6 }),
      fc.boolean(),
      fc.integer({ min: 1, max: 40 }),
      fc.nat(),
      async (parts, endsInBreak, bufferBytes, from) => {
        const bytes = Uint8Array.from(
          parts.flatMap((part, i) => [...part, ...i < parts.length - 1 || endsInBreak ? [10] : []]),
        );
        await Deno.writeFile(path, bytes);
        const expected = linesOf(bytes);
        const size = bytes.length > 1000 ? bufferBytes * 997 : bufferBytes;
        assertEquals(await readAll(path, 0, size), expected);
        const skipped = expected.length === 0 ? 0 : from % expected.length;
        const offset = expected[skipped - 1]?.end ?? 0;
        assertEquals(await readAll(path, offset, size), expected.slice(skipped));
      },
    ),
    { numRuns: 60 },
  );
});
