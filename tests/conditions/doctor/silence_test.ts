/** No finding holds a secret or a signature that would be right, whatever comes. */
import { assert } from "@std/assert";
import { Buffer } from "node:buffer";
import { createHmac } from "node:crypto";
import { SignJWT } from "@panva/jose";
import fc from "fast-check";
import { hmac } from "../../../src/conditions/hmac.ts";
import { hmacPresets } from "../../../src/conditions/signing/presets/mod.ts";
import { eachOf, mutated, unicode } from "../../arbitraries.ts";
import { NOW_MS } from "../fixture.ts";
import { type Sent, URL_OF_TRIGGER } from "../signing/senders.ts";
import { diagnosed, prepared, signed, type Written } from "./fixture.ts";

/** Long enough to be in no sentence by chance. */
const secrets = fc.oneof(
  fc.stringMatching(/^[A-Za-z0-9]{16,40}$/),
  fc.uint8Array({ minLength: 18, maxLength: 32 }).map((bytes) =>
    `whsec_${Buffer.from(bytes).toString("base64")}`
  ),
  fc.uint8Array({ minLength: 18, maxLength: 32 }).map((bytes) =>
    Buffer.from(bytes).toString("hex")
  ),
);

/** A place of a request in which a sender may put a text. */
const PLACES = ["authorization", "x-token", "x-signature", "cookie", "query", "body"];

/** Conditions, each with the place that it reads. */
const CONDITIONS: [condition: Written, place: string][] = [
  [{ type: "hmac", algorithm: "sha256", header: "X-Signature" }, "x-signature"],
  [{ type: "static_token", in: "header", name: "X-Token" }, "x-token"],
  [{ type: "static_token", basic: { username: "ci" } }, "authorization"],
  [{ type: "static_token", in: "body", name: "/a/b" }, "body"],
  [{ type: "jwt", algorithms: ["HS256"], issuer: "me", claims: { scope: "x" } }, "authorization"],
];

const conditions = fc.oneof(
  fc.constantFrom(...Object.keys(hmacPresets)).map((preset) => ({ type: "hmac", preset })),
  fc.constantFrom(...CONDITIONS.map(([condition]) => condition)),
);

/** What senders and operators do to a text by mistake. */
const DISGUISES: ((text: string) => string)[] = [
  (text) => text,
  (text) => `Bearer ${text}`,
  (text) => `"${text}"`,
  (text) => `${text}\n`.trim(),
  (text) => Buffer.from(text).toString("base64"),
  (text) => Buffer.from(text).toString("hex"),
  (text) => basic("ci", text),
  (text) => basic("another", text),
  (text) => text.toUpperCase(),
  (text) => text.slice(0, -1),
];

