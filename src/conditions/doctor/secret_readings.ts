/**
 * The ways in which a sender may read a secret that it has in common with a trigger.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { decode, encode, type Encoding } from "../signing/encoding.ts";
import { decodeSecret, type KeyForm } from "../signing/keys.ts";
import type { KnownSecret } from "./context.ts";

const ENCODINGS: readonly Encoding[] = ["hex", "base64", "base64url"];
/** Prefixes that providers show before a key. */
const PREFIXES = ["v1,whsec_", "whsec_", "whsk_", "whpk_"];
const PERCENT_CODE = /%[0-9A-Fa-f]{2}/;

/** A key that a sender may have used. */
export interface Reading {
  bytes: Uint8Array;
  /** A noun phrase such as "the secret without `whsec_`"; undefined for the trigger's own reading. */
  what?: string;
  /** A clause that says what to do. */
  advice?: string;
  /** A sentence where the condition does not accept this secret at all. */
  secretDifference?: string;
}

/** The text of a secret, changed. */
interface TextForm {
  text: string;
  /** An addition to "the secret"; empty where nothing is changed. */
  suffix: string;
  advice: string;
  /** It may be the encoding of bytes. */
  isDecoded?: true;
  /** A sender may have encoded it. */
  isEncoded?: true;
}

/**
 * Lists the keys that a sender may have made of a secret, the trigger's own first.
 *
 * @param canSetEncoding the condition has the setting `key_encoding`
 */
export function readingsOf(secret: KnownSecret, form: KeyForm, canSetEncoding: boolean): Reading[] {
  const found = new Map<string, Reading>();
  const add = (bytes: Uint8Array | undefined, what?: string, advice?: string) => {
    if (bytes === undefined || bytes.length === 0) return;
    const key = Buffer.from(bytes).toString("latin1");
    if (found.has(key)) return;
    const { difference } = secret;
    found.set(key, {
      bytes,
      ...(what !== undefined && { what }),
      ...(advice !== undefined && { advice }),
      ...(difference !== undefined && { secretDifference: difference }),
    });
  };
  add(decodeSecret(secret.text, form));
  const own = form.key_encoding;
  for (const { text, suffix, advice, isDecoded, isEncoded } of textForms(secret.text, form)) {
    if (suffix !== "") add(decodeSecret(text, form), `the secret${suffix}`, advice);
    add(utf8(text), ...describeText(text, suffix, advice, form, canSetEncoding));
    for (const encoding of isDecoded ? ENCODINGS : []) {
      if (encoding === own) continue;
      const instead = own === "utf8" ? "its text" : `its bytes in ${own}`;
      const change = encoding !== "base64url" && canSetEncoding
        ? `set \`key_encoding: ${encoding}\`, or let the sender use ${instead}`
        : `let the sender use ${instead}`;
      const what = `the bytes that the secret${suffix} writes in ${encoding} instead of ${instead}`;
      add(decode(text, encoding), what, join(advice, change));
    }
    for (const encoding of isEncoded ? ENCODINGS : []) {
      add(
        utf8(encode(utf8(text), encoding)),
        `the secret${suffix}, encoded in ${encoding} once more`,
        join(advice, `let both sides have the same text: one has it in ${encoding}`),
      );
    }
  }
  if (secret.literal !== undefined) {
    add(
      utf8(secret.literal),
      `the text \`${secret.literal}\` itself`,
      "give the sender the variable's value",
    );
  }
  return [...found.values()];
}

/** Writes a reading as a sentence. */
export function differenceOf(
  { what, advice, secretDifference }: Reading,
  verb: string,
): string | undefined {
  const own = what === undefined ? undefined : `${verb} ${what}: ${advice}.`;
  return [secretDifference, own].filter((part) => part !== undefined).join(" ") || undefined;
}

function describeText(
  text: string,
  suffix: string,
  advice: string,
  { key_encoding, key_prefix }: KeyForm,
  canSetEncoding: boolean,
): [what: string, advice: string] {
  const isWhole = suffix === "" && key_prefix !== "" && text.startsWith(key_prefix);
  const whole = isWhole ? `, \`${key_prefix}\` included` : "";
  if (key_encoding === "utf8") {
    const own = isWhole ? 'set `key_prefix: ""`, or let the sender leave it out' : advice;
    return [`the secret${suffix}${whole}`, own];
  }
  const setting = isWhole ? '`key_encoding: utf8` and `key_prefix: ""`' : "`key_encoding: utf8`";
  return [
    `the ${key_encoding} text of the secret${suffix}${whole}${
      isWhole ? "," : ""
    } instead of its bytes`,
    join(advice, `let the sender decode it${canSetEncoding ? `, or set ${setting}` : ""}`),
  ];
}

function* textForms(text: string, { key_prefix }: KeyForm): Generator<TextForm> {
  yield { text, suffix: "", advice: "", isDecoded: true, isEncoded: true };
  const trimmed = text.trim();
  if (trimmed !== text) {
    const advice = "remove the white space, such as a line's end, around the trigger's secret";
    const suffix = " without the white space around it";
    yield { text: trimmed, suffix, advice, isDecoded: true };
  }
  const unquoted = /^(["'`])(.+)\1$/s.exec(trimmed)?.[2];
  if (unquoted !== undefined) {
    const advice = "remove the quotes around the trigger's secret";
    yield { text: unquoted, suffix: " without the quotes around it", advice, isDecoded: true };
  }
  const prefixes = new Set([key_prefix, ...PREFIXES].filter((prefix) => prefix !== ""));
  for (const prefix of prefixes) {
    if (trimmed.startsWith(prefix)) {
      const advice = `remove \`${prefix}\` from the trigger's secret`;
      const suffix = ` without \`${prefix}\``;
      yield { text: trimmed.slice(prefix.length), suffix, advice, isDecoded: true };
    }
  }
  if (![...prefixes].some((prefix) => trimmed.startsWith(prefix))) {
    for (const prefix of prefixes) {
      const advice = `write the trigger's secret with \`${prefix}\`, as the provider shows it`;
      yield { text: prefix + trimmed, suffix: ` with \`${prefix}\` before it`, advice };
    }
  }
  yield* changedBySender(trimmed);
}

/** Forms that come of how a sender stores its secret. */
function* changedBySender(text: string): Generator<TextForm> {
  for (const end of ["\n", "\r\n"]) {
    const advice = "remove it from the sender's secret: `echo` adds one, `printf` does not";
    yield { text: text + end, suffix: " with a line break at its end", advice, isEncoded: true };
  }
  for (const quote of ['"', "'"]) {
    const advice = "remove them from the sender's secret";
    yield { text: quote + text + quote, suffix: " with quotes around it", advice };
  }
  const advice = "write it alike on both sides";
  if (PERCENT_CODE.test(text)) {
    try {
      yield { text: decodeURIComponent(text), suffix: " with its percent codes decoded", advice };
    } catch {
      // They are no UTF-8.
    }
  }
  yield { text: encodeURIComponent(text), suffix: " with percent codes", advice };
  yield { text: text.replaceAll("+", " "), suffix: " with `+` read as a blank", advice };
  yield { text: text.toLowerCase(), suffix: " in lower case", advice };
  yield { text: text.toUpperCase(), suffix: " in upper case", advice };
}

function utf8(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

function join(...clauses: readonly string[]): string {
  return clauses.filter((clause) => clause !== "").join("; ");
}
