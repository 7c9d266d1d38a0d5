/**
 * Making a request that a trigger's conditions let pass, as its sender would: for trying a trigger
 * out. It is made from the same settings that verify.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import type { KeyObject } from "node:crypto";
import { importJWK, importPKCS8, SignJWT } from "@panva/jose";
import { messageOf, type Problem } from "../../platform/errors.ts";
import { writeBasic } from "../basic.ts";
import type { ConditionSettings } from "../condition.ts";
import { deduplication, type DeduplicationSettings, deliveryField } from "../deduplication.ts";
import { describeField, type Field, readField } from "../field.ts";
import { hmac, hmacScheme, hmacSecrets, type HmacSettings } from "../hmac.ts";
import { jwt, type JwtSettings } from "../jwt.ts";
import { isSymmetric } from "../jwt/public_key.ts";
import { refuseWithoutSecrets, resolveSecrets } from "../secret.ts";
import { signature, signatureScheme, type SignatureSettings } from "../signature.ts";
import { macMaker, type Maker, signatureMaker } from "./algorithms.ts";
import { CannotSignError, Draft } from "./draft.ts";
import { type KeySetting, readSigningKey } from "./keys.ts";
import { type Scheme, signatureFields, signedContents } from "./scheme.ts";
import { addSignatures, stamp } from "./sign.ts";
import { staticToken, type StaticTokenSettings, tokenPlace } from "../static_token.ts";
import { formatTimestamp, isTimestamp } from "../timestamp.ts";

const JWT_LIFETIME_S = 300;
const BASIC_USERNAME = "hooklaunch";

/** What is to be sent. */
export interface UnsignedRequest {
  method?: string;
  /** The public URL of the trigger. */
  url: string;
  /** With their `content-type`. */
  headers: Record<string, string>;
  body: Uint8Array;
  /** The time of sending, in milliseconds since the epoch. */
  now_ms: number;
  /** Reads an environment variable, for secrets written as `{env:NAME}`. */
  env(name: string): string | undefined;
  /** Private keys for conditions that know public keys alone: as PEM, JWK or the provider's form. */
  privateKeys?: readonly KeySetting[];
}

/** A request that is ready to be sent. */
export interface SignedRequest {
  url: string;
  headers: Record<string, string>;
  body: Uint8Array;
  /** What was done for each condition, without secrets: a pointer to it (`/0`) and one sentence. */
  notes: Problem[];
  /** What could not be done, likewise: the conditions that will refuse the request. */
  problems: Problem[];
}

/** Adds to a request what a trigger's conditions ask for. Secrets are in clear, or `{env:NAME}`. */
export async function signRequest(
  conditions: readonly ConditionSettings[],
  unsigned: UnsignedRequest,
): Promise<SignedRequest> {
  const { method = "POST", url, headers, body, now_ms } = unsigned;
  const draft = new Draft(method, url, body, headers, now_ms);
  const notes: Problem[] = [];
  const problems: Problem[] = [];
  const steps = conditions.flatMap((settings, index) =>
    stepsFor(settings, draft, unsigned, conditions).map((step) => ({ ...step, index }))
  );
  // What changes the body comes before what signs it.
  for (const { run, index } of steps.sort((a, b) => a.order - b.order)) {
    try {
      const detail = await run();
      if (detail !== undefined) notes.push({ pointer: `/${index}`, detail });
    } catch (error) {
      problems.push({ pointer: `/${index}`, detail: messageOf(error) });
    }
  }
  return {
    url: draft.url,
    headers: Object.fromEntries(draft.headers),
    body: draft.body,
    notes,
    problems,
  };
}

/** Something to do for a condition; the lower `order` first. Answers what was done. */
interface Step {
  order: number;
  run(): string | undefined | Promise<string>;
}

/** Before signatures, signatures inside the body, and signatures over it. */
const ORDER = { before: 0, inBody: 1, overBody: 2 };

function stepsFor(
  settings: ConditionSettings,
  draft: Draft,
  unsigned: UnsignedRequest,
  siblings: readonly ConditionSettings[],
): Step[] {
  const before = (run: Step["run"]): Step[] => [{ order: ORDER.before, run }];
  if (isTimestamp(settings)) {
    return before(() => {
      const text = formatTimestamp(draft.now_ms, settings.format);
      draft.put(settings, text);
      return `${describeField(settings)} is ${text}`;
    });
  }
  // The type of a condition says what its settings are.
  switch (settings.type) {
    case staticToken.type:
      return before(() => putToken(settings as StaticTokenSettings, draft, unsigned));
    case jwt.type:
      return before(() => putJwt(settings as JwtSettings, draft, unsigned));
    case hmac.type: {
      const own = settings as HmacSettings;
      return signingSteps(hmacScheme(own), () => macMakers(own, unsigned), draft, siblings);
    }
    case signature.type: {
      const scheme = signatureScheme(settings as SignatureSettings);
      return signingSteps(scheme, () => keyMakers(scheme, unsigned), draft, siblings);
    }
    case deduplication.type: {
      const field = deliveryField(settings as DeduplicationSettings, siblings);
      return before(() => field && putDeliveryId(field, draft));
    }
    default:
      return [];
  }
}

