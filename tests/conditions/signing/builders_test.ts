/** The parts of signed content that a template cannot say, and the URL that it is about. */
import { assertEquals } from "@std/assert";
import { createHmac, hash } from "node:crypto";
import { hmac } from "../../../src/conditions/hmac.ts";
import { BUILDERS } from "../../../src/conditions/signing/builders.ts";
import { publicUrl } from "../../../src/conditions/signing/content.ts";
import { resolveScheme } from "../../../src/conditions/signing/scheme.ts";
import type { Builder } from "../../../src/conditions/signing/template.ts";
import { checkOnce, form, json, request, type RequestParts } from "../fixture.ts";

const HOOKS = "https://hooks.example/in";
const signedHeaders = "X-Contentful-Timestamp, x-contentful-signed-headers,x-b,x-a,x-none,x-a";

const cases: {
  builder: Builder;
  name: string;
  url?: string;
  parts?: RequestParts;
  expected: string;
}[] = [
  {
    builder: "twilio:parameters",
    name: "names and values in order, values once",
    parts: form("b=2&a=z&B=1&a=y&a=z&empty="),
    expected: "B1ayazb2empty",
  },
  { builder: "twilio:parameters", name: "no body", expected: "" },
  {
    builder: "twilio:parameters",
    name: "a form without parameters",
    parts: form("&&"),
    expected: "The body holds no parameter, or one without a name: that is not signed",
  },
  {
    builder: "twilio:parameters",
    name: "a form with a parameter without a name",
    parts: form("a=1&="),
    expected: "The body holds no parameter, or one without a name: that is not signed",
  },
  {
    builder: "twilio:parameters",
    name: "JSON without its hash",
    parts: json({}),
    expected: "Query parameter bodySHA256 is missing: the body is no form",
  },
  {
    builder: "twilio:parameters",
    name: "two hashes",
    url: `${HOOKS}?bodySHA256=a&bodySHA256=a`,
    expected: "Query parameter bodySHA256 comes more than once",
  },
  {
    builder: "twilio:parameters",
    name: "a form in the place of the JSON that was hashed",
    url: `${HOOKS}?bodySHA256=00`,
    parts: form("a=1"),
    expected: "Query parameter bodySHA256 is not the SHA-256 of the body",
  },
  {
    builder: "twilio:url_with_port",
    name: "a port that is not written",
    url: `${HOOKS}?a=1:2/3`,
    expected: "https://hooks.example:443/in?a=1:2/3",
  },
  {
    builder: "twilio:url_with_port",
    name: "http",
    url: "http://hooks.example",
    expected: "http://hooks.example:80",
  },
  {
    builder: "twilio:url_with_port",
    name: "a port that is written",
    url: "https://hooks.example:8443/in",
    expected: "https://hooks.example:8443/in",
  },
  {
    builder: "twilio:url_without_port",
    name: "a port that is written",
    url: "https://hooks.example:8443/in?b=:1",
    expected: "https://hooks.example/in?b=:1",
  },
  {
    builder: "hubspot:url",
    name: "twelve codes and no others",
    url: `${HOOKS}?q=%3a%2F%3F%40%21%24%27%28%29%2A%2C%3B%20%26%3D%25`,
    expected: `${HOOKS}?q=:/?@!$'()*,;%20%26%3D%25`,
  },
  {
    builder: "contentful:path",
    name: "the query is escaped, and what is escaped once more",
    url: `${HOOKS}?q=1&w=a%20b`,
    expected: "/in?q%253D1%2526w%253Da%252520b",
  },
  { builder: "contentful:path", name: "no query", url: `${HOOKS}?`, expected: "/in" },
  { builder: "contentful:path", name: "no path", url: "https://hooks.example", expected: "/" },
  {
    builder: "contentful:path",
    name: "characters that a URL would escape",
    url: `${HOOKS}?q=it's`,
    expected: "/in?q%253Dit's",
  },
  {
    builder: "contentful:headers",
    name: "those that are named and there, sorted, trimmed, each once",
    parts: {
      headers: {
        "x-contentful-signed-headers": signedHeaders,
        "x-contentful-timestamp": "1",
        "X-A": " a: 1 ",
        "x-b": "b",
      },
    },
    expected:
      `x-a:a: 1;x-b:b;x-contentful-signed-headers:${signedHeaders};x-contentful-timestamp:1`,
  },
  {
    builder: "contentful:headers",
    name: "no list",
    expected: "Header x-contentful-signed-headers is missing",
  },
  {
    builder: "contentful:headers",
    name: "a list without the timestamp",
    parts: { headers: { "x-contentful-signed-headers": "x-contentful-signed-headers" } },
    expected: "Header x-contentful-signed-headers does not name x-contentful-timestamp",
  },
  {
    builder: "contentful:headers",
    name: "a list that is too long",
    parts: {
      headers: {
        "x-contentful-signed-headers": `${signedHeaders},${
          Array.from({ length: 32 }, (_, index) => `x-${index}`)
        }`,
      },
    },
    expected: "Header x-contentful-signed-headers names over 32 headers",
  },
];

