/**
 * How much of a value of Deno KV a record takes.
 *
 * @module
 */
import { assert } from "@std/assert";
import fc from "fast-check";
import { serialize } from "node:v8";
import { recordBytes } from "../../../src/store/records/record_size.ts";

const text = fc.oneof(fc.string({ unit: "grapheme" }), fc.string(), fc.constant("итог.txt"));
const record = fc.record({
  title: text,
  files: fc.array(fc.record({ path: text, sha256: fc.string({ minLength: 64, maxLength: 64 }) })),
  named: fc.dictionary(text, text),
});

Deno.test("a record takes no more than what is counted, and texts count by what they are", () => {
  fc.assert(fc.property(record, (value) => {
    const counted = recordBytes(value);
    const stored = serialize(value).length;
    // V8 aligns each text of two bytes a character, and writes a few bytes of its own.
    const texts = 2 + 4 * value.files.length + 2 * Object.keys(value.named).length;
    assert(stored <= counted + texts + 64, `${stored} stored, ${counted} counted`);
  }));
});

Deno.test("one text that is not Latin-1 makes no other count double", () => {
  const files = Array.from({ length: 300 }, (_, at) => `shard-${at}.csv`);
  const more = recordBytes([...files, "итог.txt"]) - recordBytes(files);
  assert(more < 50, String(more));
});
