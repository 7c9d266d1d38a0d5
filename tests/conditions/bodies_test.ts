/** Bodies as they really come: what a filter sees of each, and which numbers keep all their digits. */
import { assertEquals, assertMatch } from "@std/assert";
import { payloadFilter } from "../../src/conditions/payload_filter.ts";
import { parseExactJson } from "../../src/platform/text/exact_json.ts";
import { headerText, headerValue } from "../../src/platform/network/header_text.ts";
import { checkOnce, type RequestParts } from "./fixture.ts";

const BOM = "\ufeff";
const bytesOf = (...texts: (string | number[])[]) =>
  Uint8Array.from(
    texts.flatMap((text) => typeof text === "string" ? [...new TextEncoder().encode(text)] : text),
  );

interface Case extends RequestParts {
  name: string;
  /** An expression that holds. */
  passes?: string;
  /** An expression that is an error, and the error. */
  fails?: [expression: string, reason: RegExp];
}

const TOO_LARGE: [string, RegExp] = ["body.a == 1", /a number beyond 64 bits: .* as text$/];
const NO_BODY: [string, RegExp] = ["body != 1", /cannot read the body: a number beyond 64 bits/];
const content = (text: string) => ({ body: text });
const title = (bytes: Uint8Array) => ({
  headers: { "x-title": String.fromCharCode(...bytes) },
});

const cases: Case[] = [
  { name: "a byte order mark", ...content(`${BOM}{"a":1}`), passes: "body.a == 1" },
  { name: "two byte order marks", ...content(`${BOM}${BOM}{"a":1}`), passes: "body == null" },
  { name: "white space alone", ...content(" \r\n\t"), passes: "body == null" },
  { name: "nothing", ...content(""), passes: "body == null" },
  { name: "a line's end behind it", ...content('{"a":1}\r\n'), passes: "body.a == 1" },
  { name: "two values", ...content('{"a":1}{"a":2}'), passes: "body == null" },
  { name: "a name twice", ...content('{"a":2,"a":1}'), passes: "body == {'a': 1}" },
  {
    name: "a lone surrogate",
    ...content('{"a":"\\ud800"}'),
    passes: "size(body.a) == 1 && body.a != '?'",
  },
  { name: "no UTF-8", body: bytesOf('{"a":"', [0xff], '"}'), passes: "body == null && raw == ''" },
  { name: "minus zero", ...content('{"a":-0}'), passes: "type(body.a) == int && body.a == 0" },
  { name: "minus zero as a double", ...content('{"a":-0.0}'), passes: "body.a == 0" },
  { name: "a whole double", ...content('{"a":1.0}'), passes: "type(body.a) == int" },
  { name: "an exponent", ...content('{"a":1e16}'), passes: "type(body.a) == double" },
  { name: "beyond a double", ...content('{"a":1e400}'), fails: TOO_LARGE },
  { name: "beyond a double, beside", ...content('{"a":1e400,"b":1}'), passes: "body.b == 1" },
  {
    name: "an id beyond 2^53",
    ...content('{"id":1234567890123456789}'),
    passes: "body.id == 1234567890123456789 && string(body.id) == '1234567890123456789'",
  },
  {
    name: "another id beyond 2^53",
    ...content('{"id":9007199254740993}'),
    passes: "body.id != 9007199254740992 && body.id == 9007199254740993",
  },
  {
    name: "an id in a list",
    ...content("[[9007199254740993]]"),
    passes: "body[0].exists(id, id == 9007199254740993) && !(9007199254740992 in body[0])",
  },
  {
    name: "the least int64",
    ...content('{"id":-9223372036854775808}'),
    passes: "body.id + 1 == -9223372036854775807",
  },
  { name: "beyond int64", ...content('{"a":9223372036854775808}'), fails: TOO_LARGE },
  { name: "below int64", ...content('{"a":-9223372036854775809}'), fails: TOO_LARGE },
  { name: "of 10,000 digits", ...content(`{"a":${"9".repeat(10_000)}}`), fails: TOO_LARGE },
  { name: "a number alone, beyond int64", ...content("9223372036854775808"), fails: NO_BODY },
  { name: "a number alone, beyond a double", ...content("-1e400"), fails: NO_BODY },
  {
    name: "digits in a text",
    ...content('{"a":"id: 9007199254740993","b":[9007199254740993]}'),
    passes: "body.a == 'id: 9007199254740993'",
  },
  {
    name: "an int and a double",
    ...content('{"a":2}'),
    fails: ["body.a * 1.5 == 3.0", /'\(int, double\)': write double\(…\) around the int$/],
  },
  { name: "of both a double", ...content('{"a":2}'), passes: "double(body.a) * 1.5 == 3.0" },
  {
    name: "a header in UTF-8",
    ...title(bytesOf("Zürich")),
    passes: "headers['x-title'] == 'Zürich'",
  },
  {
    name: "a header beyond Latin-1",
    ...title(bytesOf("日本 😊")),
    passes: "headers['x-title'] == '日本 😊' && size(headers['x-title']) == 4",
  },
  {
    name: "a header in Latin-1",
    ...title(Uint8Array.of(0x5a, 0xfc, 0x72)),
    passes: "headers['x-title'] == 'Zür'",
  },
  {
    name: "a content type in UTF-8",
    headers: { "content-type": String.fromCharCode(...bytesOf("text/ü")) },
    passes: "content_type == 'text/ü'",
  },
];

