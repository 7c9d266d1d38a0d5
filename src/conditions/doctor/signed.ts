/**
 * The diagnosis of a signature: it is verified once more by other schemes, with other keys, over other bodies and
 * URLs. Whatever is tried goes through the verifier that launches go through.
 *
 * @module
 */
import { whenPartsRead } from "../../platform/waiting/pending.ts";
import type { Field } from "../field.ts";
import { type LaunchRequest, launchRequest } from "../request.ts";
import type { Matcher } from "../signing/algorithms.ts";
import { publicUrl } from "../signing/content.ts";
import { type Scheme, signatureHeaders } from "../signing/scheme.ts";
import { prepareVerifier, type VerifierParts } from "../signing/verify.ts";
import { ageClue } from "./age.ts";
import { bodyVariants, isTooLongToRewrite, type Variant } from "./body_forms.ts";
import type { DiagnosisContext } from "./context.ts";
import { type Clue, matching, possible } from "./finding.ts";
import { repeatedSentence, repeatedValues } from "./places.ts";
import { unmatched } from "./unmatched.ts";
import { urlVariants } from "./url_forms.ts";
import {
  type KnownScheme,
  otherContents,
  otherPlaces,
  otherPresets,
  otherTimeFormats,
  sharesHeader,
  type Writing,
} from "./writings.ts";

/** Keys times bytes of one attempt, which holds up others. */
const HASHED_BYTES_MAX = 1024 * 1024;
const KEYS_MIN = 4;

/** A key that may have made a signature, and a sentence where it is not one that the condition accepts. */
export interface SigningKey {
  /** Matches what this key has signed by a scheme. */
  key: unknown;
  difference?: string;
}

/** The keys of a condition. */
export interface SigningKeys<Key extends SigningKey> {
  /** Those that the condition accepts, as it reads them. */
  own(scheme: Scheme): readonly Key[];
  /** Those and other readings of them. */
  all(scheme: Scheme): readonly Key[];
  /** Those of other conditions and triggers. */
  others(scheme: Scheme): Promise<readonly Key[]>;
  matcher(scheme: Scheme, keys: readonly Key[]): Matcher;
}

/** A condition that verifies a signature. */
interface SignedCondition<Key extends SigningKey> {
  scheme: Scheme;
  /** The name of the preset, where the settings name one. */
  preset: string | undefined;
  /** Tells whether the keys may sign by a scheme. */
  canSign(scheme: Scheme): boolean;
  keys: SigningKeys<Key>;
  /** A word for the keys: `secret` or `public key`. */
  keyWord: string;
}

/** A signature that was verified. */
interface Match {
  scheme: Scheme;
  request: LaunchRequest;
  matcher: Matcher;
  differences: (string | undefined)[];
}

/** Diagnoses a signature that a condition refuses. */
export async function diagnoseSigned<Key extends SigningKey>(
  condition: SignedCondition<Key>,
  context: DiagnosisContext,
): Promise<Clue[]> {
  const { request } = context;
  // The variants of the URL take the place of the setting.
  const called = publicUrl(condition.scheme, request);
  const scheme = { ...condition.scheme, url: undefined };
  const own = { ...condition, scheme };
  const sent = launchRequest({ ...request, url: called });
  const plausible = await plausiblePresets(own, sent, context);
  const match = await findMatch(own, { sent, plausible }, context);
  if (match !== undefined) return await clues(match, context);
  const more = context.budget.isSpent
    ? ["Not all was tried: the time of the diagnosis was used up."]
    : isTooLongToRewrite(request)
    ? ["The body is too long, or nested too deeply, for all of its other forms to be tried."]
    : [];
  const isCompared = await isReached(scheme, sent, context);
  return [...unmatched(own, { sent, plausible, isCompared }, context), ...more.map(possible)];
}

/** A match as findings: the differences, and the age of the request. */
async function clues(match: Match, context: DiagnosisContext): Promise<Clue[]> {
  const { scheme, request, matcher } = match;
  const found = match.differences.some((difference) => difference !== undefined)
    ? [matching(match.differences)]
    : [];
  const age = ageClue(scheme, request, context);
  if (age !== undefined) return [...found, age];
  if (found.length > 0) return found;
  // The signature is right, and the verifier refuses the request for another reason.
  const refusal = await prepareVerifier(scheme, parts(matcher, context.times))(request);
  return refusal === undefined ? [] : [possible(`${refusal.reason}.`)];
}

/** Finds the schemes of other providers whose signatures the request has, well formed. */
async function plausiblePresets<Key extends SigningKey>(
  { scheme }: SignedCondition<Key>,
  request: LaunchRequest,
  context: DiagnosisContext,
): Promise<KnownScheme[]> {
  const found: KnownScheme[] = [];
  for (const known of otherPresets(scheme)) {
    if (context.budget.isSpent) break;
    if (await isReached(known.scheme, request, context)) found.push(known);
  }
  return found;
}

/** Tells whether a request has all that a scheme reads, so that its signature is compared. */
async function isReached(
  scheme: Scheme,
  request: LaunchRequest,
  { budget, times }: DiagnosisContext,
): Promise<boolean> {
  let isReached = false;
  const reach = () => {
    isReached = true;
    return false;
  };
  const matcher = { matches: reach, matchesLong: () => Promise.resolve(reach()) };
  await budget.spend(() => verifies(scheme, request, matcher, times));
  return isReached;
}

