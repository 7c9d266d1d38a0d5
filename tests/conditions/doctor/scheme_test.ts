/** The signature doctor names what differs from a scheme that an operator wrote, and how a body or a URL was changed. */
import { Buffer } from "node:buffer";
import { generateKeyPairSync } from "node:crypto";
import { gzipSync } from "node:zlib";
import { assert, assertEquals, assertThrows } from "@std/assert";
import { bodyVariants } from "../../../src/conditions/doctor/body_forms.ts";
import { hmac, hmacScheme } from "../../../src/conditions/hmac.ts";
import { signatureTexts } from "../../../src/conditions/doctor/signature_texts.ts";
import { signature } from "../../../src/conditions/signature.ts";
import { parseRawJson } from "../../../src/platform/text/exact_json.ts";
import { assertTakesLess } from "../../surroundings.ts";
import { NOW_MS, request } from "../fixture.ts";
import { PAYPAL_VECTOR } from "../signing/paypal_vector.ts";
import { type Sent, URL_OF_TRIGGER } from "../signing/senders.ts";
import {
  assertFirst,
  cluesOf,
  diagnosed,
  followed,
  signed,
  withBody,
  withHeader,
  type Written,
} from "./fixture.ts";

const SECRET = "a secret of an acme, long enough";
const OWN = { type: "hmac", algorithm: "sha256", header: "X-Signature", secrets: [SECRET] };
const FORM = { "content-type": "application/x-www-form-urlencoded" };
const SNS_MESSAGE = {
  Type: "Notification",
  MessageId: "22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324",
  TopicArn: "arn:aws:sns:us-west-2:123456789012:MyTopic",
  Message: "Hello",
  Timestamp: "2023-11-14T22:13:20.000Z",
  SignatureVersion: "2",
};

/** Signs as the sender does. */
function sendBy(scheme: Written, parts: Parameters<typeof signed>[1] = {}): Promise<Sent> {
  return signed([hmac.schema.parse({ ...OWN, ...scheme })], parts);
}

Deno.test("doctor: a scheme that differs in one part", async (t) => {
  const cases: [name: string, sender: Written, own: Written, words: string | RegExp][] = [
    ["another prefix", { prefix: "sha256=" }, {}, 'set `prefix: "sha256="`'],
    ["no prefix", {}, { prefix: "sha256=" }, 'set `prefix: ""`'],
    ["another prefix of any text", { prefix: "acme/" }, {}, "set `prefix` to the text before it"],
    ["another hash", { algorithm: "sha512" }, {}, 'set `algorithm: "sha512"`'],
    ["another hash and encoding", { algorithm: "sha1", encoding: "base64" }, {}, /sha1.*base64/],
    ["base64url", { encoding: "base64url" }, {}, 'set `encoding: "base64url"`'],
    ["another header", { header: "X-Acme" }, {}, "The signature is in header x-acme: set `header"],
    [
      "a list of fields",
      { list_separator: ",", field_separator: "=", field: "v1" },
      {},
      /`field: "v1"`|`prefix: "v1="`/,
    ],
    [
      "a list with a time",
      {
        list_separator: ",",
        field_separator: "=",
        field: "v1",
        timestamp: { in: "signature", name: "t", format: "unix_s" },
      },
      {},
      /`list_separator: ","`, `field_separator: "="`, `field: "v1"`/,
    ],
    [
      "a signed time",
      {
        signed_content: "{timestamp}.{body}",
        timestamp: { in: "header", name: "X-Time", format: "unix_s" },
      },
      {},
      'Signed is other content: set `signed_content: "{timestamp}.{body}"`, `timestamp`',
    ],
    [
      "a time that is not signed",
      { signed_content: "{body}" },
      {
        signed_content: "{timestamp}.{body}",
        timestamp: { in: "header", name: "Date-Sent", format: "unix_s" },
      },
      "Signed is other content, without the time: let the sender sign {timestamp}.{body}. With " +
      '`signed_content: "{body}"` it would match, and whoever has seen a request could send it again',
    ],
    [
      "a time in milliseconds",
      {
        signed_content: "{timestamp}.{body}",
        timestamp: { in: "header", name: "X-Time", format: "unix_ms" },
      },
      {
        signed_content: "{timestamp}.{body}",
        timestamp: { in: "header", name: "X-Time", format: "unix_s" },
      },
      "The time is written in milliseconds since 1970: set `format: unix_ms`",
    ],
    [
      "a time in seconds",
      {
        signed_content: "{timestamp}.{body}",
        timestamp: { in: "header", name: "X-Time", format: "unix_s" },
      },
      {
        signed_content: "{timestamp}.{body}",
        timestamp: { in: "header", name: "X-Time", format: "unix_ms" },
      },
      "The time is written in seconds since 1970: set `format: unix_s`",
    ],
  ];
  for (const [name, sender, own, words] of cases) {
    await t.step(name, async () => {
      const sent = await sendBy(sender, { headers: { "date-sent": "1700000000" } });
      assertFirst(await diagnosed([{ ...OWN, ...own }], sent), "matches", words, name);
    });
  }
});

