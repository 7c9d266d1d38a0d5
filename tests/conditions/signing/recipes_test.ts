/** Every row is held against a request that nothing of `src` has made. */
import { assert, assertEquals, assertNotEquals } from "@std/assert";
import { Buffer } from "node:buffer";
import { generateKeyPairSync, sign } from "node:crypto";
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
import { checkOnce } from "../fixture.ts";
import { macRecipes, tokenRecipes } from "./recipes.ts";
import { vectors } from "./vectors.ts";

const SECRET = "a shared secret of ours";
const BODY = '{"id":"evt_1","text":"Grüße"}';
const JSON_TYPE = { "content-type": "application/json" };

/** The wise scheme takes a key of RSA, whose test stands below. */
const WITH_KEYS = ["wise"];

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

Deno.test("preset wise: a signature as its provider documents it passes", async () => {
  const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const settings = {
    preset: "wise",
    public_keys: [publicKey.export({ format: "pem", type: "spki" })],
  };
  const value = sign("sha256", Buffer.from(BODY), privateKey).toString("base64");
  const headers = { ...JSON_TYPE, "X-Signature-SHA256": value };
  assertEquals(await checkOnce(signature, settings, { headers, body: BODY }), undefined);
  assertNotEquals(await checkOnce(signature, settings, { headers, body: `${BODY} ` }), undefined);
});

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
  const published = new Set(vectors.map(({ preset }) => preset));
  const rows: [string, Preset][] = [
    ...Object.entries<Preset>(hmacPresets),
    ...Object.entries<Preset>(signaturePresets),
  ];
  for (const [name, { vector }] of rows) {
    if (vector === undefined) continue;
    const isPublished = vector !== "none published";
    assertEquals(published.has(name), isPublished, name);
    if (!isPublished) assert(name in macRecipes || WITH_KEYS.includes(name), name);
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
