/** The signature doctor names every mistake that can be made with a token, a password or a time. */
import { assertEquals } from "@std/assert";
import { Buffer } from "node:buffer";
import { hash } from "node:crypto";
import { tokenPresets } from "../../../src/conditions/signing/presets/mod.ts";
import type { Certainty } from "../../../src/conditions/doctor/finding.ts";
import { NOW_MS } from "../fixture.ts";
import { type Sent, URL_OF_TRIGGER } from "../signing/senders.ts";
import { assertFirst, diagnosed, followed, prepared, type Written } from "./fixture.ts";

const TOKEN = "t0ken-of-the-tests+/=";
const X_TOKEN = { type: "static_token", in: "header", name: "X-Token", secrets: [TOKEN] };
const BEARER = { ...X_TOKEN, name: "Authorization", prefix: "Bearer " };
const BASIC = { type: "static_token", basic: { username: "ci" }, secrets: [TOKEN] };

function send(headers: Record<string, string>, { query = "", body = "" } = {}): Sent {
  return {
    method: "POST",
    url: URL_OF_TRIGGER + query,
    headers: { "content-type": "application/json", ...headers },
    body: Buffer.from(body),
    receivedAt_ms: NOW_MS,
  };
}

function basic(credentials: string): Record<string, string> {
  return { authorization: `Basic ${Buffer.from(credentials).toString("base64")}` };
}

const cases: [
  name: string,
  condition: Written,
  sent: Sent,
  certainty: Certainty,
  words: string | RegExp,
][] = [
  ["the right one", X_TOKEN, send({ "x-token": TOKEN }), "matches", "Everything passes"],
  ["another one", X_TOKEN, send({ "x-token": "other" }), "likely", "The token is another one"],
  ["none", X_TOKEN, send({}), "likely", "Header X-Token is missing: is the token set"],
  [
    "a misspelled name",
    X_TOKEN,
    send({ "x-tokenn": "other" }),
    "likely",
    "Header X-Token is missing, and the request has x-tokenn",
  ],
  [
    "another header",
    X_TOKEN,
    send({ "x-auth": TOKEN }),
    "matches",
    "The token is in header x-auth, and the condition reads header X-Token",
  ],
  [
    "the query",
    X_TOKEN,
    send({}, { query: `&key=${encodeURIComponent(TOKEN)}` }),
    "matches",
    "The token is in query parameter key",
  ],
  [
    "the body",
    X_TOKEN,
    send({}, { body: JSON.stringify({ auth: { token: TOKEN } }) }),
    "matches",
    "The token is in body field /auth/token",
  ],
  [
    "a Bearer token in place of a bare one",
    X_TOKEN,
    send({ "x-token": `Bearer ${TOKEN}` }),
    "matches",
    'before it stands `Bearer `: the condition expects nothing. Set `prefix: "Bearer "`',
  ],
  [
    "a bare token in place of a Bearer token",
    BEARER,
    send({ authorization: TOKEN }),
    "matches",
    "the text before it is missing: the condition expects `Bearer `",
  ],
  [
    "Token in place of Bearer",
    BEARER,
    send({ authorization: `Token ${TOKEN}` }),
    "matches",
    "before it stands `Token `: the condition expects `Bearer `",
  ],
  [
    "a Bearer token in another header",
    X_TOKEN,
    send({ authorization: `Bearer ${TOKEN}` }),
    "matches",
    "The token is in header authorization",
  ],
  [
    "the password of HTTP Basic",
    X_TOKEN,
    send(basic(`ci:${TOKEN}`)),
    "matches",
    "The secret is the password of HTTP Basic",
  ],
  ["quotes", X_TOKEN, send({ "x-token": `"${TOKEN}"` }), "matches", /with quotes around it/],
  ["upper case", X_TOKEN, send({ "x-token": TOKEN.toUpperCase() }), "matches", "in upper case"],
  [
    "percent codes",
    X_TOKEN,
    send({ "x-token": encodeURIComponent(TOKEN) }),
    "matches",
    "with percent codes",
  ],
  [
    "base64",
    X_TOKEN,
    send({ "x-token": Buffer.from(TOKEN).toString("base64") }),
    "matches",
    "The token is the secret, encoded in base64 once more",
  ],
  [
    "its hash",
    X_TOKEN,
    send({ "x-token": hash("sha256", TOKEN) }),
    "matches",
    "The token is the SHA-256 of the secret",
  ],
  [
    "+ in a query",
    { ...X_TOKEN, in: "query", name: "token" },
    send({}, { query: `&token=${TOKEN}` }),
    "matches",
    "with `+` read as a blank",
  ],
  [
    "one element of a list without it",
    { type: "static_token", preset: "microsoft_graph", secrets: [TOKEN] },
    send({}, {
      body: JSON.stringify({ value: [{ clientState: TOKEN }, { clientState: "other" }] }),
    }),
    "likely",
    "Element 1 of the list has another token",
  ],
  [
    "a header twice",
    X_TOKEN,
    send({ "x-token": `${TOKEN}, ${TOKEN}` }),
    "matches",
    "Header X-Token comes more than once: let the sender",
  ],
  [
    "a header of another sender, too",
    BEARER,
    send({ authorization: `Bearer another-token, Bearer ${TOKEN}` }),
    "matches",
    "Header Authorization comes more than once",
  ],
  [
    "Basic: twice",
    BASIC,
    send({
      authorization: `${basic(`ci:${TOKEN}`).authorization}, ${basic("ci:x").authorization}`,
    }),
    "matches",
    "Header Authorization comes more than once",
  ],
  ["Basic: right", BASIC, send(basic(`ci:${TOKEN}`)), "matches", "Everything passes"],
  ["Basic: wrong", BASIC, send(basic("ci:x")), "likely", "The password is another one"],
  ["Basic: none", BASIC, send({}), "likely", "Header Authorization is missing"],
  [
    "Basic: another username",
    BASIC,
    send(basic(`root:${TOKEN}`)),
    "matches",
    "The username is another one: the condition expects `ci`",
  ],
  [
    "Basic: swapped",
    BASIC,
    send(basic(`${TOKEN}:ci`)),
    "matches",
    "The secret is given as the username",
  ],
  [
    "Basic: Bearer",
    BASIC,
    send({ authorization: `Bearer ${TOKEN}` }),
    "matches",
    "The password is right, and it does not come by HTTP Basic",
  ],
  [
    "Basic: not encoded",
    BASIC,
    send({ authorization: `Basic ci:${TOKEN}` }),
    "matches",
    "The credentials are not encoded in base64",
  ],
  [
    "Basic: the secret has the username",
    { ...BASIC, secrets: [`ci:${TOKEN}`] },
    send(basic(`ci:${TOKEN}`)),
    "matches",
    "The trigger's secret is username and password",
  ],
  [
    "Basic: a line break at the end",
    BASIC,
    send(basic(`ci:${TOKEN}\n`)),
    "matches",
    "The password is the secret with a line break at its end",
  ],
];