Deno.test("doctor: of a signature that cannot be compared no secret is blamed, and no other provider", async () => {
  const timestamp = { in: "header", name: "X-Time", format: "unix_s" };
  const own = { ...OWN, signed_content: "{timestamp}.{body}", timestamp };
  const sent = withHeader(await sendBy(own), "x-time", () => "x-timestamp");
  const found = await diagnosed([own], sent);
  assertEquals(found.map(({ sentence }) => sentence), [
    "Header X-Time is missing, and the request has x-timestamp: is the name misspelled?",
  ]);
});

Deno.test("doctor: a time in seconds that was pasted later is no time of decades ago", async () => {
  const signed_content = "{timestamp}.{body}";
  const timestamp = { in: "header", name: "X-Time", format: "unix_s" };
  const sent = await sendBy({ signed_content, timestamp });
  const own = { ...OWN, signed_content, timestamp: { ...timestamp, format: "unix_ms" } };
  const found = await diagnosed([own], { ...sent, receivedAt_ms: NOW_MS + 86_400_000 }, {
    isReceiptKnown: false,
  });
  assertFirst(
    found,
    "likely",
    "The time is written in seconds since 1970: set `format: unix_s`",
    "pasted",
  );
});

Deno.test("doctor: a preset takes the place of all settings of a scheme", async () => {
  const sent = await signed([
    hmac.schema.parse({ type: "hmac", preset: "github", secrets: [SECRET] }),
  ]);
  const [first] = await diagnosed([OWN], sent);
  const words = "set `preset: github`, and nothing beside it but `secrets`.";
  assertFirst(await diagnosed([OWN], sent), "matches", words, "another scheme");
  const beside = await diagnosed([followed(OWN, first?.sentence ?? "")], sent);
  assert(beside[0]?.condition !== "request", "the other settings would hold");
  const { type, secrets } = OWN;
  const alone = await diagnosed([{ type, preset: "github", secrets }], sent);
  assertFirst(alone, "matches", "Everything passes", "alone");
});

Deno.test("doctor: a header of signatures that comes more than once", async () => {
  const sent = await sendBy({});
  const github = { type: "hmac", preset: "github", secrets: [SECRET] };
  const hub = await signed([hmac.schema.parse(github)]);
  const twice = (sent: Sent, name: string, before = sent.headers[name]) => ({
    ...sent,
    headers: { ...sent.headers, [name]: `${before}, ${sent.headers[name]}` },
  });
  const cases: [own: Written, sent: Sent, name: string][] = [
    [OWN, twice(sent, "x-signature"), "X-Signature"],
    [OWN, twice(sent, "x-signature", "0".repeat(64)), "X-Signature"],
    [github, twice(hub, "x-hub-signature-256"), "X-Hub-Signature-256"],
  ];
  for (const [own, sent, name] of cases) {
    const words = `Header ${name} comes more than once`;
    assertFirst(await diagnosed([own], sent), "matches", words, name);
  }
});

Deno.test("doctor: the settings that a finding names for a whole secret with its prefix let the request pass", async () => {
  const secret = `whsec_${Buffer.from(SECRET).toString("base64")}`;
  const sent = await sendBy({ secrets: [secret] });
  for (const key_encoding of ["base64", "utf8"]) {
    const own = { ...OWN, secrets: [secret], key_encoding, key_prefix: "whsec_" };
    const [{ sentence } = { sentence: "" }] = await diagnosed([own], sent);
    const other = followed(own, sentence);
    assertFirst(await diagnosed([other], sent), "matches", "Everything passes", sentence);
  }
});

