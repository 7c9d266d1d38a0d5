/** The conditions that the page of providers has for JWTs take what those providers send. */
import { assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import { parse } from "yaml";
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from "@panva/jose";
import { hash } from "node:crypto";
import { conditionSchema } from "../../src/conditions/mod.ts";
import { jwt } from "../../src/conditions/jwt.ts";
import type { JwtSettings } from "../../src/conditions/jwt/settings.ts";
import { context, NOW_MS, request } from "./fixture.ts";

const PAGE = new URL("../../src/docs/providers.md", import.meta.url);
const BODY = '{"id":"evt_1","text":"Grüße"}';
const OTHER_BODY = `${BODY} `;
const NOW_S = NOW_MS / 1000;
const SECRET = "a secret of 32 bytes, or of more";

const sha256 = (encoding: "hex" | "base64") => hash("sha256", BODY, encoding);

/** The header and the claims that each provider sends, without the claims of time. */
const sent: Record<string, { header?: string; prefix?: string; claims: JWTPayload }> = {
  "Google Pub/Sub": {
    claims: {
      iss: "https://accounts.google.com",
      aud: "AUDIENCE",
      email: "SERVICE_ACCOUNT",
      email_verified: true,
      exp: NOW_S + 3600,
    },
  },
  "Google Chat": {
    claims: { iss: "chat@system.gserviceaccount.com", aud: "PROJECT_NUMBER", exp: NOW_S + 3600 },
  },
  // The hash of the body alone, as in the example of its page.
  FusionAuth: {
    header: "X-FusionAuth-Signature-JWT",
    prefix: "",
    claims: { request_body_sha256: sha256("base64") },
  },
  LiveKit: {
    prefix: "",
    claims: { iss: "API_KEY", sha256: sha256("base64"), nbf: NOW_S, exp: NOW_S + 300 },
  },
  MessageBird: {
    header: "MessageBird-Signature-JWT",
    prefix: "",
    claims: {
      iss: "MessageBird",
      nbf: NOW_S - 1,
      exp: NOW_S + 60,
      jti: "f8ef5a0f-9b1c-4b3f-8d4b-3b3d3b3d3b3d",
      url_hash: hash("sha256", "https://hooks.example/"),
      payload_hash: sha256("hex"),
    },
  },
  monday: {
    prefix: "",
    claims: { accountId: 1, userId: 2, aud: "URL", exp: NOW_S + 300 },
  },
  // No time at all: its page shows the issuer and the hash of the body alone.
  Netlify: {
    header: "X-Webhook-Signature",
    prefix: "",
    claims: { iss: "netlify", sha256: sha256("hex") },
  },
  Plaid: {
    header: "Plaid-Verification",
    prefix: "",
    claims: { iat: NOW_S - 10, request_body_sha256: sha256("hex") },
  },
  Vonage: {
    claims: {
      iss: "Vonage",
      iat: NOW_S - 10,
      jti: "c5ba8f24-1a14-4c10-bfdf-3fbe8ce511b5",
      payload_hash: sha256("hex"),
      api_key: "a1b2c3d",
    },
  },
};

/** Tokens that the providers' libraries have made, or that their tests have. */
const made = [
  {
    name: "MessageBird",
    source: "messagebird/go-rest-api signature_jwt/testdata/reference.json",
    secret: "36efdd1aace2e26cd490f0d951138253bef2f7c6d34d18981da781555cc4cebb",
    token: "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJpc3MiOiJNZXNzYWdlQmlyZCIsIm5iZiI6MTYyNTQ3OTI" +
      "wMCwiZXhwIjoxNjI1NDc5MjYwLCJqdGkiOiI5M2U1NTAwNi1hMGU4LTQ1MjYtYTE5MC1mYTVmZjAwZWExMTYiLCJ" +
      "1cmxfaGFzaCI6IjQxZjA1ZjBkZGQwYTIyYWIyMDlhYzQ2ZjQ3YzQ1NzJkOWNlZmEyNTdlZDc0YjI0MDA0YmFlNzU" +
      "zZWNlNmMyNjAiLCJwYXlsb2FkX2hhc2giOiJkZmZkNjAyMWJiMmJkNWIwYWY2NzYyOTA4MDllYzNhNTMxOTFkZDg" +
      "xYzdmNzBhNGIyODY4OGEzNjIxODI5ODZmIn0._H--TOuYFLpeEH39-rg5E3IHVkjHozBcaKVWPRC5m9I",
    body: "Hello, World!",
    receivedAt_ms: 1_625_479_230_000,
  },
  {
    name: "LiveKit",
    source: "livekit-server-sdk 2.19.2, AccessToken, accepted by WebhookReceiver",
    secret: "livekit secret of thirty-two byte",
    token: "eyJhbGciOiJIUzI1NiJ9.eyJzaGEyNTYiOiJHeFd5eUs1M0JmT1NvMld0N0ZjTGp4d3h0Ly93NlU2T2g3L1Fn" +
      "UTA1T2djPSIsImlzcyI6IkFQSV9LRVkiLCJleHAiOjE3MDAwMDAzMDAsIm5iZiI6MTcwMDAwMDAwMH0.Q-C3eLrd" +
      "ApEItlgkKPvjtcnPruMKrBvCeMtxRrEY4eI",
    body: '{"event":"room_started","id":"EV_1","createdAt":"1700000000"}',
    receivedAt_ms: NOW_MS,
  },
];

/** Reads the table of the page: the name of the first provider of each row, and its condition. */
async function readTable(): Promise<[name: string, condition: string][]> {
  const page = await Deno.readTextFile(PAGE);
  return page.split("\n").flatMap((line): [string, string][] => {
    const [, name, condition] = /^\| \[([^\]]+)\].*`(\{ type: jwt.*\})` *\|$/.exec(line) ?? [];
    return name === undefined || condition === undefined ? [] : [[name, condition]];
  });
}

