/** Templates are cut into the parts that they are written as, and what is none is refused at once. */
import { assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { z } from "zod";
import {
  checkTemplate,
  isTemplate,
  parseTemplate,
  type TemplatePart,
} from "../../../src/conditions/signing/template.ts";
import { request } from "../fixture.ts";
import { contentOf } from "../../../src/conditions/signing/content.ts";
import { anyText, mutated, pieces } from "../../arbitraries.ts";

const placeholders = fc.oneof(
  fc.constantFrom(..."body timestamp id method url path".split(" ")),
  fc.constantFrom("contentful:path", "hubspot:url", "twilio:parameters"),
  fc.tuple(
    fc.constantFrom("header", "query", "body"),
    fc.stringMatching(/^[A-Za-z][A-Za-z0-9-]{0,9}$/),
  ).map((parts) => parts.join(":")),
);
const between = fc.string({ unit: "grapheme" }).filter((text) => !/[{}]/.test(text));
const templates = fc.array(fc.tuple(between, placeholders), { maxLength: 6 });
const schema = z.string().superRefine(checkTemplate);

function printed(part: TemplatePart): string {
  if (part instanceof Uint8Array) return new TextDecoder("utf-8", { ignoreBOM: true }).decode(part);
  switch (part.kind) {
    case "named":
      return `{${part.in}:${part.name}}`;
    case "built":
      return `{${part.builder}}`;
    default:
      return `{${part.kind}}`;
  }
}

Deno.test("a template is its parts, one after the other", () => {
  fc.assert(fc.property(templates, between, (parts, end) => {
    const text = parts.map(([before, name]) => `${before}{${name}}`).join("") + end;
    assertEquals(schema.safeParse(text).success, true);
    const read = parseTemplate(text);
    assertEquals(read.filter((part) => "kind" in part).length, parts.length);
    assertEquals(read.map(printed).join(""), text);
  }));
});

Deno.test("a template that is taken when it is saved can be filled with any request", () => {
  const text = fc.oneof(
    anyText,
    mutated("v0:{timestamp}:{body}{header:X-A}{query:b}{body:/c/0}", "{", "}", ":", "~2", "é", " "),
    pieces("{body}", "{", "}", "{header:", "{body:/~", "{query:", "a", " ", "\ud800"),
  );
  const bytes = new Uint8Array([1]);
  const facts = {
    timestamp: bytes,
    id: bytes,
    url: () => "https://hooks.example/x?y",
    built: new Map(),
  };
  fc.assert(
    fc.property(text, (template) => {
      if (!isTemplate(template)) {
        assertEquals(schema.safeParse(template).success, false);
        assertThrows(() => parseTemplate(template), TypeError, "Unknown placeholder");
      } else if (schema.safeParse(template).success) {
        contentOf(parseTemplate(template), request({ body: "{}" }), facts);
      }
    }),
    { numRuns: 500, examples: [["{header:X Y}{body}"], ["{header:é}{body}"]] },
  );
});