const GITLAB = { type: "static_token", preset: "gitlab", secrets: [TOKEN] };
const GRAPH = { type: "static_token", preset: "microsoft_graph", secrets: [TOKEN] };
const IN_LIST = { ...X_TOKEN, in: "body", name: "token", each: "/value" };
const VALUES = { body: '{"value":[{"id":1}]}' };

const moved: [name: string, condition: Written, sent: Sent][] = [
  ["a Bearer token for a bare one", X_TOKEN, send({ authorization: `Bearer ${TOKEN}` })],
  [
    "a Bearer token in place",
    { ...BEARER, prefix: "" },
    send({ authorization: `Bearer ${TOKEN}` }),
  ],
  ["a bare token for a Bearer token", BEARER, send({ "x-token": TOKEN })],
  ["the query", BEARER, send({}, { query: `&key=${encodeURIComponent(TOKEN)}` })],
  ["the body", BEARER, send({}, { body: JSON.stringify({ auth: { "a/b": TOKEN } }) })],
  ["a cookie", X_TOKEN, send({ cookie: `token=${TOKEN}` })],
  ["a preset's header", GITLAB, send({ authorization: `Bearer ${TOKEN}` })],
  ["a preset's list", GRAPH, send({ "x-token": TOKEN }, VALUES)],
  ["a list", IN_LIST, send({ "x-token": TOKEN }, VALUES)],
  ["HTTP Basic for a header", X_TOKEN, send(basic(`ci:${TOKEN}`))],
  ["HTTP Basic for a Bearer token", BEARER, send(basic(`ci:${TOKEN}`))],
  ["HTTP Basic for a preset", GITLAB, send(basic(`ci:${TOKEN}`))],
  ["a header for HTTP Basic", BASIC, send({ "x-token": TOKEN })],
  ["a Bearer token for HTTP Basic", BASIC, send({ authorization: `Bearer ${TOKEN}` })],
  ["a bare token for HTTP Basic", BASIC, send({ authorization: TOKEN })],
];

