/**
 * The verifier of all signing schemes.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import type { Check, HeadCheck, Refusal, RunSerially } from "../check.ts";
import {
  bytesOf,
  describeField,
  type Field,
  isInHead,
  readBytes,
  readField,
  readHeadField,
  readText,
} from "../field.ts";
import type { LaunchRequest } from "../request.ts";
import { SIGNED_TOKEN, SIGNED_TOKEN_BYTES_MAX } from "../handshake/row.ts";
import { checkFreshness } from "../freshness.ts";
import type { Matcher } from "./algorithms.ts";
import { candidatesReader, describePlace, describeSignature } from "./candidates.ts";
import { type ContentFacts, contentOf, publicUrl } from "./content.ts";
import { takesFraction } from "./coverage.ts";
import { type Scheme, signatureFields, signedContents } from "./scheme.ts";
import { type EndOfId, endOfId, isPlain, parseTemplate } from "./template.ts";

const NO_BYTES = new Uint8Array();

/** Longer bodies are verified off the event loop, one request of a trigger at a time. */
const IMMEDIATE_BYTES_MAX = 256 * 1024;

const TOKEN: Refusal = {
  reason: "What is signed could be a token, which a handshake signs for anyone",
  expected: "more than one word",
};

/** The parts of a verifier beside its scheme. */
export interface VerifierParts {
  matcher: Matcher;
  /** The place of `{timestamp}` where the scheme names none: the field of a timestamp condition. */
  timeField?: Field | undefined;
  /** An addition to the reason of a wrong signature, such as a secret that is missing. */
  hint: string;
  /** A handshake of the trigger signs tokens for whoever sends them: a signature of one proves nothing. */
  refusesTokens?: boolean;
  /** Runs costly checks of the trigger one at a time. */
  runSerially: RunSerially;
}

/** The signatures of a request, and the contents that they may belong to. */
interface Signed {
  signatures: readonly Uint8Array[];
  contents: readonly Uint8Array[][];
  /** The refusal where no signature belongs to a content. */
  otherwise: Refusal;
}

/** Makes the check of a scheme. A refusal names the missing or wrong part, never a value that would pass. */
export function prepareVerifier(scheme: Scheme, parts: VerifierParts): Check {
  const { matcher, runSerially } = parts;
  const read = signedReader(scheme, parts);
  return (request) => {
    const signed = read(request);
    if ("reason" in signed) return signed;
    const { signatures, contents, otherwise } = signed;
    if (request.body.length > IMMEDIATE_BYTES_MAX) {
      return runSerially(request.remoteIp, async () => {
        for (const content of contents) {
          if (await matcher.matchesLong(content, signatures)) return undefined;
        }
        return otherwise;
      });
    }
    const isRight = contents.some((content) => matcher.matches(content, signatures));
    return isRight ? undefined : otherwise;
  };
}

/** Makes the check before the body: the signature is in its header and well formed. */
export function prepareHeadCheck(scheme: Scheme): HeadCheck | undefined {
  const fields = signatureFields(scheme);
  if (!fields.every(isInHead)) return undefined;
  const readCandidates = candidatesReader(scheme);
  const expected = describeSignature(scheme);
  return (head) => {
    const candidates = readCandidates(fields.map((field) => readHeadField(head, field)));
    return "reason" in candidates ? { ...candidates, expected } : undefined;
  };
}

function signedReader(
  scheme: Scheme,
  { timeField, hint, refusesTokens = false }: VerifierParts,
): (request: LaunchRequest) => Signed | Refusal {
  const templates = signedContents(scheme).map(parseTemplate);
  const signs = (kind: "timestamp" | "id") => templates.flat().some((part) => isPlain(part, kind));
  const timestampField = signs("timestamp") ? timeField : undefined;
  const idField = signs("id") ? scheme.id : undefined;
  const endsOfId = templates.map(endOfId).filter((end) => end !== undefined);
  const fields = signatureFields(scheme);
  const timed = { scheme, takesFraction: takesFraction(scheme) };
  const readCandidates = candidatesReader(scheme);
  const expected = describeSignature(scheme);
  const reason = `${describePlace(fields)} holds a wrong signature${hint}`;

  return (request) => {
    const candidates = readCandidates(fields.map((field) => readText(request, field)));
    if ("reason" in candidates) return { ...candidates, expected };
    const timestamp = readTime(timed, candidates.timestamp, request) ??
      (timestampField ? readBytes(request, timestampField) : NO_BYTES);
    if (!(timestamp instanceof Uint8Array)) return timestamp;
    const id = idField ? readBytes(request, idField) : NO_BYTES;
    if (!(id instanceof Uint8Array)) return id;
    const end = endsOfId.find((end) => end.isIn(id));
    if (end) return ambiguousId(scheme, end);
    const url = () => publicUrl(scheme, request);
    const { identity } = scheme;
    const facts: ContentFacts = { timestamp, id, url, identity, built: new Map() };
    const filled = templates.map((template) => contentOf(template, request, facts));
    const refusals = filled.filter((content) => "reason" in content);
    const contents = filled.filter((content) => Array.isArray(content));
    return {
      signatures: candidates.signatures,
      contents: refusesTokens ? contents.filter((content) => !isToken(content)) : contents,
      otherwise: refusals.at(-1) ??
        (refusesTokens && contents.some(isToken) ? TOKEN : { reason, expected }),
    };
  };
}

/** Tells whether a handshake could have signed a content. */
function isToken(content: readonly Uint8Array[]): boolean {
  const length = content.reduce((sum, piece) => sum + piece.length, 0);
  return length <= SIGNED_TOKEN_BYTES_MAX &&
    SIGNED_TOKEN.test(Buffer.concat(content).toString("latin1"));
}

/** Reads the scheme's own timestamp, which must be fresh; undefined when the scheme has none. */
function readTime(
  { scheme, takesFraction }: { scheme: Scheme; takesFraction: boolean },
  item: string | undefined,
  request: LaunchRequest,
): Uint8Array | Refusal | undefined {
  const { timestamp: source, tolerance } = scheme;
  if (source === undefined) return undefined;
  const { in: part, name, format } = source;
  const field: Field | undefined = part === "signature" ? undefined : { ...source, in: part };
  const value = field ? readField(request, field) : item ?? "";
  if (typeof value === "object") return value;
  const text = String(value);
  const place = field ? describeField(field) : `Field ${name} of the signature`;
  const refusal = checkFreshness(
    text,
    { format, tolerance, place, takesFraction },
    request.receivedAt_ms,
  );
  return refusal ?? bytesOf(field ?? { in: "header", name }, text);
}

/** Refuses an id that could end at two places: a signed body could be cut into a new id, time and body. */
function ambiguousId({ id = { in: "header", name: "" } }: Scheme, { what }: EndOfId): Refusal {
  return { reason: `${describeField(id)} is ambiguous: it holds ${what}` };
}
