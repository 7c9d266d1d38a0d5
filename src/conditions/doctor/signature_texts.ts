/**
 * The ways in which the text of a header can hold signatures.
 *
 * @module
 */
import { isMac, isWellFormed } from "../signing/algorithms.ts";
import { decode, type Encoding } from "../signing/encoding.ts";
import { MAC_BYTES, type MacAlgorithm, type Scheme } from "../signing/scheme.ts";

const ENCODINGS: readonly Encoding[] = ["hex", "base64", "base64url"];
/** A signature at the end of a text: in base64 or hex, and in hex behind letters. Each takes linear time. */
const AT_END = [
  /(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{20,}={0,2}$/,
  /(?<![0-9A-Fa-f])[0-9A-Fa-f]{40,}$/,
];
/** Items before a signature: they differ from request to request. */
const LIST = /[,;]\s*\S/;
const NAMED_ITEM = /^([\w-]{1,32})([=:,])(\S+)$/;
const LIST_SEPARATORS = [",", ";", " "];
/** A longer text holds no signature. */
const CHARACTERS_MAX = 4096;
const ITEMS_MAX = 16;

/** The fields of a scheme that say how a signature is written. */
type SignatureText = Pick<
  Scheme,
  | "algorithm"
  | "encoding"
  | "signature_format"
  | "prefix"
  | "list_separator"
  | "field_separator"
  | "field"
>;

/** Lists the ways in which a text may hold signatures of the kind that a scheme has. */
export function* signatureTexts(text: string, scheme: Scheme): Generator<SignatureText> {
  const whole = text.trim();
  if (whole.length > CHARACTERS_MAX) return;
  const { list_separator: own, field } = scheme;
  // Beside a preset, settings change its list and cannot take it away.
  if (own !== undefined && field !== undefined) yield* listed(whole, own, scheme);
  yield* single(whole, scheme);
  for (const list_separator of LIST_SEPARATORS) {
    if (list_separator === own || !whole.includes(list_separator)) continue;
    yield* listed(whole, list_separator, scheme);
  }
}

function* listed(text: string, list_separator: string, scheme: Scheme): Generator<SignatureText> {
  for (const item of text.split(list_separator, ITEMS_MAX)) {
    yield* named(item.trim(), list_separator, scheme);
  }
}

function* single(text: string, scheme: Scheme): Generator<SignatureText> {
  const without = { list_separator: undefined, field_separator: undefined, field: undefined };
  for (const pattern of AT_END) {
    const [signature = ""] = pattern.exec(text) ?? [];
    const prefix = text.slice(0, text.length - signature.length);
    if (LIST.test(prefix)) continue;
    for (const form of forms(signature, scheme)) yield { ...form, prefix, ...without };
  }
}

function* named(item: string, list_separator: string, scheme: Scheme): Generator<SignatureText> {
  const [, field, field_separator, signature = ""] = NAMED_ITEM.exec(item) ?? [];
  if (field === undefined || field_separator === list_separator) return;
  for (const form of forms(signature, scheme)) {
    yield { ...form, prefix: "", list_separator, field_separator, field };
  }
}

/** Lists the encodings and algorithms that a signature may be of, by its characters and its length. */
function* forms(
  text: string,
  scheme: Scheme,
): Generator<Pick<Scheme, "algorithm" | "encoding" | "signature_format">> {
  for (const encoding of ENCODINGS) {
    const bytes = decode(text, encoding);
    if (bytes === undefined) continue;
    for (const signature_format of ["der", "raw"] as const) {
      for (const algorithm of algorithmsLike(scheme.algorithm)) {
        const form = { algorithm, encoding, signature_format };
        if (isWellFormed(bytes, { ...scheme, ...form })) yield form;
      }
      if (scheme.algorithm !== "ecdsa_p256") break;
    }
  }
}

/** A secret makes HMACs of any hash; a public key is one of its algorithm. */
function algorithmsLike(algorithm: Scheme["algorithm"]): Scheme["algorithm"][] {
  return isMac(algorithm) ? Object.keys(MAC_BYTES) as MacAlgorithm[] : [algorithm];
}