function basic(username: string, password: string): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`;
}

function put(sent: Sent, place: string, text: string): Sent {
  if (place === "query") {
    return { ...sent, url: `${sent.url}&key=${encodeURIComponent(text)}` };
  }
  if (place === "body") return { ...sent, body: Buffer.from(JSON.stringify({ a: { b: text } })) };
  // What no header can hold is not sent.
  const value = text.replaceAll(/[^\x20-\x7e]/g, "");
  return { ...sent, headers: { ...sent.headers, [place]: value } };
}

/** Every text from which the secret, or a signature by it, could be had. */
function forbidden(secret: string, { body }: Sent): string[] {
  const keys = [Buffer.from(secret), Buffer.from(secret, "base64"), Buffer.from(secret, "hex")]
    .filter(({ length }) => length >= 12);
  const texts = keys.flatMap((key) => [key.toString("base64"), key.toString("hex")]);
  const macs = ["sha1", "sha256", "sha512"].flatMap((algorithm) =>
    keys.flatMap((key) => {
      const mac = createHmac(algorithm, key).update(body).digest();
      return [mac.toString("hex"), mac.toString("base64"), mac.toString("base64url")];
    })
  );
  return [secret, secret.replace(/^whsec_/, ""), ...texts, ...macs];
}

async function assertSilent(
  condition: Written,
  secret: string,
  sent: Sent,
  others: Parameters<typeof diagnosed>[2] = {},
): Promise<void> {
  const conditions = [{ ...condition, secrets: [secret] }];
  const answer = JSON.stringify(await diagnosed(conditions, sent, { limit_ms: 60, ...others }));
  // Headers of the request that look like signatures may be right ones.
  const values = Object.values(sent.headers).filter(({ length }) => length >= 20);
  for (const text of [...forbidden(secret, sent), ...values]) {
    assert(!answer.includes(text), `${text} in ${answer}`);
  }
}

const EMPTY: Sent = {
  method: "POST",
  url: URL_OF_TRIGGER,
  headers: { "content-type": "application/json" },
  body: Buffer.from("{}"),
  receivedAt_ms: NOW_MS,
};

Deno.test("doctor: no finding holds the secret, in whatever form it is where a condition reads", async () => {
  const secret = "S3cretOfTheTestThatIsLong";
  const isTried = eachOf(3);
  for (const [at, [condition, read]] of CONDITIONS.entries()) {
    for (const [form, disguise] of DISGUISES.entries()) {
      // The others in turn.
      const tried = PLACES.filter((place, other) => place === read || isTried(at + form + other));
      for (const place of tried) {
        await assertSilent(condition, secret, put(EMPTY, place, disguise(secret)));
      }
    }
  }
});

Deno.test("doctor: no finding holds the secret, wherever a sender puts it", async () => {
  await fc.assert(
    fc.asyncProperty(
      conditions,
      secrets,
      fc.array(fc.tuple(fc.constantFrom(...PLACES), fc.constantFrom(...DISGUISES)), {
        minLength: 1,
        maxLength: 3,
      }),
      async (condition, secret, parts) => {
        let sent = EMPTY;
        for (const [place, disguise] of parts) sent = put(sent, place, disguise(secret));
        await assertSilent(condition, secret, sent);
      },
    ),
    { numRuns: 40 },
  );
});

Deno.test("doctor: no finding holds a right signature, whatever was changed after it was made", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(
        ...Object.keys(hmacPresets).filter((preset) =>
          hmacPresets[preset]?.scheme.body_field === undefined
        ),
      ),
      secrets,
      unicode({ maxLength: 20 }),
      mutated('{"a": 1}', "\n", " ", "[", "ä"),
      fc.constantFrom("x-other", "authorization", "x-signature"),
      async (preset, secret, value, changed, header) => {
        const condition = { type: "hmac", preset };
        const { key_encoding = "utf8" } = hmacPresets[preset]?.scheme ?? {};
        const key = Buffer.from(secret).toString(key_encoding);
        const settings = hmac.schema.parse({ ...condition, secrets: [key] });
        const body = JSON.stringify({ value, webhookTimestamp: 0 });
        const sent = await signed([settings], { body });
        await assertSilent(condition, key, { ...sent, body: Buffer.from(changed) });
        const moved = Object.fromEntries(
          Object.entries(sent.headers).map(([name, text]) =>
            [/signature/.test(name) ? `${header}-${name}` : name, text] as const
          ),
        );
        await assertSilent(condition, key, { ...sent, headers: moved });
      },
    ),
    { numRuns: 30 },
  );
});

Deno.test("doctor: no finding quotes a secret that is a claim, a name, or another trigger's", async () => {
  const secret = "another-s3cret-of-the-trigger";
  const own = {
    type: "jwt",
    algorithms: ["HS256"],
    secrets: ["the-issuer's-s3cret, long"],
    issuer: "me",
  };
  const token = await new SignJWT({ iss: secret, exp: NOW_MS / 1000 + 60 })
    .setProtectedHeader({ alg: "HS256" })
    .sign(new TextEncoder().encode("the-issuer's-s3cret, long"));
  const sent = {
    method: "POST",
    url: `${URL_OF_TRIGGER}&${secret}=${secret}`,
    headers: { authorization: `Bearer ${token}`, "x-token": "other" },
    body: Buffer.from(JSON.stringify({ [secret]: secret })),
    receivedAt_ms: NOW_MS,
  };
  const hidden = { type: "static_token", in: "header", name: "X-Token", secrets: [secret] };
  const others = [await prepared([{ ...hidden, secrets: ["a-secret-of-two"] }], { name: "two" })];
  const found = await diagnosed([own, hidden], sent, { others });
  const answer = JSON.stringify(found);
  assert(found.length >= 2, answer);
  assert(!answer.includes(secret) && !answer.includes("a-secret-of-two"), answer);
});