for (const { builder, name, url = HOOKS, parts = {}, expected } of cases) {
  Deno.test(`{${builder}}: ${name}`, () => {
    const built = BUILDERS[builder](request(parts), url);
    assertEquals(typeof built === "string" ? built : built.reason, expected);
  });
}

const signedNames = ["Message", "MessageId", "Timestamp", "TopicArn"];
const messages: [builder: Builder, message: object][] = [
  ["sns:message", {
    ...Object.fromEntries(signedNames.map((name) => [name, "x"])),
    Type: "Notification",
    Message: "ä".repeat(128 * 1024),
  }],
  ["adyen:item", { notificationItems: [{ NotificationRequestItem: { success: "true" } }] }],
];
for (const [builder, message] of messages) {
  Deno.test(`{${builder}}: a body that is no provider's is not parsed before it is verified`, () => {
    const fits = BUILDERS[builder](request(json(message)), HOOKS, "x");
    assertEquals(typeof fits, "string");
    const many = Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [index, 1]));
    const text = JSON.stringify(message);
    for (const body of [JSON.stringify({ ...message, many }), text + " ".repeat(3 * 1024 * 1024)]) {
      const parsedBody = () => {
        throw new Error("The body is parsed");
      };
      const built = BUILDERS[builder]({ ...request({ body }), parsedBody }, HOOKS, "x");
      assertEquals(typeof built, "object");
    }
  });
}

const urls: { name: string; own?: string; sent: string; expected: string }[] = [
  { name: "the request's", sent: `${HOOKS}?a=1`, expected: `${HOOKS}?a=1` },
  {
    name: "the setting's, with the request's query",
    own: "https://public.example/x",
    sent: `${HOOKS}?a=1`,
    expected: "https://public.example/x?a=1",
  },
  {
    name: "the setting's, where the request has no query",
    own: "https://public.example/x",
    sent: HOOKS,
    expected: "https://public.example/x",
  },
  {
    name: "the setting's with its own query",
    own: "https://public.example/x?b=2",
    sent: `${HOOKS}?a=1`,
    expected: "https://public.example/x?b=2",
  },
];

for (const { name, own, sent, expected } of urls) {
  Deno.test(`{url}: ${name}`, () => {
    const scheme = resolveScheme({ algorithm: "sha256" }, { url: own });
    assertEquals(publicUrl(scheme, request({ url: sent })), expected);
  });
}

Deno.test("a text that is too long for any signature is not decoded", async () => {
  const settings = { algorithm: "sha256", header: "X-S", secrets: ["s"], list_separator: "," };
  const headers = { "x-s": `${"0".repeat(64)},${"0".repeat(4096)}` };
  assertEquals(await checkOnce(hmac, settings, { headers }), {
    reason: "Header X-S holds a wrong signature",
    expected: "<64 hex digits>",
  });
  const alone = { "x-s": "0".repeat(4096) };
  assertEquals((await checkOnce(hmac, settings, { headers: alone }))?.found, "4096 characters");
});

Deno.test("{twilio:parameters}: a hash that is not in the URL which is signed binds no body", async () => {
  const url = "https://public.example/x?b=2";
  const settings = { preset: "twilio", secrets: ["token"], url };
  const headers = {
    "x-twilio-signature": createHmac("sha1", "token").update(url).digest("base64"),
  };
  assertEquals(await checkOnce(hmac, settings, { headers }), undefined);
  const body = '{"forged":true}';
  const forged = { headers, body, query: `bodySHA256=${hash("sha256", body)}` };
  const reason = "Query parameter bodySHA256 is missing: the body is no form";
  assertEquals((await checkOnce(hmac, settings, forged))?.reason, reason);
});