/** Verifies a signature of any age. */
async function verifies(
  scheme: Scheme,
  request: LaunchRequest,
  matcher: Matcher,
  times: readonly Field[],
): Promise<boolean> {
  const check = prepareVerifier({ ...scheme, tolerance: Infinity }, parts(matcher, times));
  // Each variant has a body of its own to read: another attempt at all would never end.
  return await whenPartsRead(() => check(request)) === undefined;
}

function parts(matcher: Matcher, times: readonly Field[]): VerifierParts {
  return {
    matcher,
    timeField: times[0],
    hint: "",
    runSerially: (_address, check) => check(),
  };
}

interface Requests {
  /** The request under the URL that the condition expects. */
  sent: LaunchRequest;
  plausible: readonly KnownScheme[];
}

/** Tries what a sender may have done, the likeliest first, until something matches or the time is used up. */
async function findMatch<Key extends SigningKey>(
  condition: SignedCondition<Key>,
  requests: Requests,
  context: DiagnosisContext,
): Promise<Match | undefined> {
  const { keys } = condition;
  for await (const { writing, variant, which } of attempts(condition, requests, context)) {
    const { scheme } = writing;
    for (const batch of batches(await which(scheme), variant.request)) {
      if (context.budget.isSpent) return undefined;
      const matches = (some: readonly Key[]) =>
        context.budget.spend(() =>
          verifies(scheme, variant.request, keys.matcher(scheme, some), context.times)
        );
      if (!await matches(batch)) continue;
      // It is found among those of the batch even where the time is used up.
      for (const key of batch) {
        if (!await matches([key])) continue;
        const differences = [writing.difference, variant.difference, key.difference];
        const matcher = keys.matcher(scheme, [key]);
        return { scheme, request: variant.request, matcher, differences };
      }
    }
  }
  return undefined;
}

function batches<Key>(keys: readonly Key[], { body }: LaunchRequest): Key[][] {
  const size = Math.max(KEYS_MIN, Math.floor(HASHED_BYTES_MAX / Math.max(body.length, 1_024 * 16)));
  return Array.from(
    { length: Math.ceil(keys.length / size) },
    (_, index) => keys.slice(index * size, (index + 1) * size),
  );
}

/** One thing to try. */
interface Attempt<Key> {
  writing: Writing;
  variant: Variant;
  which(scheme: Scheme): readonly Key[] | Promise<readonly Key[]>;
}

async function* attempts<Key extends SigningKey>(
  { scheme, keys, canSign, preset }: SignedCondition<Key>,
  { sent, plausible }: Requests,
  { budget, times, calledUrl }: DiagnosisContext,
): AsyncGenerator<Attempt<Key>> {
  const own: Writing = { scheme };
  const asSent: Variant = { request: sent };
  const { own: ownKeys, all, others } = keys;
  const schemes = otherPresets(scheme).map((known) => known.scheme).filter(canSign);
  const providers = plausible.filter((known) => canSign(known.scheme));
  // A scheme of the owner's own is no provider's for a header that many have, such as X-Signature.
  const isOwn = (known: KnownScheme) => preset === undefined && sharesHeader(known.scheme, scheme);
  const writings = [
    ...otherTimeFormats(scheme),
    ...providers.filter((known) => !isOwn(known)).map(asWriting),
    ...otherPlaces(scheme, sent),
    ...otherContents(scheme, sent, { schemes, times }),
    ...providers.filter(isOwn).map(asWriting),
  ];
  const once = onceVariants(sent, scheme);
  const variants = function* () {
    yield* bodyVariants(sent);
    yield* urlVariants(sent, calledUrl, scheme);
  };
  yield { writing: own, variant: asSent, which: ownKeys };
  yield { writing: own, variant: asSent, which: all };
  for (const variant of once) yield { writing: own, variant, which: ownKeys };
  for (const writing of writings) yield { writing, variant: asSent, which: ownKeys };
  yield { writing: own, variant: asSent, which: others };
  for await (const variant of spent(variants(), budget)) {
    yield { writing: own, variant, which: ownKeys };
  }
  for (const writing of writings) yield { writing, variant: asSent, which: all };
  for (const writing of writings) yield { writing, variant: asSent, which: others };
  for await (const variant of spent(variants(), budget)) {
    yield { writing: own, variant, which: all };
  }
  for (const writing of writings) {
    for await (const variant of spent(variants(), budget)) {
      yield { writing, variant, which: ownKeys };
    }
  }
}

/** Lists the request with one value of a header of signatures that comes more than once. */
function onceVariants(request: LaunchRequest, scheme: Scheme): Variant[] {
  return signatureHeaders(scheme).flatMap((name) =>
    repeatedValues(request.headers, name).map((value) => {
      const headers = new Headers(request.headers);
      headers.set(name, value);
      const difference = repeatedSentence(name);
      return { request: launchRequest({ ...request, headers }), difference };
    })
  );
}

function asWriting({ scheme, titles, preset, type }: KnownScheme): Writing {
  const keys = type === "hmac" ? "secrets" : "public_keys";
  const difference =
    `This is the scheme of ${titles}: set \`preset: ${preset}\`, and nothing beside it but \`${keys}\`.`;
  return { scheme, difference };
}

/** Makes the elements of a generator within the time of the diagnosis, and leaves out those that are undefined. */
async function* spent<T>(
  elements: Iterator<T | undefined>,
  budget: DiagnosisContext["budget"],
): AsyncGenerator<T> {
  while (!budget.isSpent) {
    const { done, value } = await budget.spend(() => elements.next());
    if (done) return;
    if (value !== undefined) yield value;
  }
}
