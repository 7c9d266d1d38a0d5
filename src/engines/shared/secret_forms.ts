/**
 * The forms in which a secret is usually printed: its lines, and these in the encodings of programs.
 *
 * @module
 */
import { Buffer } from "node:buffer";

/** A shorter piece is found by chance, and is not masked by itself. */
const LENGTH_MIN = 8;
/**
 * A longer form is masked in pieces of this length. So little of it is compared at each place, and as little of it is
 * shown where a line is cut.
 */
const PIECE_LENGTH = 64;
/** Widths of the lines of base64, as `base64`, `openssl` and PEM have them. */
const WIDTHS = [76, 64];

/** Returns the forms of a secret, each short and without a line break. */
export function secretForms(secret: string): Buffer[] {
  const lines = [
    ...new Set([secret.trim(), ...secret.split(/[\r\n]+/).map((line) => line.trim())]),
  ];
  const texts = new Set(lines.flatMap((line) => [line, ...encoded(line)]));
  // As it was given, also with the line break that `echo` adds.
  const whole = Buffer.from(secret);
  for (
    const text of [...base64Forms(whole), ...wrapped(whole), ...wrapped(Buffer.from(`${secret}\n`))]
  ) {
    texts.add(text);
  }
  for (const text of [whole.toString("hex"), whole.toString("hex").toUpperCase()]) texts.add(text);
  return [...texts].filter((text) => !/[\r\n]/.test(text))
    .map((text) => Buffer.from(text)).filter(({ length }) => length >= LENGTH_MIN).flatMap(pieces);
}

/** Returns a line as JSON, URLs, XML and shells have it. */
function encoded(line: string): string[] {
  const json = JSON.stringify(line).slice(1, -1);
  const ascii = json.replace(
    /[\x7f-\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
  const url = encodeURIComponent(line.toWellFormed());
  const strict = url.replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  const xml = line.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  return [
    json,
    json.replaceAll("/", "\\/"),
    ascii,
    ascii.replaceAll("/", "\\/"),
    url,
    strict,
    strict.replaceAll("%20", "+"),
    xml,
    xml.replaceAll('"', "&quot;"),
    xml.replaceAll('"', "&quot;").replaceAll("'", "&#39;"),
    // Within the quotes of a shell, such as after `set -x`.
    line.replaceAll("'", "'\\''"),
    line.replaceAll("'", `'"'"'`),
    line.replace(/[\\"$`]/g, "\\$&"),
    ...base64Forms(Buffer.from(line)),
  ];
}

/**
 * Returns base64 of bytes at any place in other bytes, such as behind `user:`. What depends on the bytes around them
 * is left out.
 */
function base64Forms(bytes: Buffer): string[] {
  const forms = [0, 1, 2].map((shift) => {
    const text = Buffer.concat([Buffer.alloc(shift), bytes]).toString("base64").replace(/=+$/, "");
    const start = Math.ceil(shift * 8 / 6);
    const whole = Math.floor((shift + bytes.length) * 8 / 6);
    return text.slice(start, whole);
  });
  return forms.flatMap((form) => [form, form.replaceAll("+", "-").replaceAll("/", "_")]);
}

/** Returns the lines of base64 of bytes. */
function wrapped(bytes: Buffer): string[] {
  const text = bytes.toString("base64");
  return WIDTHS.filter((width) => text.length > width).flatMap((width) =>
    Array.from(
      { length: Math.ceil(text.length / width) },
      (_, line) => text.slice(line * width, (line + 1) * width),
    )
  );
}

/** Splits a long form. The last piece takes what is left. */
function pieces(form: Buffer): Buffer[] {
  const count = Math.max(1, Math.floor(form.length / PIECE_LENGTH));
  return Array.from({ length: count }, (_, index) =>
    form.subarray(
      index * PIECE_LENGTH,
      index === count - 1 ? form.length : (index + 1) * PIECE_LENGTH,
    ));
}
