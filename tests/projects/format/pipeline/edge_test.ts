/** The ends of edges: what is written is read, and whatever is no end is refused. */
import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { edgeSchema, partsOfEnd } from "../../../../src/projects/format/pipeline/edge.ts";
import { anyText, pieces } from "../../../arbitraries.ts";

const name = fc.string({ unit: "grapheme", minLength: 1 }).filter((text) => !text.includes("."));
const type = fc.constantFrom(
  ..."dependency deployment environment-variable file input metadata output parameter".split(" "),
);
const key = fc.string({ unit: "grapheme", minLength: 1 });
const end = fc.record({ node: name, type, key }, { noNullPrototype: true });
const written = (parts: { node: string; type: string; key: string }) =>
  `${parts.node}.${parts.type}.${parts.key}`;

Deno.test("the parts of an edge's end are read as they are written, dots in the key included", () => {
  fc.assert(fc.property(end, end, (source, target) => {
    assertEquals(partsOfEnd(written(source)), source);
    for (
      const value of [
        [written(source), written(target)],
        { source: written(source), target: written(target) },
      ]
    ) {
      assertEquals(edgeSchema.parse(value).edge as unknown, { source, target });
    }
  }));
});

Deno.test("any text is the end of an edge that says the same, or none", () => {
  fc.assert(fc.property(fc.oneof(anyText, pieces(".", "a", "input", "\n", "..")), (text) => {
    const parts = partsOfEnd(text);
    if (parts) assertEquals(written(parts), text);
    edgeSchema.safeParse([text, text]);
    edgeSchema.safeParse({ source: text });
  }));
});