for (const [name, condition, sent] of moved) {
  Deno.test(`doctor: token: the condition that a finding names lets the request pass: ${name}`, async () => {
    const [first] = await diagnosed([condition], sent);
    const other = followed(condition, first?.sentence ?? "");
    assertFirst(
      await diagnosed([other], sent),
      "matches",
      "Everything passes",
      first?.sentence ?? "",
    );
  });
}

Deno.test("doctor: token: something behind it", async () => {
  const own = { ...X_TOKEN, in: "query", name: "token" };
  const sent = send({}, { query: `&token=${encodeURIComponent(`${TOKEN} `)}` });
  const words = "The token is right, and something follows it, such as a blank";
  assertFirst(await diagnosed([own], sent), "matches", words, "a blank");
});

for (const [name, condition, sent, certainty, words] of cases) {
  Deno.test(`doctor: token: ${name}`, async () => {
    assertFirst(await diagnosed([condition], sent), certainty, words, name);
  });
}

Deno.test("doctor: each preset with a token says what is missing, and finds the token elsewhere", async () => {
  for (const [preset, { token }] of Object.entries(tokenPresets)) {
    const own = { type: "static_token", preset, secrets: [TOKEN] };
    const body = token.each === undefined ? "{}" : JSON.stringify({ value: [{ id: 1 }] });
    const none = await diagnosed([own], send({}, { body }));
    assertFirst(none, "likely", /is missing|has no clientState in its element 0/, preset);
    const moved = await diagnosed([own], send({ "x-elsewhere": TOKEN }, { body }));
    assertFirst(moved, "matches", "The token is in header x-elsewhere", preset);
  }
});

Deno.test("doctor: a token of another trigger", async () => {
  const others = [await prepared([{ ...X_TOKEN, secrets: ["another-token"] }], { name: "two" })];
  const found = await diagnosed([X_TOKEN], send({ "x-token": "another-token" }), { others });
  assertFirst(found, "matches", 'The secret is that of trigger "two"', "another trigger");
});

Deno.test("doctor: a time that is missing, of another format, too old, or ahead", async () => {
  const own = { type: "timestamp", in: "header", name: "X-Time", format: "unix_s", tolerance: 300 };
  const at = (text: string) => diagnosed([own], send({ "x-time": text }));
  const now_s = NOW_MS / 1000;
  assertFirst(await at(String(now_s)), "matches", "Everything passes", "now");
  assertFirst(await at(String(NOW_MS)), "matches", "set `format: unix_ms`", "milliseconds");
  const late = await at(String(NOW_MS - 900_000));
  assertFirst(late, "likely", "set `format: unix_ms`", "milliseconds, and too old");
  const text = new Date(NOW_MS).toISOString();
  assertFirst(await at(text), "matches", "set `format: rfc3339`", "text");
  const old = "The request is 11 minutes old: look at the clock";
  assertFirst(await at(String(now_s - 660)), "matches", old, "old");
  assertFirst(await at(String(now_s + 7_200)), "matches", "2 hours in the future", "ahead");
  assertFirst(await at("noon"), "likely", "Header X-Time is not a timestamp", "no time");
  assertFirst(await diagnosed([own], send({})), "likely", "Header X-Time is missing", "none");
  const inQuery = { ...own, in: "query", name: "t" };
  const twice = await diagnosed([inQuery], send({}, { query: `&t=${now_s}&t=${now_s}` }));
  assertFirst(twice, "likely", "Query parameter t is ambiguous: it comes more than once.", "twice");
});

