/**
 * Reading the signatures of a request, and writing them as a sender does.
 *
 * @module
 */
import type { Refusal } from "../check.ts";
import { decode, encode, encodedLength } from "./encoding.ts";
import { describeField, type Field } from "../field.ts";
import { isMac, isWellFormed, signatureLength } from "./algorithms.ts";
import { type Scheme, signatureFields } from "./scheme.ts";

/** The most signatures that are tried: each costs a comparison, or a verification. */
const MAC_CANDIDATES_MAX = 16;
const SIGNATURE_CANDIDATES_MAX = 4;
/** The most items of a list; a longer one is refused before any is decoded. */
const ITEMS_MAX = 64;
/** The longest signature: an RSA key of 8,192 bits makes 2,048 hex digits. */
const SIGNATURE_CHARACTERS_MAX = 2048;

/** The signatures that a request carries, of which any one may match. */
interface Candidates {
  /** At least one. */
  signatures: readonly Uint8Array[];
  /** The timestamp, where it is a field of the signature. */
  timestamp: string | undefined;
}

/**
 * Makes the reader of a scheme's signatures.
 *
 * @returns a function of the texts in the scheme's fields, each of them or why there is none
 */
export function candidatesReader(
  scheme: Scheme,
): (texts: readonly (string | Refusal)[]) => Candidates | Refusal {
  const fields = signatureFields(scheme);
  const place = describePlace(fields);
  const max = isMac(scheme.algorithm) ? MAC_CANDIDATES_MAX : SIGNATURE_CANDIDATES_MAX;
  return (texts) => {
    const present = texts.filter((text) => typeof text === "string");
    if (present.length === 0) {
      const [first] = texts;
      return fields.length === 1 && typeof first === "object" ? first : {
        reason: `${place} is missing`,
      };
    }
    const items = splitAll(splitAll(present, scheme.set_separator), scheme.list_separator);
    const candidates = namedItems(items, scheme.field, scheme);
    if (items.length > ITEMS_MAX || candidates.length > max) {
      return {
        reason: `${place} holds too many signatures`,
        found: `${candidates.length} of ${items.length} items`,
      };
    }
    const signatures = decodeAll(candidates, scheme, place);
    if (!Array.isArray(signatures)) return signatures;
    const timestamp = readTimestampItem(items, scheme, place);
    return typeof timestamp === "object" ? timestamp : { signatures, timestamp };
  };
}

/** Names the fields of the signatures in a refusal. */
export function describePlace(fields: readonly Field[]): string {
  const names = fields.map(describeField);
  return names.length > 2 ? `${names[0]} to ${names.at(-1)}` : names.join(" or ");
}

/** Describes the form of a signature, without one that would pass. */
export function describeSignature(scheme: Scheme): string {
  const { encoding, prefix, field, field_separator = "", timestamp } = scheme;
  const bytes = signatureLength(scheme);
  const unit = encoding === "hex" ? "hex digits" : `${encoding} characters`;
  const value = bytes === undefined
    ? `<${scheme.algorithm} signature in ${encoding}>`
    : `<${encodedLength(bytes, encoding)} ${unit}>`;
  const item = field === undefined ? prefix + value : `${field}${field_separator}${prefix}${value}`;
  if (timestamp?.in !== "signature") return item;
  return `${timestamp.name}${field_separator}<timestamp>${scheme.list_separator ?? ""}${item}`;
}

/** Writes signatures in the form of the scheme, with the timestamp where it is one of their fields. */
export function writeSignatures(
  signatures: readonly Uint8Array[],
  scheme: Scheme,
  timestamp: string,
): string {
  const { field, field_separator = "", list_separator } = scheme;
  const written = signatures.map((signature) => {
    const text = scheme.prefix + encode(signature, scheme.encoding);
    return field === undefined ? text : `${field}${field_separator}${text}`;
  });
  if (list_separator === undefined) return written[0] ?? "";
  if (scheme.timestamp?.in === "signature") {
    written.unshift(`${scheme.timestamp.name}${field_separator}${timestamp}`);
  }
  return written.join(list_separator);
}

function decodeAll(
  candidates: readonly string[],
  scheme: Scheme,
  place: string,
): Uint8Array[] | Refusal {
  const { prefix, encoding, field } = scheme;
  if (candidates.length === 0) return { reason: `${place} holds no ${field} signature` };
  const signatures: Uint8Array[] = [];
  const lengths: number[] = [];
  for (const text of candidates) {
    if (!text.startsWith(prefix)) continue;
    const length = text.length - prefix.length;
    lengths.push(length);
    if (length > SIGNATURE_CHARACTERS_MAX) continue;
    const bytes = decode(text.slice(prefix.length), encoding);
    if (bytes && isWellFormed(bytes, scheme)) signatures.push(bytes);
  }
  if (signatures.length > 0) return signatures;
  if (lengths.length === 0) return { reason: `${place} does not begin with the prefix` };
  return {
    reason: `${place} is malformed`,
    found: lengths.map((length) => `${length} characters`).join(", "),
  };
}

function readTimestampItem(
  items: readonly string[],
  scheme: Scheme,
  place: string,
): string | undefined | Refusal {
  const { timestamp } = scheme;
  if (timestamp?.in !== "signature") return undefined;
  const [value, ...others] = namedItems(items, timestamp.name, scheme);
  if (value === undefined) return { reason: `${place} holds no ${timestamp.name}` };
  // Of two that differ, one could be signed and the other fresh.
  return others.every((other) => other === value)
    ? value
    : { reason: `${place} is ambiguous: it holds ${timestamp.name} more than once` };
}

function splitAll(texts: readonly string[], separator: string | undefined): readonly string[] {
  if (separator === undefined) return texts;
  return texts.flatMap((text) => text.split(separator))
    .map((item) => item.trim()).filter((item) => item !== "");
}

/** Returns the values of the items with a name; all items where items have no names. */
function namedItems(
  items: readonly string[],
  name: string | undefined,
  { field_separator }: Scheme,
): readonly string[] {
  if (name === undefined || field_separator === undefined) return items;
  return items.flatMap((item) => {
    const at = item.indexOf(field_separator);
    return at !== -1 && item.slice(0, at) === name ? [item.slice(at + field_separator.length)] : [];
  });
}
