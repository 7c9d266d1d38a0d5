/** A credential in a body is masked however it is written; all else stays as it came. */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { maskBody, maskedFieldsOf } from "../../src/conditions/masked_body.ts";

const FORM = "application/x-www-form-urlencoded";
const FILES = "multipart/form-data; boundary=B";
const M = '"********"';
/** Writes a form with files of parameters and contents by turns. */
const multipart = (...texts: string[]): string =>
  texts.map((text, index) =>
    index % 2 === 0
      ? `--B\r\nContent-Type: text/plain\r\nContent-Disposition: form-data; ${text}`
      : `\r\n\r\n${text}\r\n`
  ).join("") + "--B--\r\n";
const fieldOf = (name: string, each?: string) =>
  maskedFieldsOf([{ in: "body", name, each }])[0] ?? "";
const token = fieldOf("token");
const nested = fieldOf("/a/0/tok~1en");
const each = fieldOf("clientState", "/events");

const cases: [body: string, masked: string, field?: string, type?: string][] = [
  ['{"token":"s3cret","a":1}', `{"token":${M},"a":1}`],
  [' { "token" : "s3cret" } \n', ` { "token" : ${M} } \n`],
  ['\ufeff{"token":"s3cret"}', `\ufeff{"token":${M}}`],
  ['{"\\u0074oken":"s3\\u0063ret"}', `{"\\u0074oken":${M}}`],
  ['{"token":"old s3cret","x":[1],"token":"s3cret"}', `{"token":${M},"x":[1],"token":${M}}`],
  ['{"token":3141592653589793,"b":2}', `{"token":${M},"b":2}`],
  ['{"token":["s3cret",{"x":"]"}],"b":2}', `{"token":${M},"b":2}`],
  ['{"token":{"x":"s3cret"}}', `{"token":${M}}`],
  ['{"token":"a\\"s3cret\\\\","b":"}"}', `{"token":${M},"b":"}"}`],
  ['{"token":null}', `{"token":${M}}`],
  ['{"b":{"token":"another"},"ä":"ö"}', '{"b":{"token":"another"},"ä":"ö"}'],
  ['{"a":[{"tok/en":"s3cret"},{"tok/en":"x"}]}', `{"a":[{"tok/en":${M}},{"tok/en":"x"}]}`, nested],
  [
    '{"events":[{"clientState":"s3cret","n":1},{"n":2,"clientState":"s3cret"}],"clientState":"x"}',
    `{"events":[{"clientState":${M},"n":1},{"n":2,"clientState":${M}}],"clientState":"x"}`,
    each,
  ],
  [
    '{"a":"s3cret","token":"s3cret","b":["x-s3cret-y"],"s3cret":1}',
    `{"a":${M},"token":${M},"b":[${M}],${M}:1}`,
  ],
  ['{"a":"s3\\u0063ret","token":"\\u00733cret"}', `{"a":${M},"token":${M}}`],
  ['{"token":"Bearer s3cret","a":"s3cret"}', `{"token":${M},"a":${M}}`],
  ['{"token":"s3crét","a":"s3cr\\u00e9t"}', `{"token":${M},"a":${M}}`],
  [
    '{"token":1234567,"a":1234567,"b":"#1234567","c":123}',
    `{"token":${M},"a":${M},"b":${M},"c":123}`,
  ],
  ['{"token":{"status":["s3cret"]},"status":"s3cret"}', `{"token":${M},"status":${M}}`],
  ['{"token":"short","a":"short"}', `{"token":${M},"a":"short"}`],
  [
    '{"events":[{"clientState":"s3cret","n":"s3cret"}],"n":"s3cret"}',
    `{"events":[{"clientState":${M},"n":${M}}],"n":${M}}`,
    each,
  ],
  [
    "a=%733cret&token=s3cret&s3cret&xs3cret=1&b=1",
    "a=********&token=********&********&********&b=1",
    token,
    FORM,
  ],
  ["a=1&token=s3cret&b=%20", "a=1&token=********&b=%20", token, FORM],
  ["\ufefftoken=s3cret&b=1", "\ufefftoken=********&b=1", token, FORM],
  ["%74oken=s3cret&token=again", "%74oken=********&token=********", token, FORM],
  ["cl\u00e9=s3cret&b=1", "cl\u00e9=********&b=1", fieldOf("cl\u00e9"), FORM],
  ['{"token":"s3cret"}', `{"token":${M}}`, token, FORM],
  [
    multipart('name="a"', "1", 'name="token"', "s3cret"),
    multipart('name="a"', "1", 'name="token"', "********"),
    token,
    FILES,
  ],
  [
    multipart(
      'name="token"',
      "s3cret",
      'name="f"; filename="a\\"; name=\\"b"',
      "x\r\ny",
      'name="b"',
      "= s3cret",
    ),
    multipart(
      'name="token"',
      "********",
      'name="f"; filename="a\\"; name=\\"b"',
      "x\r\ny",
      'name="b"',
      "********",
    ),
    token,
    FILES,
  ],
  [multipart("name=clé", "s3cret"), multipart("name=clé", "********"), fieldOf("clé"), FILES],
  [
    multipart('filename="token"; name="a"', "s3cret"),
    multipart('filename="token"; name="a"', "s3cret"),
    token,
    FILES,
  ],
  [multipart('name="token"', ""), multipart('name="token"', "********"), token, FILES],
  // A part that may be the field.
  [multipart('name="a"; name="token"', "s3cret"), "********", token, FILES],
  [multipart('Name="token"', "s3cret"), "********", token, FILES],
  [multipart('name="token"', "s3cret", 'name="s3cret"', "1"), "********", token, FILES],
  [multipart('name="token"', "s3cret") + "s3cret", "********", token, FILES],
  ["s3cret\r\n" + multipart('name="token"', "s3cret"), "********", token, FILES],
  [multipart('name="token"', "s3cret").slice(0, -4), "********", token, FILES],
  ['{"token":"s3cret"', "********"],
  ["token: s3cret", "********"],
  ["", ""],
];

