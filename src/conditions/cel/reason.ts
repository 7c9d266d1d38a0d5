/**
 * Why a request does not pass a payload filter, in words for the trigger log: the clause that does
 * not hold and the values that it looked at, cut off where they are long, and no credential.
 *
 * @module
 */
import {
  type CelResult,
  celType,
  type CelValue,
  isCelError,
  isCelList,
  isCelMap,
} from "@bufbuild/cel";
import { truncate } from "../../platform/text/display.ts";
import { type Bindings, type Clause, conversion } from "./expression.ts";
import type { Meter } from "./meter.ts";
import type { Refusal } from "../check.ts";
import { type CredentialField, readCredentials } from "../field.ts";
import type { LaunchRequest } from "../request.ts";

const SHOWN_CHARACTERS_MAX = 200;
const OPERANDS_SHOWN_MAX = 4;
const CREDENTIAL_PART_CHARACTERS_MIN = 6;
/** A text that holds a credential holds what it begins with. */
const CREDENTIAL_START_CHARACTERS_MAX = 4096;
/** What is shown is within a credential, or one begins in it: no more of a text is looked at. */
const LOOKED_AT_CHARACTERS_MAX = SHOWN_CHARACTERS_MAX + 8 * CREDENTIAL_START_CHARACTERS_MAX;

const TIMES = ["google.protobuf.Timestamp", "google.protobuf.Duration"];
const toText = conversion("string");

/** What the clause of a filter was evaluated with. */
export interface Evaluation {
  request: LaunchRequest;
  bindings: Bindings;
  meter: Meter;
  /** Where the request carries what no log shows. */
  credentials: readonly CredentialField[];
}

/** Says why a clause that is not true refuses the request. */
export function explain(clause: Clause, value: CelResult, evaluation: Evaluation): Refusal {
  const { request, meter, credentials } = evaluation;
  const censor = censorOf(request, credentials);
  const expected = truncate(clause.text, SHOWN_CHARACTERS_MAX);
  if (isCelError(value) && (meter.hasEnded || !clause.whyNot)) {
    return { reason: `Payload filter failed: ${censor(value.message)}`, expected };
  }
  if (value !== false && !isCelError(value)) {
    const found = censor(show(value));
    return { reason: "Payload filter is neither true nor false", expected, found };
  }
  const found = truncate(operandsOf(clause, evaluation, censor).join("; "), SHOWN_CHARACTERS_MAX);
  const why = whyNot(clause, evaluation);
  return {
    reason: truncate(
      why === undefined ? "Payload filter is false" : `Payload filter is false: ${why}`,
      SHOWN_CHARACTERS_MAX,
    ),
    expected,
    ...(found !== "" && { found }),
  };
}

function whyNot(clause: Clause, { bindings, meter }: Evaluation): string | undefined {
  const [operand] = clause.operands;
  if (!operand || !clause.whyNot) return undefined;
  const value = operand.evaluate(bindings, meter);
  return meter.hasEnded ? undefined : clause.whyNot(value);
}

function operandsOf(clause: Clause, { bindings, meter }: Evaluation, censor: Censor): string[] {
  const shown: string[] = [];
  for (const { text, evaluate } of clause.operands) {
    if (shown.length === OPERANDS_SHOWN_MAX) break;
    const value = evaluate(bindings, meter);
    if (meter.hasEnded) break;
    if (!isCelError(value)) shown.push(`${text} is ${censor(show(value))}`);
    else if (clause.whyNot) shown.push(`${text} is missing`);
  }
  return shown;
}

/** Writes a text for the log: cut off where it is long, and not at all where it tells a credential. */
type Censor = (text: string) => string;

function censorOf(request: LaunchRequest, fields: readonly CredentialField[]): Censor {
  const credentials = fields.flatMap((field) => readCredentials(request, field));
  return (text) => {
    const lookedAt = text.slice(0, LOOKED_AT_CHARACTERS_MAX);
    const shown = text.slice(0, SHOWN_CHARACTERS_MAX).replace(/^"|"$/g, "");
    const isSecret = credentials.some((credential) => {
      const start = credential.slice(0, CREDENTIAL_START_CHARACTERS_MAX);
      return lookedAt.includes(start) || lookedAt.includes(JSON.stringify(start).slice(1, -1)) ||
        (shown.length >= CREDENTIAL_PART_CHARACTERS_MIN && credential.includes(shown));
    });
    return isSecret ? "not shown" : truncate(text, SHOWN_CHARACTERS_MAX);
  };
}

function show(value: CelValue): string {
  if (typeof value === "string") return JSON.stringify(value.slice(0, LOOKED_AT_CHARACTERS_MAX));
  if (isCelList(value)) return `a list of ${value.size}`;
  if (isCelMap(value)) return `a map of ${value.size}`;
  if (typeof value !== "object" || value === null) return String(value);
  const { name } = celType(value);
  return TIMES.includes(name) ? String(toText(value)) : `a ${name}`;
}