Deno.test("providers.md: each provider of a JWT has its steps", async () => {
  const page = await Deno.readTextFile(PAGE);
  const [, section = ""] = page.split("## Providers that send a JWT\n");
  const [table = ""] = section.split("\n## ");
  const rows = [...table.matchAll(/^\| \[([^\]]+)\]\([^)]*\)([^|]*)/gm)];
  const others = ["Eventarc", "Cloud Scheduler", "Cloud Tasks"];
  assertEquals(rows[0]?.[2]?.trim(), `, ${others.join(", ")}`);
  const [first = "", ...names] = rows.map(([, name = ""]) => name);
  const steps = [...table.matchAll(/^- \*\*([^*]+)\*\*: ((?:.+\n(?!- ))*.+)/gm)];
  assertEquals(steps.map(([, name]) => name), [first, ...others, ...names]);
  for (const [item] of steps) assertMatch(item, /\b(?:Open|Create|Name)\b[^]*\.$/);
});

Deno.test("providers.md: the conditions for JWTs take what their providers send", async (t) => {
  const table = await readTable();
  assertEquals(table.map(([name]) => name).sort(), Object.keys(sent).sort());
  for (const [name, text] of table) {
    await t.step(name, async () => {
      const { header = "Authorization", prefix = "Bearer ", claims } = sent[name] ?? { claims: {} };
      const { key, settings } = await withKey(text);
      const alg = settings.algorithms[0] ?? "";
      const send = async (own: JWTPayload, body: string) => {
        const token = await new SignJWT(own).setProtectedHeader({ alg, typ: "JWT" }).sign(key);
        const asked = request({ headers: { [header]: prefix + token }, body });
        const check = await jwt.prepare(settings, context({ env: environment }));
        return await check(asked);
      };
      assertEquals(await send(claims, BODY), undefined);
      if (settings.body_hash) {
        assertNotEquals(await send(claims, OTHER_BODY), undefined);
      }
      for (
        const other of ["iss", "aud", "email"].filter((claim) =>
          text.includes(String(claims[claim]))
        )
      ) {
        assertNotEquals(await send({ ...claims, [other]: "another" }, BODY), undefined, other);
      }
      const old = { ...claims, exp: NOW_S - 600, iat: NOW_S - 4_000 };
      assertNotEquals(await send(old, BODY), undefined);
    });
  }
});

Deno.test("providers.md: tokens of the providers' own libraries pass", async () => {
  const table = new Map(await readTable());
  for (const { name, source, secret, token, body, receivedAt_ms } of made) {
    const settings = parsed(parse(table.get(name) ?? ""));
    const { prefix = "Bearer ", header = "Authorization" } = sent[name] ?? {};
    const env = Object.fromEntries(VARIABLES.map((variable) => [variable, secret]));
    const send = async (body: string) => {
      const asked = request({ headers: { [header]: prefix + token }, body, receivedAt_ms });
      const check = await jwt.prepare(settings, context({ env }));
      return await check(asked);
    };
    assertEquals(await send(body), undefined, source);
    assertNotEquals(await send(`${body} `), undefined, source);
  }
});

const VARIABLES = [
  "FUSIONAUTH_KEY",
  "LIVEKIT_SECRET",
  "MESSAGEBIRD_KEY",
  "MONDAY_SECRET",
  "NETLIFY_SECRET",
  "VONAGE_SECRET",
];

/** Every variable is the one secret. */
const environment = Object.fromEntries(VARIABLES.map((name) => [name, SECRET]));

/** A condition of the page, and the key that signs: keys of the provider's own are replaced by the test's. */
async function withKey(text: string) {
  const written = parse(text.replace("[PLAID_JWK]", "[]"));
  const { jwks_url, public_keys, ...others } = Object(written);
  if (jwks_url === undefined && public_keys === undefined) {
    return { settings: parsed(written), key: new TextEncoder().encode(SECRET) };
  }
  // The page's own is well formed.
  if (jwks_url !== undefined) parsed(written);
  const { publicKey, privateKey } = await generateKeyPair(others.algorithms[0]);
  return {
    settings: parsed({ ...others, public_keys: [await exportJWK(publicKey)] }),
    key: privateKey,
  };
}

function parsed(written: unknown): JwtSettings {
  const condition = conditionSchema.parse(written);
  if (condition.type !== "jwt") throw new TypeError(`No jwt: ${condition.type}`);
  return condition;
}
