/** Every row is held against a request that nothing of `src` has made. */
import { assert, assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import { Buffer } from "node:buffer";
import { generateKeyPairSync } from "node:crypto";
import { hmac } from "../../../src/conditions/hmac.ts";
import { signature } from "../../../src/conditions/signature.ts";
import type { Preset } from "../../../src/conditions/signing/preset.ts";
import { presetGroups } from "../../../src/conditions/signing/presets/groups.ts";
import {
  hmacPresets,
  signaturePresets,
  tokenPresets,
} from "../../../src/conditions/signing/presets/mod.ts";
import { staticToken } from "../../../src/conditions/static_token.ts";
import { rsaPairs } from "../../rsa_keys.ts";
import { checkOnce, NOW_MS } from "../fixture.ts";
import { keyRecipes } from "./key_recipes.ts";
import { mac, macRecipes } from "./recipes.ts";
import { tokenRecipes } from "./token_recipes.ts";
import { signatureVectors } from "./key_vectors.ts";
import { macVectors } from "./vectors.ts";

const SECRET = "a shared secret of ours";
const BODY = '{"id":"evt_1","text":"Grüße"}';
const JSON_TYPE = { "content-type": "application/json" };

/** Presets whose vectors need a certificate: paypal_test.ts and sns_test.ts. */
const BY_CERTIFICATE = ["signature/paypal", "signature/ses", "signature/sns"];
/** Presets whose provider's library runs in libraries_test.ts. */
const BY_LIBRARY = ["hmac/stripe", "hmac/linear", "signature/discord"];

for (const [preset, recipe] of Object.entries(macRecipes)) {
  Deno.test(`preset ${preset}: a request as its provider documents it passes`, async () => {
    const { secret = SECRET, body = BODY, changed = body.replace(/[a-z](?=[^a-z]*$)/, "_") } =
      recipe;
    const parts = recipe.send(body, secret);
    const headers = { ...JSON_TYPE, ...Object.fromEntries(new Headers(parts.headers)) };
    const settings = { preset, secrets: [secret], ...recipe.settings };
    const check = (other: object, own: Record<string, unknown> = settings) =>
      checkOnce(hmac, own, { ...parts, headers, body, ...other });
    assertEquals(await check({}), undefined);
    assertNotEquals(await check({ body: changed }), undefined);
    const wrong = {
      ...settings,
      secrets: [secret.replace(/[a-z0-9]/i, (one) => one === "4" ? "5" : "4")],
    };
    assertNotEquals(await check({}, wrong), undefined);
  });
}

Deno.test("preset persona: while its secret is changed, the old one passes and so does the new one", async () => {
  const [old, changed] = [SECRET, `${SECRET}2`];
  const time = NOW_MS / 1000;
  const set = (secret: string, at = time, content = `${at}.${BODY}`) =>
    `t=${at},v1=${mac("sha256", secret, content, "hex")}`;
  const check = (header: string, secret: string) =>
    checkOnce(hmac, { preset: "persona", secrets: [secret] }, {
      headers: { ...JSON_TYPE, "persona-signature": header },
      body: BODY,
      receivedAt_ms: NOW_MS,
    });
  const both = `${set(old)} ${set(changed)}`;
  for (const secret of [old, changed]) assertEquals(await check(both, secret), undefined);
  assertNotEquals(await check(both, `${SECRET}3`), undefined);
  // A signed time that is old, and a fresh one that is not signed.
  const replayed = `${set(old, time - 3600)} ${set("x")}`;
  assertNotEquals(await check(replayed, old), undefined);
});

for (const [preset, { algorithm, shown, send }] of Object.entries(keyRecipes)) {
  Deno.test(`preset ${preset}: a signature as its provider documents it passes`, async () => {
    const [own, other] = algorithm === "rsa"
      ? rsaPairs
      : [generateKeyPairSync("ed25519"), generateKeyPairSync("ed25519")];
    const keys = (pair: typeof own) => [
      shown(Buffer.from(pair.publicKey.export({ format: "der", type: "spki" }))),
    ];
    const parts = {
      headers: { ...JSON_TYPE, ...send(BODY, own.privateKey) },
      body: BODY,
      receivedAt_ms: NOW_MS,
    };
    const check = (public_keys: string[], changes = {}) =>
      checkOnce(signature, { preset, public_keys }, { ...parts, ...changes });
    assertEquals(await check(keys(own)), undefined);
    assertNotEquals(await check(keys(own), { body: `${BODY} ` }), undefined);
    assertNotEquals(await check(keys(other)), undefined);
  });
}

for (const [preset, send] of Object.entries(tokenRecipes)) {
  Deno.test(`preset ${preset}: a token as its provider sends it passes`, async () => {
    const settings = { preset, secrets: ["the-t0ken-of-ours"] };
    const check = (secret: string) => checkOnce(staticToken, settings, send(secret));
    assertEquals(await check("the-t0ken-of-ours"), undefined);
    for (const wrong of ["the-t0ken-of-our", "the-t0ken-of-ours2", ""]) {
      assertNotEquals(await check(wrong), undefined, wrong);
    }
  });
}

Deno.test("presets: each has a vector, or says that none is published and has a recipe", () => {
  const found = new Map<string, string[]>();
  const note = (names: readonly string[], kind: string) =>
    names.forEach((name) => found.set(name, [...found.get(name) ?? [], kind]));
  note(macVectors.map(({ preset }) => `hmac/${preset}`), "vector");
  note(signatureVectors.map(({ preset }) => `signature/${preset}`), "vector");
  note(BY_LIBRARY, "vector");
  note(Object.keys(macRecipes).map((name) => `hmac/${name}`), "recipe");
  note(Object.keys(keyRecipes).map((name) => `signature/${name}`), "recipe");
  note(BY_CERTIFICATE, "vector");
  const rows = [
    ...Object.entries(hmacPresets).map(([name, row]) => [`hmac/${name}`, row] as const),
    ...Object.entries(signaturePresets).map(([name, row]) => [`signature/${name}`, row] as const),
  ];
  for (const [name, { vector }] of rows) {
    const expected = typeof vector === "object" ? "recipe" : "vector";
    assert(found.get(name)?.includes(expected), `${name}: ${JSON.stringify(vector)}`);
    if (typeof vector === "object") {
      assert(!found.get(name)?.includes("vector"), `${name} has a vector`);
      assertMatch(vector.none, /^its page/, name);
    }
  }
  assertEquals(Object.keys(tokenPresets).sort(), Object.keys(tokenRecipes).sort());
});

Deno.test("presets: a name stands in one kind, and no provider comes twice", () => {
  for (const type of ["hmac", "signature", "static_token"] as const) {
    const rows = presetGroups.flatMap((group) => Object.entries<Preset>(group[type] ?? {}));
    const names = rows.map(([name]) => name);
    assertEquals(names.length, new Set(names).size);
    const titles = rows.map(([, { title }]) => title);
    assertEquals(titles.length, new Set(titles).size);
  }
});
