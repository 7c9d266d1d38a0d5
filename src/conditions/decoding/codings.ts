/**
 * The codings of bodies: RFC 9110 section 8.4.1.
 *
 * @module
 */

/** A coding that is undone. */
export type Coding = "gzip" | "deflate" | "br";

const NAMES: ReadonlyMap<string, Coding | "identity"> = new Map([
  ["gzip", "gzip"],
  ["x-gzip", "gzip"],
  ["deflate", "deflate"],
  ["br", "br"],
  ["identity", "identity"],
]);
const CODINGS_MAX = 4;
const FOUND_CHARACTERS_MAX = 100;

/** The codings of a body, in the order in which its sender applied them; `unknown` is a header that names another. */
type ReadCodings = { codings: readonly Coding[] } | { unknown: string };

/** Reads a header Content-Encoding. */
export function codingsIn(header: string): ReadCodings {
  const codings: Coding[] = [];
  for (const part of header.split(",", CODINGS_MAX + 2)) {
    const name = part.trim().toLowerCase();
    const coding = NAMES.get(name);
    if (coding === undefined && name !== "") return unknown(header);
    if (coding !== undefined && coding !== "identity") codings.push(coding);
  }
  return codings.length > CODINGS_MAX ? unknown(header) : { codings };
}

function unknown(header: string): { unknown: string } {
  return { unknown: header.slice(0, FOUND_CHARACTERS_MAX) };
}

/** The codings that are undone, as a refusal names them. */
export const KNOWN_CODINGS = `gzip, deflate or br, at most ${CODINGS_MAX} of them`;
