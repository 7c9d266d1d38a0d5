/**
 * The condition `static_token`: a request carries a secret token, or a password by HTTP Basic.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { z } from "zod";
import type { Problem } from "../platform/errors.ts";
import { refuseField } from "../platform/schema/schema.ts";
import { readBasic, withoutPrefix, writeBasic } from "./authorization.ts";
import type { Check, HeadCheck, Refusal } from "./check.ts";
import type { CheckedKind, ConditionContext } from "./condition.ts";
import {
  bytesOf,
  type CredentialField,
  describeField,
  type Field,
  isInHead,
  readEach,
  readHeadField,
  readText,
} from "./field.ts";
import type { LaunchRequest } from "./request.ts";
import { describeMissing, isSecret, refuseWithoutSecrets, resolveSecrets } from "./secret.ts";
import {
  checkField,
  fieldInSchema,
  fieldNameSchema,
  secretsSchema,
  settingsObject,
} from "./settings.ts";
import {
  CannotSignError,
  type SigningContext,
  type SigningStep,
  STEP_ORDER,
} from "./signing/draft.ts";
import type { TokenPreset } from "./signing/preset.ts";
import { tokenPresets } from "./signing/presets/mod.ts";
import { presetSchema } from "./signing/settings.ts";

/** The API's description contains it, so it avoids `\p{Cc}`, which not every language knows. */
// deno-lint-ignore no-control-regex -- it excludes them
const USERNAME_FORM = /^[^:\x00-\x1f\x7f-\x9f]*$/;

/** The schema of a username, which has no colon (RFC 7617 section 2). */
const basicUsernameSchema = z.string().max(256).regex(USERNAME_FORM, {
  error: "Must not contain a colon or a control character",
}).describe("The username that must be given");

/** The username of a request that is made here, where the settings name none. */
const BASIC_USERNAME = "hooklaunch";

