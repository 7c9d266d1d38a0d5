/**
 * The diagnosis of the condition `jwt`.
 *
 * @module
 */
import { decodeJwt, decodeProtectedHeader, type JWTPayload } from "@panva/jose";
import { withoutPrefix } from "../authorization.ts";
import type { Refusal } from "../check.ts";
import { describeField, readText } from "../field.ts";
import type { JwtSettings } from "../jwt/settings.ts";
import {
  fits,
  isSymmetric,
  JWT_ALGORITHMS,
  type JwtAlgorithm,
  longestSecret,
  readJwk,
} from "../jwt/algorithms.ts";
import type { VerificationKey } from "../jwt/key_finder.ts";
import { verifyToken, WRONG_SIGNATURE } from "../jwt/verify.ts";
import { duration } from "./age.ts";
import { type DiagnosisContext, type KnownSecret, knownSecrets } from "./context.ts";
import { type Clue, likely, matching, possible } from "./finding.ts";
import {
  inSentence,
  missingSentence,
  prefixSetting,
  settingsOf,
  textsElsewhere,
} from "./places.ts";
import { differenceOf, readingsOf } from "./secret_readings.ts";

/** A JWT in compact form: its header is an object of JSON. */
const TOKEN = /(?<![\w.-])eyJ[\w-]*\.[\w-]*\.[\w-]*(?![\w.-])/;
/** A JWE in compact form has five parts. */
const ENCRYPTED = /(?<![\w.-])eyJ[\w-]*(?:\.[\w-]*){4}(?![\w.-])/;
const EXPIRED = "The token has expired";
/** Refusals of a token whose signature is right. */
const OF_CLAIM = /^The (?:token has expired$|token has no claim '|claim ')/;
const AS_TEXT = { algorithm: "sha256", key_encoding: "utf8", key_prefix: "" } as const;

/** A token in the request. */
interface FoundToken {
  token: string;
  /** The difference of its place or its prefix, as a sentence. */
  difference?: string;
}

/** A key, and how it differs from those that the condition accepts. */
interface Candidate {
  key: VerificationKey;
  difference?: string;
}

/** Diagnoses a JWT that is refused. */
export async function diagnoseJwt(
  settings: JwtSettings,
  context: DiagnosisContext,
): Promise<Clue[]> {
  const found = findToken(settings, context);
  if ("sentence" in found) return [found];
  const algorithm = algorithmOf(found.token);
  if (typeof algorithm !== "string") return [algorithm];
  const own = settings.algorithms.includes(algorithm)
    ? undefined
    : otherAlgorithm(algorithm, settings, context);
  const differences = [found.difference, own];
  for (const candidates of [ownKeys(settings, algorithm, context), otherKeys(algorithm, context)]) {
    const result = await verify(found.token, algorithm, await candidates, settings, context);
    if (result === undefined) continue;
    const { candidate, refusal } = result;
    const right = matching([...differences, candidate.difference]);
    const claim = refusal === undefined ? [] : [claimClue(refusal, found.token, settings, context)];
    return [...right.sentence === "" ? [] : [right], ...claim];
  }
  return unverified(found.token, { settings, algorithm, differences }, context);
}

/** Finds the token where it belongs, with another prefix, or elsewhere. */
function findToken(
  settings: JwtSettings,
  { request, refusal }: DiagnosisContext,
): FoundToken | Clue {
  const text = readText(request, settings);
  if (typeof text === "string") {
    const [token] = TOKEN.exec(text) ?? [];
    if (token === undefined) {
      return likely(
        ENCRYPTED.test(text)
          ? "The token is encrypted (a JWE): let the issuer sign it and not encrypt it."
          : `${
            describeField(settings)
          } holds no JWT, which has three parts with a dot between them: is it ` +
            "an opaque token of the issuer, or another credential?",
      );
    }
    const isOwn = withoutPrefix(text, settings.prefix ?? "") === token;
    return isOwn ? { token } : { token, difference: prefixDifference(text, token, settings) };
  }
  for (const { field, text } of textsElsewhere(request, settings)) {
    const [token] = TOKEN.exec(text) ?? [];
    if (token === undefined) continue;
    const change = settingsOf(field, { text, credential: token, prefix: settings.prefix ?? "" });
    const set = change === undefined ? "" : `set ${change}, or `;
    const difference = `The token is in ${inSentence(field)}, and the condition reads ` +
      `${inSentence(settings)}: ${set}let the sender change it.`;
    return { token, difference };
  }
  const advice = "does the sender fetch a token, and send it? A proxy may remove it.";
  return likely(
    refusal.reason.endsWith(" is missing")
      ? missingSentence(settings, request, advice)
      : `${refusal.reason}.`,
  );
}