for (const [body, masked, field = token, type = "application/json"] of cases) {
  Deno.test(`maskBody: ${JSON.stringify(body)}`, async () => {
    const bytes = await maskBody(new TextEncoder().encode(body), type, [field]);
    assertEquals(new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes), masked);
  });
}

Deno.test("maskBody leaves a body alone that has no such field, and masks one wherever it stands", async () => {
  const mask = async (value: unknown, space: number) => {
    const text = JSON.stringify(value, null, space);
    const bytes = await maskBody(new TextEncoder().encode(text), "application/json", [token]);
    return { text, masked: new TextDecoder().decode(bytes) };
  };
  const key = fc.string().filter((name) => name !== "token" && name !== "__proto__");
  await fc.assert(
    fc.asyncProperty(
      fc.dictionary(key, fc.jsonValue()),
      fc.jsonValue(),
      fc.nat(2),
      async (value, secret, space) => {
        // What copies it is masked, too.
        fc.pre(!textsIn(secret).some((text) => textsIn(value).some((each) => each.includes(text))));
        const plain = await mask(value, space);
        assertEquals(plain.masked, plain.text);
        const { masked } = await mask({ ...value, token: secret }, space);
        assertEquals(
          JSON.parse(masked),
          JSON.parse(JSON.stringify({ ...value, token: "********" })),
        );
      },
    ),
    { numRuns: 300 },
  );
});

/** The keys, the texts and the numbers of a value that are long enough to be looked for. */
function textsIn(value: unknown): string[] {
  if (typeof value !== "object" || value === null) {
    return String(value).length < 6 ? [] : [String(value), JSON.stringify(value)];
  }
  return Object.entries(value).flatMap(([key, inner]) => [key, ...textsIn(inner)]);
}

const FILE = "x".repeat(1_100_000);
const PART = 'Content-Disposition: form-data; name="';
const LONG = "x".repeat(16_000_000);
const long: [what: string, body: string, masked: string, type: string][] = [
  [
    "a form with a file",
    `--b\r\n${PART}token"\r\n\r\ns3cret\r\n--b\r\n${PART}f"; filename="f"\r\n\r\n${FILE}\r\n--b--\r\n`,
    `--b\r\n${PART}token"\r\n\r\n********\r\n--b\r\n${PART}f"; filename="f"\r\n\r\n${FILE}\r\n--b--\r\n`,
    "multipart/form-data; boundary=b",
  ],
  ["a form like an object", `{"=1&token=s3cret&y=${FILE}`, `{"=1&token=********&y=${FILE}`, FORM],
  [
    "a form like a whole object",
    `{"=1&token=s3cret&y=${FILE}}`,
    `{"=1&token=********&y=${FILE}}`,
    FORM,
  ],
  [
    "an object that does not end",
    `{"a":"${FILE}","token":"s3cret"`,
    "********",
    "application/json",
  ],
  [
    "credentials of many megabytes",
    `{"token":["${LONG}", {"y":"s3cret"}],"a":"s3cret","b":"${LONG}"}`,
    `{"token":${M},"a":${M},"b":${M}}`,
    "application/json",
  ],
  ["two objects", `{"a":"${FILE}"} {"token":"s3cret"}`, "********", "application/json"],
  [
    "an object",
    `{"a":"${FILE}","token":"s3cret"} `,
    `{"a":"${FILE}","token":${M}} `,
    "application/json",
  ],
];

for (const [what, body, masked, type] of long) {
  Deno.test(`maskBody of more than a megabyte: ${what}`, async () => {
    const bytes = await maskBody(new TextEncoder().encode(body), type, [token]);
    const text = new TextDecoder().decode(bytes);
    assert(text === masked, `${text.slice(0, 80)} ... ${text.slice(-80)}`);
  });
}

Deno.test("maskBody masks a body of many megabytes while others have their turns", async () => {
  const items = Array.from({ length: 200_000 }, (_, index) => ({ index }));
  const text = JSON.stringify({ items, token: "s3cret" });
  let turns = 0;
  const timer = setInterval(() => turns++, 0);
  const bytes = await maskBody(new TextEncoder().encode(text), "application/json", [token]);
  clearInterval(timer);
  assert(turns > 3, `${turns} turns`);
  assertEquals(new TextDecoder().decode(bytes), text.replace('"s3cret"', M));
});
