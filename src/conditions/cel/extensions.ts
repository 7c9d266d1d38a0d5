/**
 * Functions beside those of the language: the usual ones for texts (cel-go, ext/strings), `base64.decode` and
 * `base64.encode` (cel-go, ext/encoders), and `parseJSON`, for JSON within a text.
 *
 * @module
 */
import { type CelFunc, celFunc, type CelInput, celMethod, CelScalar } from "@bufbuild/cel";
import { strings } from "@bufbuild/cel/ext";
import { parseExactJson } from "../../platform/text/exact_json.ts";
import { fromJson } from "./json.ts";
import { FilterLimitError } from "./pattern.ts";
import { childrenOf, type Expr } from "./syntax.ts";
import { textFunctions } from "./texts.ts";

const { BYTES, DYN, STRING } = CelScalar;

/** Functions for texts that are the package's. */
const TEXT_FUNCTIONS = ["format", "join", "lowerAscii", "trim", "upperAscii"];

/** The functions. */
export const extensions: readonly CelFunc[] = [
  ...strings.filter(({ name }) => TEXT_FUNCTIONS.includes(name)),
  ...textFunctions,
  celFunc("parseJSON", [STRING], DYN, parseJson),
  celMethod("parseJSON", STRING, [], DYN, function () {
    return parseJson(this);
  }),
  celFunc("parseJSON", [BYTES], DYN, refuseBytes),
  celMethod("parseJSON", BYTES, [], DYN, refuseBytes),
  celFunc("base64.decode", [STRING], BYTES, decodeBase64),
  celFunc("base64.encode", [BYTES], STRING, (bytes) => bytes.toBase64()),
];

/** The names of those whose results may be larger than what they read. */
export const GROWING: ReadonlySet<string> = new Set([
  "base64.decode",
  "base64.encode",
  "format",
  "join",
  "parseJSON",
  "replace",
  "split",
]);

function parseJson(text: string): CelInput {
  try {
    return fromJson(parseExactJson(text));
  } catch (error) {
    if (error instanceof SyntaxError) {
      throw new FilterLimitError("parseJSON() of a text that is no JSON");
    }
    throw error;
  }
}

/** `base64.decode` makes bytes: without this, the error would name no function that makes a text of them. */
function refuseBytes(): never {
  throw new FilterLimitError("parseJSON() of bytes: write string(…) around them");
}

/** Takes the alphabets of RFC 4648, sections 4 and 5, with and without padding. */
function decodeBase64(text: string): Uint8Array {
  const alphabet = /[-_]/.test(text) ? "base64url" : "base64";
  try {
    return Uint8Array.fromBase64(text, { alphabet });
  } catch {
    throw new FilterLimitError("base64.decode() of a text that is no base64");
  }
}

/** Writes calls of `base64.decode` with that name: the parser takes `base64` for a variable. */
export function nameQualified(expr: Expr): void {
  const { case: kind, value } = expr.exprKind;
  if (kind === "callExpr" && value.target?.exprKind.case === "identExpr") {
    const { name } = value.target.exprKind.value;
    if (name === "base64") {
      value.function = `base64.${value.function}`;
      delete value.target;
    }
  }
  childrenOf(expr).forEach(nameQualified);
}