function prefixDifference(text: string, token: string, { prefix = "" }: JwtSettings): string {
  const expected = prefix === "" ? "nothing" : `\`${prefix}\``;
  const setting = prefixSetting({ text, credential: token });
  if (setting === undefined) {
    return "Something follows the token, such as the same header once more: let the sender remove it.";
  }
  const found = text === token ? "nothing" : "another text";
  return `The condition expects ${expected} before the token, and there is ${found}: set ${setting}, or let the ` +
    "sender change it.";
}

function algorithmOf(token: string): JwtAlgorithm | Clue {
  let alg: unknown;
  try {
    ({ alg } = decodeProtectedHeader(token));
  } catch {
    return likely("The token is not a JWT: its header is not JSON in base64url.");
  }
  if (alg === "none") {
    return likely("The token is not signed (`alg: none`): let the issuer sign it.");
  }
  const known = JWT_ALGORITHMS.find((name) => name === alg);
  return known ?? likely("The token is signed with an algorithm that no condition can list.");
}

function otherAlgorithm(
  algorithm: JwtAlgorithm,
  { secrets }: JwtSettings,
  context: DiagnosisContext,
): string {
  const said = `The token is signed with ${algorithm}, which \`algorithms\` does not list`;
  if (isSymmetric(algorithm) !== (secrets !== undefined)) {
    return `${said}: let the issuer use one of those.`;
  }
  const bytes_min = longestSecret([algorithm])?.bytes ?? 0;
  const isLong = knownSecrets(secrets ?? [], context)
    .every(({ text }) => new TextEncoder().encode(text).length >= bytes_min);
  return isLong
    ? `${said}: add it, or let the issuer change it.`
    : `${said}: let the issuer use one of those. To add it takes a secret of ${bytes_min} bytes or more.`;
}

/** The keys of the condition for an algorithm, whatever key the token names. */
function ownKeys(
  { secrets = [], public_keys = [] }: JwtSettings,
  algorithm: JwtAlgorithm,
  context: DiagnosisContext,
): Candidate[] {
  if (isSymmetric(algorithm)) return readings(knownSecrets(secrets, context));
  return public_keys.map(readJwk).filter((key) => typeof key !== "string")
    .filter((key) => fits({ ...key, alg: algorithm }, algorithm))
    .map((key) => ({ key }));
}

async function otherKeys(
  algorithm: JwtAlgorithm,
  { otherSecrets }: DiagnosisContext,
): Promise<Candidate[]> {
  return isSymmetric(algorithm) ? readings(await otherSecrets()) : [];
}

function readings(secrets: readonly KnownSecret[]): Candidate[] {
  return secrets.flatMap((secret) => readingsOf(secret, AS_TEXT, false)).map((reading) => {
    const difference = differenceOf(reading, "Signed with");
    return { key: reading.bytes, ...(difference !== undefined && { difference }) };
  });
}

/** Finds the key that has signed a token; `refusal` says which of its claims does not hold. */
async function verify(
  token: string,
  algorithm: JwtAlgorithm,
  candidates: readonly Candidate[],
  settings: JwtSettings,
  { request, budget }: DiagnosisContext,
): Promise<{ candidate: Candidate; refusal: Refusal | undefined } | undefined> {
  for (const candidate of candidates) {
    if (budget.isSpent) return undefined;
    const refusal = await budget.spend(() =>
      verifyToken(
        token,
        candidate.key,
        { ...settings, algorithms: [algorithm] },
        request.receivedAt_ms,
      )
    );
    const isWrong = refusal === WRONG_SIGNATURE ||
      refusal?.reason.startsWith("The token cannot be verified");
    if (!isWrong) return { candidate, refusal };
  }
  return undefined;
}