const fields = settingsObject({
  type: z.literal("static_token"),
  preset: presetSchema("static_token"),
  in: fieldInSchema.optional(),
  name: fieldNameSchema.optional(),
  each: z.string().max(256).regex(/^\//, { error: "Must be a JSON Pointer to a list in the body" })
    .optional().describe(
      "A list in the body of which every element must carry the token; 'name' is relative to it",
    ),
  prefix: z.string().max(256).optional().describe(
    "The text before the token, exactly; 'Basic ', 'Bearer ' and 'Token ' match in any case",
  ),
  basic: z.strictObject({ username: basicUsernameSchema.optional() }).optional().describe(
    "HTTP Basic (RFC 7617) in the header Authorization, instead of 'in' and 'name': the secret is " +
      "the password, and any username will do where none is named",
  ),
  redact: z.boolean().optional().describe(
    "With 'in: body': the body is stored without the token, so that the payload is not what came, and refused " +
      "requests of the trigger are not kept",
  ),
  secrets: secretsSchema,
});

/** The settings of a static token condition. */
export type StaticTokenSettings = z.infer<typeof fields>;

const schema = fields.superRefine(checkForm).overwrite((settings) =>
  settings.preset === undefined && settings.basic === undefined
    ? { ...settings, prefix: settings.prefix ?? "" }
    : settings
);

/** The place of a token. */
export interface TokenPlace extends CredentialField {
  prefix: string;
}

/** A token that the sender knows, in a header, a query parameter or the body. */
export const staticToken = {
  type: "static_token",
  stage: "authentication",
  schema,
  credentials: (settings: StaticTokenSettings): CredentialField[] => [tokenPlace(settings)],
  redacted: (settings: StaticTokenSettings): CredentialField[] =>
    settings.redact ? [tokenPlace(settings)] : [],
  warnings,
  preset: presetOf,
  deliveryId: (settings: StaticTokenSettings): Field | undefined => presetOf(settings)?.delivery_id,
  prepare,
  beforeBody,
  sign,
} satisfies CheckedKind<StaticTokenSettings>;

function presetOf({ preset }: StaticTokenSettings): TokenPreset | undefined {
  return preset === undefined ? undefined : tokenPresets[preset];
}

/** Returns the settings of HTTP Basic: a condition's own, or those of a preset whose place it does not replace. */
export function basicOf(settings: StaticTokenSettings): StaticTokenSettings["basic"] {
  if (settings.basic !== undefined) return settings.basic;
  const isReplaced = [settings.in, settings.name, settings.each, settings.prefix]
    .some((value) => value !== undefined);
  return isReplaced ? undefined : presetOf(settings)?.token.basic;
}

/** Returns the place in which a condition reads its token. */
export function tokenPlace(settings: StaticTokenSettings): TokenPlace {
  const row = presetOf(settings)?.token;
  const { in: place = row?.in ?? "header", name = row?.name ?? "Authorization" } = settings;
  return {
    in: place,
    name,
    prefix: settings.prefix ?? row?.prefix ?? "",
    each: settings.each ?? row?.each,
  };
}

function checkForm(settings: StaticTokenSettings, context: z.RefinementCtx): void {
  const refuse = (name: string, message: string) => refuseField(context, [name], message);
  if (settings.redact !== undefined && !isInBody(settings)) {
    refuse("redact", "Must only stand beside 'in: body'");
  }
  if (settings.basic !== undefined) {
    for (const name of ["in", "name", "each", "prefix"] as const) {
      if (settings[name] !== undefined) refuse(name, "Must not stand beside 'basic'");
    }
    const row = presetOf(settings);
    if (row !== undefined && row.token.basic === undefined) {
      refuse("preset", `Must not stand beside 'basic': ${row.title} sends a token`);
    }
    return;
  }
  if (settings.preset === undefined) {
    if (settings.in === undefined) refuse("in", 'Expected one of "header", "query", "body"');
    if (settings.name === undefined) refuse("name", "Expected the name of the field");
  }
  if (/^(basic|bearer|token)$/i.test(settings.prefix ?? "")) {
    refuse("prefix", `Expected a blank at its end: "${settings.prefix} "`);
  }
  const place = tokenPlace(settings);
  checkField(place, context);
  if (place.each !== undefined && place.in !== "body") {
    refuse("each", "Must only stand beside 'in: body'");
  }
}

function isInBody(settings: StaticTokenSettings): boolean {
  return settings.basic === undefined && tokenPlace(settings).in === "body";
}

function warnings(settings: StaticTokenSettings): Problem[] {
  if (settings.redact || !isInBody(settings)) return [];
  const detail =
    "The token is in the body: payloads, kept requests and backups hold it as it came. `redact: true` " +
    "stores the body without it";
  return [{ pointer: "", detail }];
}

function prepare(settings: StaticTokenSettings, context: ConditionContext): Check {
  const secrets = resolveSecrets(settings.secrets, context.env);
  const unusable = refuseWithoutSecrets(secrets);
  if (unusable) return () => unusable;
  const basic = basicOf(settings);
  const field = tokenPlace(settings);
  const place = describeField(field);
  const expected = describeToken(settings);
  const read = basic
    ? (request: LaunchRequest) => readBasic(request, basic.username)
    : (request: LaunchRequest) => {
      const { each, name } = field;
      const texts = each === undefined ? readText(request, field) : readEach(request, each, name);
      return tokensOf(texts, field);
    };
  return (request) => {
    const tokens = read(request);
    if (!Array.isArray(tokens)) return { expected, ...tokens };
    // All are compared, so that the time does not tell which one is wrong.
    const wrong = tokens.filter((bytes) => !isSecret(bytes, secrets));
    if (tokens.length > 0 && wrong.length === 0) return undefined;
    return { reason: `${place} holds a wrong token${describeMissing(secrets)}`, expected };
  };
}

function beforeBody(settings: StaticTokenSettings): HeadCheck | undefined {
  const field = tokenPlace(settings);
  if (!isInHead(field)) return undefined;
  const isBasic = basicOf(settings) !== undefined;
  const expected = describeToken(settings);
  return (head) => {
    const tokens = isBasic
      ? readBasic(head, undefined)
      : tokensOf(readHeadField(head, field), field);
    return Array.isArray(tokens) ? undefined : { expected, ...tokens };
  };
}

function describeToken(settings: StaticTokenSettings): string {
  if (basicOf(settings)) return "HTTP Basic with a username and password";
  const { prefix } = tokenPlace(settings);
  return prefix === "" ? "a token" : `${JSON.stringify(prefix)} and a token`;
}

/** The bytes of each token, without its prefix. */
function tokensOf(texts: string | string[] | Refusal, field: TokenPlace): Uint8Array[] | Refusal {
  if (typeof texts !== "string" && !Array.isArray(texts)) return texts;
  const tokens = [texts].flat().map((text) => withoutPrefix(text, field.prefix));
  if (tokens.includes(undefined)) {
    return { reason: `${describeField(field)} does not begin with the prefix` };
  }
  return tokens.filter((token) => token !== undefined).map((token) => bytesOf(field, token));
}

function sign(settings: StaticTokenSettings, context: SigningContext): SigningStep[] {
  const run = () => putToken(settings, context);
  return [{ order: STEP_ORDER.beforeSigning, run, reveals: true }];
}

function putToken(settings: StaticTokenSettings, { draft, env }: SigningContext): string {
  const secrets = resolveSecrets(settings.secrets, env);
  const [secret] = secrets.usable;
  if (secret === undefined) {
    throw new CannotSignError(refuseWithoutSecrets(secrets)?.reason ?? "No secret can be used");
  }
  const place = tokenPlace(settings);
  // Each character of a header stands for one byte.
  const text = Buffer.from(secret.bytes).toString(place.in === "header" ? "latin1" : "utf8");
  const basic = basicOf(settings);
  if (basic !== undefined) {
    const password = new TextDecoder().decode(secret.bytes);
    draft.put(place, writeBasic(basic.username ?? BASIC_USERNAME, password));
    return `${describeField(place)} holds a username and the password`;
  }
  if (place.each !== undefined) draft.putEach(place.each, place.name, place.prefix + text);
  else draft.put(place, place.prefix + text);
  return `${describeField(place)} holds the token`;
}