function signingSteps(
  scheme: Scheme,
  makers: () => Maker[],
  draft: Draft,
  siblings: readonly ConditionSettings[],
): Step[] {
  const places = signatureFields(scheme).map(describeField).join(", ");
  const [content = ""] = signedContents(scheme);
  return [
    {
      order: ORDER.before,
      run: () => {
        stamp(scheme, draft);
        return undefined;
      },
    },
    {
      order: scheme.body_field === undefined ? ORDER.overBody : ORDER.inBody,
      run: () => {
        addSignatures(scheme, makers(), draft, siblings.find(isTimestamp));
        return `${places}: ${scheme.algorithm} of ${content}`;
      },
    },
  ];
}

function macMakers(settings: HmacSettings, { env }: UnsignedRequest): Maker[] {
  const { algorithm } = hmacScheme(settings);
  const secrets = hmacSecrets(settings, env);
  const unusable = refuseWithoutSecrets(secrets);
  if (unusable) throw new CannotSignError(unusable.reason);
  return secrets.usable.map(({ bytes }) => macMaker(algorithm, bytes));
}

function keyMakers(scheme: Scheme, { privateKeys = [] }: UnsignedRequest): Maker[] {
  const reasons: string[] = [];
  const keys = privateKeys.flatMap((setting): KeyObject[] => {
    try {
      return [readSigningKey(setting, scheme)];
    } catch (error) {
      reasons.push(messageOf(error));
      return [];
    }
  });
  if (keys.length > 0) return keys.map((key) => signatureMaker(scheme, key));
  throw new CannotSignError(
    `Cannot sign with ${scheme.algorithm}: the trigger knows the public key, and signing takes the ` +
      `private one${reasons.length > 0 ? ` (${reasons.join("; ")})` : ""}`,
  );
}

function putToken(settings: StaticTokenSettings, draft: Draft, { env }: UnsignedRequest): string {
  const secrets = resolveSecrets(settings.secrets, env);
  const [secret] = secrets.usable;
  if (secret === undefined) {
    throw new CannotSignError(refuseWithoutSecrets(secrets)?.reason ?? "No secret can be used");
  }
  const place = tokenPlace(settings);
  // A header's characters stand for one byte each.
  const text = Buffer.from(secret.bytes).toString(place.in === "header" ? "latin1" : "utf8");
  if (settings.basic !== undefined) {
    const password = new TextDecoder().decode(secret.bytes);
    draft.put(place, writeBasic(settings.basic.username ?? BASIC_USERNAME, password));
    return `${describeField(place)} holds a username and the password`;
  }
  if (place.each !== undefined) draft.putEach(place.each, place.name, place.prefix + text);
  else draft.put(place, place.prefix + text);
  return `${describeField(place)} holds the token`;
}

/** An id that is in the body is the file's own. */
function putDeliveryId(field: Field, draft: Draft): string | undefined {
  if (field.in === "body" || typeof readField(draft.request(), field) !== "object") {
    return undefined;
  }
  const id = crypto.randomUUID();
  draft.put(field, id);
  return `${describeField(field)} is ${id}`;
}

async function putJwt(
  settings: JwtSettings,
  draft: Draft,
  unsigned: UnsignedRequest,
): Promise<string> {
  const { algorithms, prefix = "", issuer, audience, claims = {} } = settings;
  const [algorithm = "HS256"] = algorithms;
  const key = await jwtKey(settings, algorithm, unsigned);
  const payload = Object.entries(claims).map(([name, value]) => [name, value ?? "hooklaunch"]);
  const now_s = Math.floor(draft.now_ms / 1000);
  const token = new SignJWT(Object.fromEntries(payload))
    .setProtectedHeader({ alg: algorithm, typ: "JWT" })
    .setIssuedAt(now_s)
    .setExpirationTime(now_s + JWT_LIFETIME_S);
  const [firstIssuer] = [issuer].flat();
  const [firstAudience] = [audience].flat();
  if (firstIssuer !== undefined) token.setIssuer(firstIssuer);
  if (firstAudience !== undefined) token.setAudience(firstAudience);
  draft.put(settings, prefix + await token.sign(key));
  return `${describeField(settings)} holds a JWT signed with ${algorithm}`;
}

async function jwtKey(
  settings: JwtSettings,
  algorithm: string,
  { env, privateKeys = [] }: UnsignedRequest,
): Promise<Uint8Array | Awaited<ReturnType<typeof importJWK>>> {
  const [secret] = resolveSecrets(settings.secrets ?? [], env).usable;
  if (secret !== undefined) return secret.bytes;
  for (const key of privateKeys) {
    try {
      if (typeof key === "object") return await importJWK({ ...key }, algorithm);
      return await importPKCS8(key, algorithm);
    } catch {
      // Another key may be of the algorithm.
    }
  }
  throw new CannotSignError(
    isSymmetric(settings.algorithms[0] ?? "HS256")
      ? "No secret can be used"
      : `Cannot sign a JWT with ${algorithm}: the trigger knows the issuer's public keys, and signing takes a private one`,
  );
}