Deno.test("what a filter sees of bodies and headers", async () => {
  for (const { name, passes, fails, ...parts } of cases) {
    const [expression = "", reason = /^$/] = fails ?? [passes];
    const refusal = await checkOnce(payloadFilter, { expression }, parts);
    assertMatch(refusal?.reason ?? "", reason, `${name}: ${JSON.stringify(refusal)}`);
    // The same in the Worker, which reads long bodies.
    if (typeof parts.body !== "string" || !/[}\d]$/.test(parts.body)) continue;
    const body = `${parts.body}${" ".repeat(70_000)}`;
    const long = await checkOnce(payloadFilter, { expression }, { ...parts, body });
    assertMatch(long?.reason ?? "", reason, `${name}, long: ${JSON.stringify(long)}`);
  }
});

Deno.test("a list compares exact integers, and says which number is too large", async () => {
  const of = (value: unknown, op = "eq") => ({ all: [{ path: "body.id", op, value }] });
  const id = (text: string) => content(`{"id":${text}}`);
  const exact = Number.MAX_SAFE_INTEGER;
  assertEquals(await checkOnce(payloadFilter, of(exact), id(String(exact))), undefined);
  assertEquals(await checkOnce(payloadFilter, of(exact, "gt"), id("9007199254740992")), undefined);
  const refusal = await checkOnce(payloadFilter, of(exact), id("9223372036854775808"));
  assertMatch(refusal?.reason ?? "", /body\.id is a number beyond 64 bits/);
  const shown = await checkOnce(payloadFilter, of(exact), id("9007199254740993"));
  assertEquals(shown?.found, "body.id is 9007199254740993");
  const int64 = { int64: "9007199254740993" };
  const beside = await checkOnce(payloadFilter, of(int64), id("9007199254740992"));
  assertEquals(beside?.expected, "body.id eq 9007199254740993");
  const several = await checkOnce(payloadFilter, of([1, int64], "in"), id("9007199254740992"));
  assertEquals(several?.expected, "body.id in [1,9007199254740993]");
});

Deno.test("numbers without many digits are parsed as JSON is", () => {
  for (const text of ["1", '{"a":[1.5,-2e3,"1234567890123456"]}', "123456789012345"]) {
    assertEquals(parseExactJson(text), JSON.parse(text));
  }
  assertEquals(parseExactJson("9007199254740992"), 9007199254740992n);
  assertEquals(parseExactJson('{"__proto__":{"a":9007199254740993}}'), {
    ["__proto__"]: { a: 9007199254740993n },
  });
});

Deno.test("a header's text is that of its bytes, and back", () => {
  for (const text of ["plain", "Zürich", "日本 😊", "\u00fc"]) {
    assertEquals(headerText(headerValue(text)), text);
    assertEquals(headerText(String.fromCharCode(...new TextEncoder().encode(text))), text);
  }
});