Deno.test("doctor: where every credential is right, it says which condition refuses", async () => {
  const filter = { type: "payload_filter", expression: "body.action == 'opened'" };
  const sent = send({ "x-token": TOKEN }, { body: '{"action":"closed"}' });
  const found = await diagnosed([X_TOKEN, filter], sent);
  const words = "Every credential is right. It is refused by conditions/1 (payload_filter): ";
  assertFirst(found, "likely", words, "filter");
  const address = { type: "ip_allowlist", ranges: ["203.0.113.0/24"] };
  const delivered = await diagnosed([address, X_TOKEN], sent);
  assertFirst(delivered, "likely", "conditions/0 (ip_allowlist)", "address");
  const pasted = await diagnosed([address, X_TOKEN], sent, { isAddressKnown: false });
  const unchecked = "Everything else passes. conditions/0 (ip_allowlist) is not checked";
  assertFirst(pasted, "possible", unchecked, "a pasted request has no address");
});

Deno.test("doctor: a request that passes may have been over a rate limit when it came", async () => {
  const limit = { type: "rate_limit", quota: 1, period: 60 };
  const sent = send({ "x-token": TOKEN });
  const pasted = await diagnosed([X_TOKEN, limit], sent);
  assertFirst(pasted, "matches", "If it was refused, a rate limit was used up then, or", "pasted");
  const without = await diagnosed([X_TOKEN], sent);
  assertFirst(without, "matches", "If it was refused, the trigger has changed since", "no limit");
});

Deno.test("doctor: a variable that is not set", async () => {
  const words = "The environment variable UNSET of the service is not set, or empty";
  const conditions = [
    { ...X_TOKEN, secrets: ["{env:UNSET}"] },
    { type: "hmac", preset: "github", secrets: ["{env:UNSET}"] },
  ];
  for (const condition of conditions) {
    const sent = send({ "x-token": TOKEN, "x-hub-signature-256": `sha256=${"0".repeat(64)}` });
    const found = await diagnosed([condition], sent);
    assertFirst(found, "likely", words, condition.type);
    const both = { ...condition, secrets: ["{env:UNSET}", "another"] };
    assertFirst(await diagnosed([both], sent), "likely", words, condition.type);
  }
});

Deno.test("doctor: a file that cannot be read", async () => {
  const secrets = ["{file:/nowhere/secret}"];
  const sent = send({ "x-token": TOKEN, "x-hub-signature-256": `sha256=${"0".repeat(64)}` });
  for (const condition of [X_TOKEN, { type: "hmac", preset: "github" }]) {
    const found = await diagnosed([{ ...condition, secrets }], sent);
    const words = "The service cannot read the file /nowhere/secret, or it is empty";
    assertFirst(found, "likely", words, condition.type);
    assertEquals(found.length, 1);
  }
});

Deno.test("doctor: a secret that has ended, with and without another", async () => {
  const ended = { value: TOKEN, until: new Date(NOW_MS - 1_000).toISOString() };
  const sent = send({ "x-token": TOKEN });
  const words = (advice: string) => `(\`until\`): ${advice}`;
  const both = await diagnosed([{ ...X_TOKEN, secrets: [ended, "another-token"] }], sent);
  assertFirst(both, "matches", words("give the sender the current one."), "both");
  const alone = await diagnosed([{ ...X_TOKEN, secrets: [ended] }], sent);
  assertFirst(
    alone,
    "matches",
    words("none of the condition is current, so set a new one"),
    "alone",
  );
});

Deno.test("doctor: secrets that cannot be decrypted are told alone", async () => {
  const lockedSecrets = ["/conditions/0/secrets/0"];
  const conditions = [{ ...X_TOKEN, secrets: ["{env:UNREAD}"] }];
  const found = await diagnosed(conditions, send({ "x-token": TOKEN }), { lockedSecrets });
  assertFirst(found, "likely", "Its secrets cannot be decrypted with this key", "locked");
  assertEquals(found.length, 1);
});

Deno.test("doctor: a request that was pasted is as old as when it is diagnosed", async () => {
  const own = { type: "timestamp", in: "header", name: "X-Time", format: "unix_s", tolerance: 300 };
  const sent = send({ "x-time": String(NOW_MS / 1000 - 86_400 * 3) });
  const found = await diagnosed([own], sent, { isReceiptKnown: false });
  assertFirst(found, "possible", "The request is 3 days old by now; 5 minutes are allowed", "old");
});