Deno.test("doctor: a public key's signature in another form", async () => {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const own = {
    type: "signature",
    algorithm: "ecdsa_p256",
    header: "X-Signature",
    public_keys: [publicKey.export({ format: "pem", type: "spki" })],
  };
  const privateKeys = [String(privateKey.export({ format: "pem", type: "pkcs8" }))];
  const sign = (scheme: Written) =>
    signed([signature.schema.parse({ ...own, ...scheme })], { privateKeys });
  const raw = await diagnosed([own], await sign({ signature_format: "raw" }));
  assertFirst(raw, "matches", 'set `signature_format: "raw"`', "raw");
  const hex = await diagnosed([own], await sign({ encoding: "hex" }));
  assertFirst(hex, "matches", 'set `encoding: "hex"`', "hex");
  const sent = withBody(await sign({}), (body) => `${body}\n`);
  assertFirst(await diagnosed([own], sent), "matches", "without the line break", "a line break");
});

Deno.test("doctor: of a provider that names its certificate no public key is asked for", async (t) => {
  const { webhook: _webhook, certificate: _certificate, body = "", headers } = PAYPAL_VECTOR;
  const message = { ...SNS_MESSAGE, Signature: Buffer.alloc(256, 1).toString("base64") };
  const wrong = "Header PAYPAL-TRANSMISSION-SIG holds a wrong signature";
  const topic = "Body field TopicArn is not the identity of the condition";
  const paypal = { type: "signature", preset: "paypal", identity: "another webhook" };
  const sns = { type: "signature", preset: "sns", identity: "arn:aws:sns:us-west-2:1:another" };
  const cases: [name: string, own: Written, parts: object, reason: string, found: string[]][] = [
    ["another webhook", paypal, { body, headers }, wrong, [
      "This is PayPal's scheme, and the key of PayPal's certificate does not match: compare " +
      "`identity` with what PayPal shows. If it is the right one, the body was changed on its way.",
    ]],
    ["another topic", sns, { body: JSON.stringify(message) }, topic, [`${topic}.`]],
    ["another provider", OWN, { body, headers }, "Header X-Signature is missing", [
      "The request is signed as by PayPal, and not as the condition expects: use the condition " +
      "`signature` with `preset: paypal` and its `identity`.",
    ]],
  ];
  for (const [name, own, parts, reason, found] of cases) {
    await t.step(name, async () => {
      const sentences = await cluesOf(own, parts, { reason });
      // A header that is missing is told, too.
      assertEquals(sentences.slice(0, found.length), found);
      assertEquals(sentences.filter((sentence) => sentence.includes("public key")), []);
    });
  }
});

