/** Lines come out of a file as they stand in it, however it is read, and from any of them on. */
import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { StreamReader } from "../../../src/engines/local/stream_reader.ts";
import { LINE_BYTES_MAX, shownText } from "../../../src/engines/shared/log_format.ts";
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
  {
    weight: 1,
    arbitrary: fc.array(fc.constantFrom("\r", "\r\r", "ab", "x".repeat(9_000)), { maxLength: 12 })
      .map((parts) => new TextEncoder().encode(parts.join(""))),
  },
);

/** A line, and the offset in the file behind it. */
interface Line {
  text: string;
  /** Known of the last line of each chunk. */
  end?: number;
}

/** The lines in a chunk. */
function linesIn(content: Uint8Array, end: number): Line[] {
  const lines: Line[] = [];
  for (let start = 0; start < content.length;) {
    const at = content.indexOf(0x0a, start);
    const behind = at === -1 ? content.length : at;
    lines.push({ text: shownText(content.subarray(start, behind)) });
    start = behind + 1;
  }
  return lines.map((line, index) => index === lines.length - 1 ? { ...line, end } : line);
}

/** Everything that a reader returns. */
function readAll(path: string, offset: number, bufferBytes: number): Line[] {
  const reader = new StreamReader(() => Deno.openSync(path), offset);
  const buffer = new Uint8Array(bufferBytes);
  const all: Line[] = [];
  for (;;) {
    const { content, end, hasRead } = reader.read(buffer);
    if (content === undefined && !hasRead) break;
    if (content) all.push(...linesIn(content, end));
  }
  const rest = reader.rest();
  reader.close();
  return rest.content ? [...all, ...linesIn(rest.content, rest.end)] : all;
}

/** A line as it is shown at last: what is behind its last carriage return that has anything behind it. */
function shownOf(line: Uint8Array): string {
  const end = line.findLastIndex((byte) => byte !== 0x0d) + 1;
  const shown = line.subarray(line.subarray(0, end).lastIndexOf(0x0d) + 1, end);
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  const text = decoder.decode(shown.subarray(0, LINE_BYTES_MAX));
  return shown.length > LINE_BYTES_MAX ? `${text} [cut: longer than 16384 bytes]` : text;
}

/** The lines of bytes, as splitting all of them at once finds them. */
function linesOf(bytes: Uint8Array): Required<Line>[] {
  const lines: Required<Line>[] = [];
  let start = 0;
  while (start < bytes.length) {
    const at = bytes.indexOf(0x0a, start);
    const end = at === -1 ? bytes.length : at;
    lines.push({
      text: shownOf(bytes.subarray(start, end)),
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
        for (const skipped of [0, expected.length === 0 ? 0 : from % expected.length]) {
          const offset = expected[skipped - 1]?.end ?? 0;
          const found = readAll(path, offset, size);
          const wanted = expected.slice(skipped);
          assertEquals(found.map(({ text }) => text), wanted.map(({ text }) => text));
          for (const [index, { end }] of found.entries()) {
            if (end !== undefined) assertEquals(end, wanted[index]?.end);
          }
        }
      },
    ),
    { numRuns: 100, examples: [[[Uint8Array.of(13)], false, 1, 0]] },
  );
});