/** Says which claim does not hold of a token whose signature is right. */
function claimClue(
  refusal: Refusal,
  token: string,
  { leeway, max_age }: JwtSettings,
  { request }: DiagnosisContext,
): Clue {
  const claims = decodeJwt(token);
  const now_ms = request.receivedAt_ms;
  const isExpired = claims.exp !== undefined && claims.exp <= now_ms / 1000 - leeway;
  if (refusal.reason === EXPIRED && !isExpired && claims.iat !== undefined) {
    const age = duration(now_ms - claims.iat * 1000);
    const allowed = duration((max_age ?? 0) * 1000);
    return likely(
      `Right signature, and the token was issued ${age} ago: let the sender fetch a new one in time, or look at ` +
        `the clock. ${allowed} are allowed (\`max_age\`).`,
    );
  }
  const time = timeSentence(refusal, claims, now_ms);
  if (time !== undefined) {
    return likely(`${time} ${duration(leeway * 1000)} are allowed (\`leeway\`).`);
  }
  const values = refusal.expected === undefined || refusal.found === undefined
    ? ""
    : `: expected ${refusal.expected}, found ${refusal.found}`;
  const hint = isNearly(refusal) ? " They differ by the slash at the end." : "";
  return likely(`Right signature. ${refusal.reason}${values}.${hint}`);
}

function timeSentence(
  { reason }: Refusal,
  { exp, nbf }: JWTPayload,
  now_ms: number,
): string | undefined {
  if (reason === EXPIRED && exp !== undefined) {
    const ago = duration(now_ms - exp * 1000);
    return `Right signature, and the token expired ${ago} ago: let the sender fetch a new one in time, or look at ` +
      "the clock.";
  }
  if (reason !== "The claim 'nbf' of the token does not hold" || nbf === undefined) {
    return undefined;
  }
  return `Right signature, and the token is valid only in ${
    duration(nbf * 1000 - now_ms)
  }: look at the clock.`;
}

/** The issuer of a token often has a slash at its end that the settings lack. */
function isNearly({ expected, found }: Refusal): boolean {
  return expected !== undefined && found !== undefined && expected !== found &&
    expected.replace(/\/?"$/, "") === found.replace(/\/?"$/, "");
}

interface UnverifiedToken {
  settings: JwtSettings;
  algorithm: JwtAlgorithm;
  differences: readonly (string | undefined)[];
}

/** Says what is known of a token that no key of ours verifies. */
function unverified(
  token: string,
  { settings, algorithm, differences }: UnverifiedToken,
  context: DiagnosisContext,
): Clue[] {
  const { refusal, budget } = context;
  // A key of the issuer's address has verified it.
  if (settings.jwks_url !== undefined && OF_CLAIM.test(refusal.reason)) {
    return [claimClue(refusal, token, settings, context)];
  }
  const clues = differences.filter((difference) => difference !== undefined).map(likely);
  const late = budget.isSpent
    ? [possible("Not all was tried: the time of the diagnosis was used up.")]
    : [];
  if (settings.secrets !== undefined) {
    const sentence = isSymmetric(algorithm)
      ? "The token is signed with another secret: no secret of the condition matches, as text or decoded. Copy " +
        "the secret again to both sides."
      : `The token is signed with a private key (${algorithm}), and the condition has secrets: set ` +
        `\`algorithms: [${algorithm}]\`, and \`public_keys\` or \`jwks_url\` in place of \`secrets\`.`;
    return [...clues, likely(sentence), ...late];
  }
  if (isSymmetric(algorithm)) {
    const sentence =
      `The token is signed with a secret (${algorithm}), and the condition has public keys: let the ` +
      "issuer sign with its private key.";
    return [...clues, likely(sentence), ...late];
  }
  const isSignature = refusal.reason.startsWith(WRONG_SIGNATURE.reason);
  const sentence = isSignature
    ? "The token is signed with another private key: is it of another issuer, or has the issuer changed its keys?"
    : `${refusal.reason}${refusal.found === undefined ? "" : `, found ${refusal.found}`}.`;
  return [...clues, likely(sentence), ...late];
}
