/** What is made from a trigger's conditions passes all of them; what cannot be made is explained. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { Buffer } from "node:buffer";
import { generateKeyPairSync, sign } from "node:crypto";
import { z } from "zod";
import { hmac } from "../../src/conditions/hmac.ts";
import { conditionSchema } from "../../src/conditions/mod.ts";
import { prepareConditions } from "../../src/conditions/prepare.ts";
import { launchRequest } from "../../src/conditions/request.ts";
import { signRequest, type UnsignedRequest } from "../../src/conditions/sign_request.ts";
import { rsaPairs } from "../rsa_keys.ts";
import { checkOnce, context, NOW_MS } from "./fixture.ts";

type Settings = Record<string, unknown>;

const env: Record<string, string> = { TOKEN: "t0ken from outside" };
const parse = (settings: Settings[]) => z.array(conditionSchema).parse(settings);
const [rsa] = rsaPairs;
const ec = generateKeyPairSync("ec", { namedCurve: "P-256" });
const ed = generateKeyPairSync("ed25519");
const pem = ({ publicKey }: typeof rsa) =>
  String(publicKey.export({ format: "pem", type: "spki" }));
const privatePem = ({ privateKey }: typeof rsa) =>
  String(privateKey.export({ format: "pem", type: "pkcs8" }));
const form = "application/x-www-form-urlencoded";

const header = { type: "static_token", in: "header", name: "X-Token", secrets: ["{env:TOKEN}"] };
const time = (place: string) => ({ type: "timestamp", in: place, name: "t", format: "unix_s" });
const stamped = {
  type: "hmac",
  algorithm: "sha512",
  encoding: "base64url",
  header: "X-Sig",
  signed_content: "{timestamp}.{body}",
  secrets: ["{env:NOT_SET}", "s3cret"],
};

const passing: {
  name: string;
  conditions: Settings[];
  body?: string;
  contentType?: string;
  privateKeys?: string[];
}[] = [
  { name: "nothing", conditions: [] },
  { name: "a token in a header", conditions: [header] },
  {
    name: "a token outside ASCII, in a header",
    conditions: [{ ...header, secrets: ["clé €"] }],
  },
  {
    name: "a token in the query and one in the body, both signed",
    conditions: [
      { type: "hmac", preset: "square", secrets: ["s"] },
      { ...header, in: "query", secrets: ["a b&c"] },
      { ...header, in: "body", name: "/auth/token" },
    ],
  },
  { name: "HTTP Basic", conditions: [{ type: "static_token", basic: {}, secrets: ["a:b"] }] },
  {
    name: "a token in a form",
    conditions: [{ ...header, in: "body", name: "token" }],
    body: "a=1",
    contentType: form,
  },
  {
    name: "a token behind the elements of a list",
    conditions: [{ ...header, in: "body", name: "/a/1" }],
    body: '{"a":[1]}',
  },
  {
    name: "a token in every element",
    conditions: [{ type: "static_token", preset: "microsoft_graph", secrets: ["state"] }],
    body: '{"value":[{"id":1},{"id":2,"clientState":"old"}]}',
  },
  ...["header", "query", "body"].map((place) => ({
    name: `a timestamp in the ${place}, which another condition signs`,
    conditions: [stamped, time(place)],
  })),
  {
    name: "two schemes at once",
    conditions: [
      { type: "hmac", preset: "github", secrets: ["s"] },
      { type: "hmac", preset: "stripe", secrets: ["t"] },
      { type: "hmac", preset: "mailgun", secrets: ["u"] },
    ],
  },
  {
    name: "a preset with fields of its own",
    conditions: [{
      type: "hmac",
      preset: "stripe",
      header: "X-Own",
      field: "sig",
      list_separator: ";",
      tolerance: 5,
      signed_content: "{method} {url} {path} {header:X-Extra} {id} {timestamp} {body}",
      id: { in: "header", name: "X-Id" },
      key_encoding: "hex",
      secrets: ["00ff"],
    }],
  },
  {
    name: "a JWT with a secret",
    conditions: [{
      type: "jwt",
      algorithms: ["HS384"],
      secrets: ["s3cret"],
      issuer: ["https://issuer.example", "x"],
      audience: "hooklaunch",
      claims: { role: "sender", any: null },
    }],
  },
  {
    name: "a JWT with a private key",
    conditions: [{ type: "jwt", algorithms: ["ES256"], public_keys: [pem(ec)] }],
    privateKeys: [privatePem(ec)],
  },
  ...[
    { algorithm: "rsa_sha256", pair: rsa },
    { algorithm: "ecdsa_p256", pair: ec },
    { algorithm: "ecdsa_p256", pair: ec, signature_format: "raw" },
    { algorithm: "ed25519", pair: ed },
  ].map(({ pair, ...settings }) => ({
    name: `a signature of the general form: ${JSON.stringify(settings)}`,
    conditions: [{ type: "signature", header: "X-Sig", public_keys: [pem(pair)], ...settings }],
    privateKeys: [privatePem(rsa), privatePem(ec), privatePem(ed)],
  })),
];

function unsigned(parts: {
  body?: string;
  contentType?: string;
  privateKeys?: string[];
}): UnsignedRequest {
  const { body = '{"a":1}', contentType = "application/json", privateKeys = [] } = parts;
  return {
    url: "https://hooks.example/api/v0/launch/x/?q=1",
    headers: { "content-type": contentType },
    body: new TextEncoder().encode(body),
    now_ms: NOW_MS,
    env: (name) => env[name],
    privateKeys,
  };
}

for (const { name, conditions, ...parts } of passing) {
  Deno.test(`signRequest: ${name}`, async () => {
    const settings = parse(conditions);
    const sent = await signRequest(settings, unsigned(parts));
    assertEquals(sent.problems, []);
    assertEquals(sent.notes.length, conditions.length);
    const request = launchRequest({
      ...sent,
      method: "POST",
      query: new URL(sent.url).searchParams,
      headers: new Headers(sent.headers),
      remoteIp: "192.0.2.7",
      receivedAt_ms: NOW_MS,
    });
    for (
      const { check, index } of (await prepareConditions(settings, context({ env }), "t")).checks
    ) {
      assertEquals(await check(request), undefined, `condition ${index}`);
    }
    const told = JSON.stringify(sent.notes);
    for (const secret of ["s3cret", "t0ken", "a:b", "state"]) assert(!told.includes(secret), told);
  });
}

const impossible: {
  name: string;
  conditions: Settings[];
  body?: string;
  contentType?: string;
  privateKeys?: string[];
  problem: RegExp;
}[] = [
  {
    name: "a public key alone",
    conditions: [{ type: "signature", preset: "sendgrid", public_keys: [pem(ec)] }],
    problem: /^Cannot sign with ecdsa_p256: the trigger knows the public key/,
  },
  {
    name: "a private key of another kind",
    conditions: [{ type: "signature", preset: "sendgrid", public_keys: [pem(ec)] }],
    privateKeys: [privatePem(ed)],
    problem: /\(Must be a key for ecdsa_p256: this is one of ed25519\)$/,
  },
  {
    name: "the public keys of an issuer",
    conditions: [{ type: "jwt", algorithms: ["RS256"], jwks_url: "https://issuer.example/jwks" }],
    problem: /^Cannot sign a JWT with RS256: the trigger knows the issuer's public keys/,
  },
  {
    name: "a variable that is not set",
    conditions: [{ type: "hmac", preset: "github", secrets: ["{env:NOT_SET}"] }],
    problem: /^No secret can be used: environment variable NOT_SET is not set$/,
  },
  {
    name: "a token in a body that has no fields",
    conditions: [{ ...header, in: "body", name: "token" }],
    body: "[1,",
    problem: /^Cannot put token into the body: it is neither a form nor an object of JSON$/,
  },
  {
    name: "a token in a field of a form's field",
    conditions: [{ ...header, in: "body", name: "/a/token" }],
    body: "a=1",
    contentType: "application/x-www-form-urlencoded",
    problem: /^Cannot put \/a\/token into the body: a form has no fields in fields$/,
  },
  {
    name: "a token beside the elements of a list",
    conditions: [{ ...header, in: "body", name: "token" }],
    body: "[1]",
    problem: /^Cannot put token into the body: it would be in a list$/,
  },
  {
    name: "a token far behind the elements of a list",
    conditions: [{ ...header, in: "body", name: "/a/4294967294" }],
    body: '{"a":[]}',
    problem: /^Cannot put 4294967294 into the body: it would be in a list$/,
  },
  {
    name: "a token in a list that there is not",
    conditions: [{ type: "static_token", preset: "microsoft_graph", secrets: ["state"] }],
    problem: /^Cannot put a token into the list \/value: the body has none$/,
  },
];

for (const { name, conditions, problem, ...parts } of impossible) {
  Deno.test(`signRequest explains: ${name}`, async () => {
    const { problems } = await signRequest(parse(conditions), unsigned(parts));
    assertEquals(problems.map(({ pointer }) => pointer), ["/0"]);
    assertMatch(problems[0]?.detail ?? "", problem);
  });
}

Deno.test("signRequest leaves a body alone that has no place for an id which is not sent", async () => {
  const conditions = parse([{ type: "hmac", preset: "slack", secrets: ["s"] }]);
  const { body } = await signRequest(conditions, unsigned({}));
  assertEquals(new TextDecoder().decode(body), '{"a":1}');
});

Deno.test("signRequest takes a key that is written as its seed and its public key", async () => {
  const { x = "", d = "" } = ed.privateKey.export({ format: "jwk" });
  const both = Buffer.concat([Buffer.from(d, "base64url"), Buffer.from(x, "base64url")]);
  const conditions = parse([{
    type: "signature",
    algorithm: "ed25519",
    header: "X-Sig",
    public_keys: [pem(ed)],
  }]);
  const privateKeys = [`whsk_${both.toString("base64")}`];
  const { headers, problems } = await signRequest(conditions, unsigned({ privateKeys }));
  assertEquals(problems, []);
  const expected = sign(null, Buffer.from('{"a":1}'), ed.privateKey);
  assertEquals(headers["x-sig"], expected.toString("base64"));
});

Deno.test("signRequest sends a username also where the condition takes any", async () => {
  const conditions = parse([{ type: "static_token", basic: {}, secrets: ["a:b"] }]);
  const { headers } = await signRequest(conditions, unsigned({}));
  assertEquals(headers.authorization, `Basic ${btoa("hooklaunch:a:b")}`);
});

Deno.test("signRequest leaves a prototype alone", async () => {
  const conditions = parse([{ ...header, in: "body", name: "/__proto__/polluted" }]);
  const { body } = await signRequest(conditions, unsigned({}));
  assertEquals(Object.hasOwn(Object.prototype, "polluted"), false);
  assertMatch(new TextDecoder().decode(body), /"__proto__":\{"polluted":"t0ken/);
});

Deno.test("each of several secrets signs, where there is room for several signatures", async () => {
  const preset = { type: "hmac", preset: "stripe" };
  const conditions = parse([{ ...preset, secrets: ["old", "new"] }]);
  const { headers, body } = await signRequest(conditions, unsigned({}));
  for (const secret of ["old", "new"]) {
    const refusal = await checkOnce(hmac, { ...preset, secrets: [secret] }, { headers, body });
    assertEquals(refusal, undefined, secret);
  }
});
