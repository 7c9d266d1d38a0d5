/**
 * The reason why a request does not pass a payload filter, for the trigger log: the clause that does not
 * hold and its values, cut off where they are long, and no credential.
 *
 * @module
 */
import {
  type CelError,
  type CelResult,
  celType,
  type CelValue,
  isCelError,
  isCelList,
  isCelMap,
} from "@bufbuild/cel";
import { isCredentialName } from "../../platform/network/credential_names.ts";
import { truncate } from "../../platform/text/display.ts";
import { type Bindings, type Clause, conversion } from "./expression.ts";
import type { Refusal } from "../check.ts";
import { readsCredential } from "./credential_paths.ts";
import { type CredentialField, readCredentials } from "../field.ts";
import type { LaunchRequest } from "../request.ts";

const SHOWN_CHARACTERS_MAX = 200;
/** Stands for a text that tells a credential. */
export const NOT_SHOWN = "not shown";
const OPERANDS_SHOWN_MAX = 4;
const CREDENTIAL_PART_CHARACTERS_MIN = 6;
/** CEL has no arithmetic of an int and a double. */
const MIXED_ARITHMETIC =
  /^found no matching overload for '_[-+*\/%]_' applied to '\((?:int, double|double, int)\)'/;
/** A text that holds a credential holds the beginning of it. */
const CREDENTIAL_START_CHARACTERS_MAX = 4096;
/** The part of a text that is searched for credentials: any that reaches into the shown part begins in it. */
const SEARCHED_CHARACTERS_MAX = SHOWN_CHARACTERS_MAX + 8 * CREDENTIAL_START_CHARACTERS_MAX;

const TIMES = ["google.protobuf.Timestamp", "google.protobuf.Duration"];
const toText = conversion("string");

/** The evaluation of a filter. */
interface Evaluation {
  request: LaunchRequest;
  bindings: Bindings;
  /** The fields that carry credentials: no log shows their values. */
  credentials: readonly CredentialField[];
}

/** Returns the refusal by a clause that is not true. */
export function explain(clause: Clause, value: CelResult, evaluation: Evaluation): Refusal {
  const { request, credentials } = evaluation;
  const censorText = censorOf(request, credentials);
  const isHidden = (reads: Clause["reads"] = []) => readsCredential(reads, credentials);
  const censor = isHidden(clause.reads) ? () => NOT_SHOWN : censorText;
  const expected = truncate(clause.text, SHOWN_CHARACTERS_MAX);
  if (isCelError(value) && !clause.explain) {
    return { reason: `Payload filter failed: ${censor(value.message)}${hintOf(value)}`, expected };
  }
  if (value !== false && !isCelError(value)) {
    const found = censor(show(value));
    return { reason: "Payload filter is neither true nor false", expected, found };
  }
  const found = truncate(
    operandsOf(clause, evaluation, { censor: censorText, isHidden }).join("; "),
    SHOWN_CHARACTERS_MAX,
  );
  const why = explanation(clause, evaluation);
  return {
    reason: truncate(
      why === undefined ? "Payload filter is false" : `Payload filter is false: ${why}`,
      SHOWN_CHARACTERS_MAX,
    ),
    expected,
    ...(found !== "" && { found }),
  };
}

/** Returns what to write in the place of an expression that has failed, to be put behind its message. */
export function hintOf({ message }: CelError): string {
  return MIXED_ARITHMETIC.test(message) ? ": write double(…) around the int" : "";
}

function explanation(clause: Clause, { bindings }: Evaluation): string | undefined {
  const [operand] = clause.operands;
  return operand && clause.explain?.(operand.evaluate(bindings));
}

function operandsOf(
  clause: Clause,
  { bindings }: Evaluation,
  { censor, isHidden }: { censor: Censor; isHidden(reads: Clause["reads"]): boolean },
): string[] {
  const shown: string[] = [];
  for (const { text, evaluate, reads } of clause.operands) {
    if (shown.length === OPERANDS_SHOWN_MAX) break;
    const value = evaluate(bindings);
    if (!isCelError(value)) {
      shown.push(`${text} is ${isHidden(reads) ? NOT_SHOWN : censor(show(value))}`);
    } else if (clause.explain) shown.push(`${text} is missing`);
  }
  return shown;
}

/** Writes a text for the log: cut off where it is long, hidden where it tells a credential. */
export type Censor = (text: string) => string;

/** Makes the censor of a request's credentials: those of fields, and what is named like one, in any case. */
export function censorOf(request: LaunchRequest, fields: readonly CredentialField[]): Censor {
  const credentials = [
    ...fields.flatMap((field) => readCredentials(request, field)),
    ...suspectsIn(request),
  ].map((credential) => credential.toLowerCase());
  return (text) => {
    const lower = text.slice(0, SEARCHED_CHARACTERS_MAX).toLowerCase();
    const shown = lower.slice(0, SHOWN_CHARACTERS_MAX).replace(/^"|"$/g, "");
    const isSecret = credentials.some((credential) => {
      const start = credential.slice(0, CREDENTIAL_START_CHARACTERS_MAX);
      return lower.includes(start) || lower.includes(JSON.stringify(start).slice(1, -1)) ||
        (shown.length >= CREDENTIAL_PART_CHARACTERS_MIN && credential.includes(shown));
    });
    return isSecret ? NOT_SHOWN : truncate(text, SHOWN_CHARACTERS_MAX);
  };
}

/** Returns the values of headers and parameters whose names say that they are credentials. */
function suspectsIn({ headers, query }: LaunchRequest): string[] {
  return [...headers, ...query]
    .filter(([name, value]) =>
      value.length >= CREDENTIAL_PART_CHARACTERS_MIN && isCredentialName(name)
    )
    .map(([, value]) => value);
}

function show(value: CelValue): string {
  if (typeof value === "string") return JSON.stringify(value.slice(0, SEARCHED_CHARACTERS_MAX));
  if (isCelList(value)) return `a list of ${value.size}`;
  if (isCelMap(value)) return `a map of ${value.size}`;
  if (typeof value !== "object" || value === null) return String(value);
  const { name } = celType(value);
  return TIMES.includes(name) ? String(toText(value)) : `a ${name}`;
}
