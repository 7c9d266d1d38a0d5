/**
 * The places of a request in which a sender may have put a credential.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { childOf } from "../../platform/schema/pointer.ts";
import { decode } from "../signing/encoding.ts";
import { describeField, type Field, isSameField } from "../field.ts";
import type { LaunchRequest } from "../request.ts";
import { nearHeader } from "./header_names.ts";

const VALUES_MAX = 500;
const DEPTH_MAX = 4;
/** A longer text is no credential. */
const CHARACTERS_MAX = 16 * 1024;
/** More values of one header are not tried. */
const REPEATED_MAX = 8;
const SCHEME = /^([A-Za-z][\w-]{0,31})[ =:]+(.+)$/s;
const BASIC = /^basic +(\S+)$/i;
/** Prefixes that are shown; another one may be anything. */
const SHOWN_PREFIX = /^(?:(?:Basic|Bearer|JWT|Token|ApiKey|Api-Key|Key|Secret)[ =:]+)?$/i;

/** A text in a request. */
interface PlacedText {
  field: Field;
  text: string;
}

/** Lists the texts of a request outside of one field: headers, query, and the fields of the body. */
export function* textsElsewhere(request: LaunchRequest, own: Field): Generator<PlacedText> {
  let count = 0;
  for (const { field, text } of texts(request)) {
    if (isSameField(field, own) || text.length > CHARACTERS_MAX) continue;
    if (++count > VALUES_MAX) return;
    yield { field, text };
  }
}

function* texts(request: LaunchRequest): Generator<PlacedText> {
  for (const [name, text] of request.headers) yield { field: { in: "header", name }, text };
  for (const [name, text] of request.query) yield { field: { in: "query", name }, text };
  const body = request.parsedBody();
  if (body.kind === "form") {
    for (const [name, [text = ""]] of body.fields) yield { field: { in: "body", name }, text };
  } else if (body.kind === "multipart") {
    for (const [name, [text]] of body.fields) {
      if (typeof text === "string") yield { field: { in: "body", name }, text };
    }
  } else if (body.kind === "json") yield* textsOfJson(body.value, "", 0);
}

function* textsOfJson(value: unknown, pointer: string, depth: number): Generator<PlacedText> {
  if (typeof value === "string" && pointer !== "") {
    yield { field: { in: "body", name: pointer }, text: value };
  }
  if (typeof value !== "object" || value === null || depth >= DEPTH_MAX) return;
  for (const key of Object.keys(value)) {
    const escaped = key.replaceAll("~", "~0").replaceAll("/", "~1");
    yield* textsOfJson(childOf(value, key), `${pointer}/${escaped}`, depth + 1);
  }
}

/** Returns a text and what may be the credential in it: without quotes, without a scheme before it. */
export function credentialsIn(text: string): string[] {
  const trimmed = text.trim();
  const rest = SCHEME.exec(trimmed)?.[2];
  const unquoted = /^(["'])(.+)\1$/s.exec(trimmed)?.[2];
  return [...new Set([text, trimmed, rest, unquoted])].filter((one) => one !== undefined);
}

/** Reads the username and the password of HTTP Basic, in either alphabet of base64, or as they are. */
export function basicCredentials(text: string): { username: string; password: string } | undefined {
  const encoded = BASIC.exec(text.trim())?.[1];
  if (encoded === undefined) return undefined;
  const bytes = decode(encoded, "base64") ?? decode(encoded, "base64url");
  const credentials = bytes === undefined ? encoded : Buffer.from(bytes).toString("utf8");
  const colon = credentials.indexOf(":");
  if (colon === -1) return { username: credentials, password: "" };
  return { username: credentials.slice(0, colon), password: credentials.slice(colon + 1) };
}

/** Returns the values of a header that comes more than once; none where it comes once. */
export function repeatedValues(headers: Headers, name: string): string[] {
  const values = (headers.get(name) ?? "").split(", ", REPEATED_MAX);
  return values.length > 1 ? values : [];
}

/** Says that a header comes more than once. */
export function repeatedSentence(name: string): string {
  return `Header ${name} comes more than once: let the sender, or the proxy that adds one, send it once.`;
}

/** Names a field within a sentence, such as `header X-Token`. */
export function inSentence(field: Field): string {
  return describeField(field).replace(/^./, (first) => first.toLowerCase());
}

/** A text of a request, the credential in it, and the text that a condition expects before one. */
interface FoundCredential {
  text: string;
  credential: string;
  prefix: string;
}

/**
 * Says how a condition reads a credential in another field; undefined where it cannot, as something follows the
 * credential.
 */
export function settingsOf(
  { in: place, name }: Field,
  found: FoundCredential,
): string | undefined {
  const prefix = prefixSetting(found);
  if (prefix === undefined) return undefined;
  const settings = [`\`in: ${place}\``, `\`name: ${name}\``];
  const isNone = found.prefix === "" && found.text === found.credential;
  return isNone ? settings.join(" and ") : `${settings.join(", ")} and ${prefix}`;
}

/**
 * Names the setting by which a condition expects the text before a credential; undefined where something follows
 * the credential.
 */
export function prefixSetting(
  { text, credential }: Pick<FoundCredential, "text" | "credential">,
): string | undefined {
  const at = text.indexOf(credential);
  if (at + credential.length !== text.length) return undefined;
  const before = text.slice(0, at);
  return SHOWN_PREFIX.test(before)
    ? `\`prefix: ${JSON.stringify(before)}\``
    : "`prefix` to the text before it";
}

/** Says that a field is missing, and which header has a name that is near. */
export function missingSentence(field: Field, { headers }: LaunchRequest, advice: string): string {
  const near = field.in === "header" ? nearHeader(headers, field.name) : undefined;
  return near === undefined
    ? `${describeField(field)} is missing: ${advice}`
    : `${describeField(field)} is missing, and the request has ${near}: is the name misspelled?`;
}
