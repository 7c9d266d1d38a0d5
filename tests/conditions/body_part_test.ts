/** A condition finds the same in the part of a body that the Worker returns as in the whole body. */
import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { bodyPartJob } from "../../src/conditions/body_part.ts";
import { PartPending, whenPartsRead } from "../../src/platform/waiting/pending.ts";
import { type Field, pathOf, readBytes, readEach, readField } from "../../src/conditions/field.ts";
import type { BodyPart, LaunchRequest } from "../../src/conditions/request.ts";
import { anyText } from "../arbitraries.ts";
import { form, json, request, type RequestParts } from "./fixture.ts";

/** The same request, of which nothing is there but the parts that are asked for. */
function inParts(parts: RequestParts): LaunchRequest {
  const whole = request(parts);
  const contentType = whole.headers.get("content-type") ?? "";
  return {
    ...whole,
    parsedBody(part?: BodyPart) {
      if (part === undefined) throw new TypeError("A part is asked for");
      return structuredClone(bodyPartJob({ bytes: whole.body, contentType, part }));
    },
  };
}

const names = ["a", "b", "/a/b", "/a/0", "/a/1/b", "/a/~1", "/0", "__proto__", "/__proto__/a"];
const name = fc.constantFrom(...names, "/a", "/b/a");
const value = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    anyText,
    fc.oneof(fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true })),
    fc.constantFrom(null, true, false),
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom("a", "b", "/", "0", "__proto__"), tie("value")),
  ),
})).value;

Deno.test("a field of JSON is read from its part as from the whole", () => {
  fc.assert(fc.property(value, name, name, (value, name, list) => {
    const parts = json(value);
    const field: Field = { in: "body", name };
    assertEquals(readField(inParts(parts), field), readField(request(parts), field));
    assertEquals(readEach(inParts(parts), list, name), readEach(request(parts), list, name));
  }));
});

Deno.test("a field of a form is read from its part as from the whole", () => {
  const fields = fc.array(fc.tuple(fc.constantFrom("a", "b", "/a", "__proto__", ""), anyText));
  fc.assert(fc.property(fields, name, (fields, name) => {
    const parts = form(new URLSearchParams(fields).toString());
    const field: Field = { in: "body", name };
    assertEquals(readField(inParts(parts), field), readField(request(parts), field));
  }));
});

Deno.test("a list of many elements, and a long text, are refused or unequal as before", () => {
  for (const length of [1, 1_000, 1_001, 5_000]) {
    const parts = json({ value: Array.from({ length }, (_, i) => ({ token: `t${i}` })) });
    const [whole, part] = [request(parts), inParts(parts)].map((one) =>
      readEach(one, "value", "token")
    );
    if (length <= 1_000) assertEquals(part, whole);
    else assertEquals("reason" in (part ?? {}), true);
  }
  const long = "x".repeat(100_000);
  assertEquals(
    String(readField(inParts(json({ a: long })), { in: "body", name: "a" })).length,
    65_536,
  );
});

Deno.test("a long text that is signed is read from its part to its end", () => {
  const long = "x".repeat(100_000);
  const field: Field = { in: "body", name: "a" };
  for (const parts of [json({ a: long }), form(`a=${long}&b=1`)]) {
    assertEquals(readBytes(inParts(parts), field), readBytes(request(parts), field));
  }
});

Deno.test("what reads a part is done again once it is there, and not for any other error", async () => {
  const parts = ["a", "b"];
  const there = new Set<string>();
  const read = () => {
    for (const name of parts) {
      if (there.has(name)) continue;
      throw new PartPending(Promise.resolve().then(() => there.add(name)));
    }
    return [...there];
  };
  assertEquals(await whenPartsRead(read), ["a", "b"]);
  assertEquals(whenPartsRead(read), ["a", "b"]);
  there.clear();
  assertEquals(await whenPartsRead(async () => await Promise.resolve(read())), ["a", "b"]);
  const failing = new PartPending(Promise.reject(new TypeError("gone")));
  const failed = whenPartsRead((): string => {
    throw failing;
  });
  assertEquals(await Promise.resolve(failed).catch((error) => error.message), "gone");
  assertEquals(pathOf("/a/b"), ["a", "b"]);
});