Deno.test("doctor: a body that was changed after it was signed", async (t) => {
  const json = '{"b": 1.0, "a": ["x", {"url": "http://a/<b>&ä"}], "c": 12345678901234567890}';
  const compact = '{"b":1.0,"a":["x",{"url":"http://a/<b>&ä"}],"c":12345678901234567890}';
  const wrapped = Buffer.from(compact).toString("base64");
  const cases: [
    name: string,
    before: string,
    after: string | Uint8Array,
    words: string,
    headers?: Record<string, string>,
  ][] = [
    ["compact", compact, json, "compact JSON would match"],
    ["Python's blanks", json, compact, "as Python writes it would match"],
    ["4 spaces", indent(compact, "    "), compact, "pretty-printed JSON with 4 spaces"],
    ["tabs", indent(compact, "\t"), compact, "pretty-printed JSON with tabs"],
    [
      "sorted keys",
      '{"a":["x",{"url":"http://a/<b>&ä"}],"b":1.0,"c":12345678901234567890}',
      compact,
      "compact JSON, keys sorted would match",
    ],
    [
      "escaped unicode",
      compact.replace("ä", "\\u00e4"),
      compact,
      "other characters than ASCII escaped",
    ],
    ["PHP's slashes", compact.replaceAll("/", "\\/"), compact, "`/` escaped, as PHP writes it"],
    [
      "Go's escapes",
      compact.replace("<b>&", "\\u003cb\\u003e\\u0026"),
      compact,
      "`<`, `>` and `&` escaped, as Go writes it",
    ],
    [
      "pretty with a line break",
      `${indent(compact, "  ")}\n`,
      compact,
      "pretty-printed JSON with 2 spaces, with a line break at its end would match",
    ],
    ["a line break", `${compact}\n`, compact, "the body with a line break at its end would match"],
    ["CR LF at the end", `${compact}\r\n`, compact, "a line break (CR LF) at its end would match"],
    ["CR LF", "a\r\nb", "a\nb", "the body with line ends CR LF in place of LF"],
    ["LF", "a\nb", "a\r\nb", "the body with line ends LF in place of CR LF"],
    ["white space around it", "a", "\n a \n", "the body without white space around it"],
    ["a byte order mark", "a", "\ufeffa", "the body without the byte order mark before it"],
    ["no body", "", compact, "Signed as if the body were empty"],
    ["base64 of a gateway", compact, wrapped, "The body came encoded in base64"],
    ["JSON in JSON", compact, JSON.stringify(compact), "The body is JSON inside of a JSON text"],
    ["gzip", compact, gzipSync(compact), "Signed before the body was compressed"],
    ["form", "a=1&b=x+y", "a=1&b=x%20y", "the form as browsers encode it", FORM],
    ["form of percent codes", "a=%c3%a4", "a=%C3%A4", "percent codes in lower case", FORM],
    ["form as JSON", '{"a":"1"}', "a=1", "Signed as JSON and sent as a form", FORM],
    ["JSON as form", "a=1&b=x+y", '{"a":"1","b":"x y"}', "Signed as a form and sent as JSON"],
    ["the field payload", compact, `payload=${encodeURIComponent(compact)}`, "`payload`", FORM],
  ];
  for (const [name, before, after, words, headers = {}] of cases) {
    await t.step(name, async () => {
      const sent = await sendBy({}, { body: before, headers });
      const body = typeof after === "string" ? Buffer.from(after) : after;
      const found = await diagnosed([OWN], { ...sent, body });
      assertFirst(found, "matches", words, name);
    });
  }
});

Deno.test("doctor: a URL that the sender knows otherwise", async (t) => {
  const cases: [name: string, url: string, words: string][] = [
    [
      "http",
      URL_OF_TRIGGER.replace("https:", "http:"),
      "with http: set `url` of the condition to what the sender signs, or --public-url",
    ],
    [
      "no slash",
      URL_OF_TRIGGER.replace("/?", "?"),
      "without the slash at its end: set `url` of the condition to what the sender signs.",
    ],
    [
      "no query",
      URL_OF_TRIGGER.replace(/\?.*/, ""),
      "without its query: let the sender sign the URL with its query.",
    ],
    [
      "another host",
      URL_OF_TRIGGER.replace("hooks.example", "internal:8080"),
      "with the host of header host",
    ],
    [
      "another host with http",
      URL_OF_TRIGGER.replace("https://hooks.example", "http://internal:8080"),
      "with the host of header host and with http",
    ],
  ];
  for (const preset of ["square", "twilio", "hubspot_v3"]) {
    for (const [name, url, words] of cases) {
      await t.step(`${preset}: ${name}`, async () => {
        const own = { type: "hmac", preset, secrets: [SECRET] };
        const headers = { ...FORM, host: "internal:8080" };
        const sent = await signed([hmac.schema.parse(own)], { url, headers, body: "a=1" });
        const found = await diagnosed([own], { ...sent, url: URL_OF_TRIGGER });
        assertFirst(found, "matches", `Signed for another URL, ${words}`, name);
      });
    }
  }
});

Deno.test("doctor: two mistakes at once", async () => {
  const secret = Buffer.from(SECRET).toString("base64");
  const own = { ...OWN, secrets: [secret] };
  const sent = await sendBy({ secrets: [secret], key_encoding: "base64" }, { body: '{"a":1}' });
  const changed = withBody(sent, () => '{ "a": 1 }');
  const found = await diagnosed([own], changed);
  assertFirst(found, "matches", /^Several things differ.*compact JSON.*in base64/, "body and key");
  const late = { ...sent, receivedAt_ms: sent.receivedAt_ms };
  assertFirst(await diagnosed([own], late), "matches", "in base64 instead of its text", "key");
});

