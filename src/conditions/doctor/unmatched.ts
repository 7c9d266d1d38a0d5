/**
 * The findings about a signature that nothing matches: what the request shows.
 *
 * @module
 */
import { isInHead, readHeadField, readText } from "../field.ts";
import type { LaunchRequest } from "../request.ts";
import { candidatesReader, describePlace, describeSignature } from "../signing/candidates.ts";
import { presetsByType } from "../signing/presets/mod.ts";
import { type Scheme, signatureFields, signatureHeaders } from "../signing/scheme.ts";
import type { DiagnosisContext } from "./context.ts";
import { type Clue, likely, possible } from "./finding.ts";
import { nearHeader } from "./header_names.ts";
import { type KnownScheme, sharesHeader } from "./writings.ts";

/** The facts about a condition that its findings name. */
interface Condition {
  scheme: Scheme;
  preset: string | undefined;
  keyWord: string;
}

/** The facts about a request that nothing matched. */
interface Request {
  sent: LaunchRequest;
  /** The schemes of other providers whose signatures the request has, well formed. */
  plausible: readonly KnownScheme[];
  /** The signature was compared: no other part that is signed is missing. */
  isCompared: boolean;
}

/** Says what a request shows whose signature could not be verified in any way. */
export function unmatched(
  condition: Condition,
  { sent, plausible, isCompared }: Request,
  context: DiagnosisContext,
): Clue[] {
  const { scheme } = condition;
  const fields = signatureFields(scheme);
  const read = candidatesReader(scheme)(fields.map((field) => readText(sent, field)));
  if (!("reason" in read)) {
    // A header that many have, such as X-Signature, is no sign of another provider.
    const others = plausible.filter((known) =>
      condition.preset !== undefined || !sharesHeader(known.scheme, scheme)
    ).map(otherProvider);
    const { reason } = context.refusal;
    // The signature is there, and another signed part is missing or wrong.
    const isOther = !reason.includes(" holds a wrong signature");
    if (!isOther) return [wrongKey(condition), ...others];
    // Of one that names a certificate, no key of the owner's can be wrong.
    const key = isCompared && scheme.certificate === undefined ? [wrongKey(condition)] : [];
    return [likely(`${reason}${nearName(reason, sent)}`), ...key, ...others];
  }
  const others = plausible.map(otherProvider);
  const isMissing = fields.every((field) =>
    isInHead(field)
      ? typeof readHeadField(sent, field) === "object"
      : typeof readText(sent, field) === "object"
  );
  if (!isMissing) {
    const found = read.found === undefined ? "" : `, found ${read.found}`;
    const sentence = `${read.reason}: expected ${describeSignature(scheme)}${found}. Is it the ` +
      "signature of another provider, or in another encoding?";
    return [...others, likely(sentence)];
  }
  return [...others, ...withTokens(sent), missing(scheme, sent, others.length > 0)];
}

/** Names the header that is nearest to the one that is missing. */
function nearName(reason: string, { headers }: LaunchRequest): string {
  const name = /^Header (\S+) is missing$/.exec(reason)?.[1];
  const near = name === undefined ? undefined : nearHeader(headers, name);
  return near === undefined ? "." : `, and the request has ${near}: is the name misspelled?`;
}

function wrongKey({ scheme, preset, keyWord }: Condition): Clue {
  const title = titleOf(preset);
  if (scheme.certificate !== undefined) {
    return likely(
      `This is ${title}'s scheme, and the key of ${title}'s certificate does not match: compare \`identity\` with ` +
        `what ${title} shows. If it is the right one, the body was changed on its way.`,
    );
  }
  const what = title === undefined ? "The signature is well formed" : `This is ${title}'s scheme`;
  const where = title === undefined ? "" : ` Copy the ${keyWord} of this endpoint from ${title}.`;
  const also = scheme.field === undefined ? "" : ", or the sender signs other content";
  return likely(
    `${what}, and the ${keyWord} is another endpoint's: no ${keyWord} of the condition matches.${where} ` +
      `If it is the right one, the body was changed on its way${also}.`,
  );
}

function otherProvider({ scheme, titles, type, preset }: KnownScheme): Clue {
  const key = scheme.certificate !== undefined
    ? "its `identity`"
    : `the ${type === "hmac" ? "secret" : "public key"} of that provider`;
  return likely(
    `The request is signed as by ${titles}, and not as the condition expects: use the condition ` +
      `\`${type}\` with \`preset: ${preset}\` and ${key}.`,
  );
}

/** Finds tokens of providers that sign nothing. */
function withTokens({ headers }: LaunchRequest): Clue[] {
  return Object.entries(presetsByType.static_token).flatMap(([preset, { title, token }]) => {
    if (token.in !== "header" || token.name === "Authorization") return [];
    if (!headers.has(token.name)) return [];
    return [likely(
      `The request is not signed, and has the token of ${title} in header ${token.name}: use the ` +
        `condition \`static_token\` with \`preset: ${preset}\`.`,
    )];
  });
}

function missing(scheme: Scheme, { headers }: LaunchRequest, isOtherFound: boolean): Clue {
  const place = describePlace(signatureFields(scheme));
  for (const name of signatureHeaders(scheme)) {
    const near = nearHeader(headers, name);
    if (near === undefined) continue;
    return likely(
      `Header ${name} is missing, and the request has ${near}: is the name misspelled, or of another ` +
        "version of the provider?",
    );
  }
  const underscore = signatureHeaders(scheme).some((name) => name.includes("_"))
    ? " nginx drops headers with `_` in their names."
    : "";
  const sentence = `${place} is missing: the sender signs nothing, or a proxy removes it. Is the ` +
    `secret set at the provider?${underscore}`;
  return isOtherFound ? possible(sentence) : likely(sentence);
}

function titleOf(preset: string | undefined): string | undefined {
  if (preset === undefined) return undefined;
  return presetsByType.hmac[preset]?.title ?? presetsByType.signature[preset]?.title;
}
