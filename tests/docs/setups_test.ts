/** What the pages tell to set up has no warning: the rows of all presets, the conditions for JWTs, and all examples. */
import { assert, assertEquals } from "@std/assert";
import { generateKeyPairSync } from "node:crypto";
import { parse } from "yaml";
import { needsSecret } from "../../src/conditions/handshake/settings.ts";
import type { Preset } from "../../src/conditions/signing/preset.ts";
import { presetsByType, sendsTokenInBody } from "../../src/conditions/signing/presets/mod.ts";
import { settingsOfForm } from "../../src/http/console/new_trigger.ts";
import { parseYaml } from "../../src/platform/yaml/parse.ts";
import { reviewSave, triggerWarnings } from "../../src/triggers/review.ts";
import { triggerSchema, type TriggerSettings } from "../../src/triggers/trigger.ts";
import { senders } from "../conditions/signing/senders.ts";
import { blocksOf, documents, documentText } from "./blocks.ts";

type Settings = Record<string, unknown>;

const SECRET = "0123456789abcdef".repeat(4);
const ACTION = { type: "run_execution", step: "train" };
const WORK = JSON.stringify({ project: "digits", action: ACTION });
/** A condition that proves the sender, for examples that show a part of a trigger. */
const PROOF = { type: "static_token", in: "header", name: "X-Token", secrets: [SECRET] };
const IDENTITIES: Record<string, string> = {
  sns: "arn:aws:sns:us-east-1:123456789012:topic",
  ses: "arn:aws:sns:us-east-1:123456789012:mail",
  paypal: "WH-2WR32451HC0233532-67976317FL4543714",
};

function warningsOf(written: Settings): string[] {
  const settings: TriggerSettings = triggerSchema.parse({
    name: "trigger",
    project: "digits",
    actions: [ACTION],
    ...written,
  });
  const env = () => SECRET;
  const saved = reviewSave(settings, undefined, { env, now_ms: 0 });
  const found = [...saved, ...triggerWarnings(settings, env)];
  return found.map(({ pointer, detail }) => `${pointer}: ${detail}`);
}

/** The condition that a row of the table stands for, with a key or a secret of its form. */
function conditionOf(type: string, name: string): Settings {
  const identity = IDENTITIES[name];
  if (type === "signature" && identity) return { type, preset: name, identity };
  const known = senders.find((sender) => sender.name === `${type} ${name}`);
  if (known) return { ...known.settings(0) };
  return { type, preset: name, secrets: [SECRET] };
}

/** The trigger that the row of a preset tells to make: with all that it says is needed. */
function setupOf(type: string, name: string, preset: Preset): Settings {
  const { needs: { refused, response } = {}, disablesEndpoints, handshakes } = preset;
  const hasId = "token" in preset
    ? "delivery_id" in preset
    : "scheme" in preset && Object(preset.scheme).delivery_id !== undefined;
  const kind = response?.content_type === "application/xml" ? "xml" : "text";
  return {
    conditions: [
      { ...conditionOf(type, name), ...(sendsTokenInBody(type, name) && { redact: true }) },
      ...hasId ? [{ type: "deduplication" }] : [],
      ...disablesEndpoints
        ? [
          { type: "payload_filter", expression: "body.type == 'a'" },
          { type: "rate_limit", quota: 10, period: 60 },
        ]
        : [],
    ],
    refused: { ...(disablesEndpoints && { filter: 200, rate_limit: 429 }), ...refused },
    ...(response && {
      response: { type: kind, text: response.text ?? "", status: response.status ?? 200 },
    }),
    ...(handshakes && needsSecret(name) && { handshakes: [{ preset: name, secret: SECRET }] }),
  };
}

const rows = Object.entries(presetsByType).flatMap(([type, presets]) =>
  Object.entries<Preset>(presets).map(([name, preset]) => ({ type, name, preset }))
);

Deno.test("no preset has a warning, set up as its row says", () => {
  assert(rows.length > 100, String(rows.length));
  const found = rows.flatMap(({ type, name, preset }) =>
    warningsOf(setupOf(type, name, preset)).map((warning) => `${type} ${name} ${warning}`)
  );
  assertEquals(found, []);
});

Deno.test("the console's form makes of each provider a trigger without warnings, but for what its page asks next", () => {
  const asked = new Set<string>();
  for (const { type, name, preset } of rows) {
    // It has one secret.
    if (type === "signature") continue;
    const form = new URLSearchParams({ name: "trigger", provider: `${type}/${name}`, work: WORK });
    const [condition, ...others] = Object(settingsOfForm(form)).conditions;
    const conditions = [{ ...condition, ...conditionOf(type, name) }, ...others];
    const found = warningsOf({ ...settingsOfForm(form), conditions });
    if (found.length === 0) continue;
    asked.add(name);
    assert(preset.needs !== undefined || needsSecret(name), found.join("\n"));
  }
  assertEquals([...asked].sort(), [
    "airtable",
    "google_cloud_monitoring",
    "linkedin",
    "salesforce",
    "twilio",
    "whatsapp",
    "x",
    "xero",
  ]);
});

Deno.test("no condition for JWTs has a warning", () => {
  const table = documentText("src/docs/providers.md").matchAll(/`(\{ type: jwt.*\})` *\|/g);
  const { publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const key = JSON.stringify(publicKey.export({ format: "jwk" }));
  const conditions = [...table].map(([, text = ""]) => parse(text.replace("PLAID_JWK", key)));
  assertEquals(conditions.length, 9);
  for (const condition of conditions) {
    // Without an end of the token, the page asks for deduplication.
    assertEquals(warningsOf({ conditions: [condition] }), [], JSON.stringify(condition));
  }
});

Deno.test("no trigger and no part of one on the pages and in the demos has a warning", () => {
  const demos = ["pipeline", "webhook"].map((name) => `src/demo/${name}/hooklaunch.yaml`);
  const texts = [
    ...documents().flatMap(blocksOf).filter(({ language, file }) =>
      language === "yaml" && !file?.endsWith(".yml")
    ),
    ...demos.map((path) => ({ at: path, text: documentText(path) })),
  ];
  let checked = 0;
  for (const { at, text } of texts) {
    for (const trigger of triggersIn(parseYaml(text, at).value)) {
      checked++;
      assertEquals(warningsOf(trigger), [], at);
    }
  }
  assert(checked > 30, String(checked));
});

/** Returns the triggers of a file. A part of one is completed. */
function triggersIn(value: unknown): Settings[] {
  if (Array.isArray(value)) return [];
  const { triggers, conditions, actions, response, refused } = Object(value);
  if (Array.isArray(triggers)) return triggers;
  const isPart = [conditions, actions, response, refused].some((part) => part !== undefined);
  return isPart ? [{ ...Object(value), conditions: [PROOF, ...conditions ?? []] }] : [];
}