function indent(json: string, space: string): string {
  // Numbers of more digits than JavaScript has stay as they are.
  return JSON.stringify(
    JSON.parse(
      json,
      (_key, value, ...[written]: [{ source: string }?]) =>
        typeof value === "number" ? `#${written?.source}#` : value,
    ),
    undefined,
    space,
  ).replaceAll(/"#(.*?)#"/g, "$1");
}

Deno.test("doctor: the numbers of JSON stay as they are written, and many take little time", async () => {
  const texts = [
    "1.0",
    "-0",
    '{"1.0":"1.0 \\"2.0\\" \\\\","a":[1.50,-1e5,0.1,{"__proto__":1E+2}],"b":12345678901234567890}',
    "[1,2.5,-3,true,null]",
  ];
  for (const text of texts) assertEquals(JSON.stringify(parseRawJson(text)), text);
  for (const text of ["01", "1.", "[1.0", `"${'\\"'.repeat(100_000)}`]) {
    assertThrows(() => parseRawJson(text), SyntaxError);
  }
  const body = `[${Array.from({ length: 100_000 }, () => 1)}]`;
  await assertTakesLess(40, () => void parseRawJson(body));
});

Deno.test("doctor: JSON of many levels is not written anew", async () => {
  const bodies = [
    `${'{"a":'.repeat(3_000)}1${"}".repeat(3_000)}`,
    `${"[".repeat(2_000)}${"1,".repeat(100_000)}1${"]".repeat(2_000)}`,
  ];
  for (const body of bodies) {
    const sent = await sendBy({ secrets: ["another secret, long enough"] }, { body });
    const [, ...more] = await diagnosed([OWN], sent);
    assertEquals(more.at(-1)?.sentence.includes("nested too deeply"), true);
  }
});

Deno.test("doctor: signatures are looked for in hundreds of long headers at once", () => {
  const scheme = hmacScheme(hmac.schema.parse(OWN));
  const start_ms = performance.now();
  for (const end of ["!", "=!"]) {
    for (let count = 0; count < 150; count++) {
      assertEquals([...signatureTexts("a".repeat(4_000) + end, scheme)], []);
    }
  }
  const took_ms = performance.now() - start_ms;
  assert(took_ms < 1_000, `it took ${took_ms} ms`);
});

Deno.test("doctor: the JSON of a body is parsed once to be written anew, and each piece of work makes one form", async () => {
  const rows = Array.from({ length: 1_000 }, (_, row) => `{"row":${row}.0}`);
  const body = `{"rows":[${rows}]}`;
  const { parse } = JSON;
  let count = 0;
  using _restored = {
    [Symbol.dispose]() {
      JSON.parse = parse;
    },
  };
  JSON.parse = (text, reviver) => {
    // The numbers that are kept as they are written stand behind a mark.
    if (/^\{"rows":\[\{"row":"[-0-9a-f]{36}0\.0"/.test(text)) count++;
    return parse(text, reviver);
  };
  const sent = await sendBy({ secrets: ["another secret, long enough"] }, { body });
  assertFirst(await diagnosed([OWN], sent), "likely", "the secret is another endpoint's", "");
  assertEquals(count, 1);
  const forms = [...bodyVariants(request({ body }))];
  assertEquals(forms.length > 50, true, "those that are the same are listed, too");
});

Deno.test("doctor: a form with files is read once for each of its other forms", async () => {
  const own = { type: "hmac", preset: "mailgun", secrets: [SECRET] };
  const body = '--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--x--\r\n';
  const headers = { "content-type": "multipart/form-data; boundary=x" };
  const sent = {
    method: "POST",
    url: URL_OF_TRIGGER,
    headers,
    body: Buffer.from(body),
    receivedAt_ms: NOW_MS,
  };
  const found = await diagnosed([own], sent);
  assertEquals(found.map(({ sentence }) => sentence), [
    "Body field /signature/signature is missing: the sender signs nothing, or a proxy removes it. Is the secret " +
    "set at the provider?",
  ]);
});
