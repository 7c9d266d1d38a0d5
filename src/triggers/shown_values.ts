/**
 * Values that show a credential: what an action reads of a request stands in the record of its execution, where no
 * mask hides it.
 *
 * @module
 */
import { templatesOf } from "../actions/values.ts";
import { isWithin } from "../conditions/cel/credential_paths.ts";
import { type Key, pathsIn } from "../conditions/cel/paths.ts";
import { ExpressionError, parseExpression } from "../conditions/cel/expression.ts";
import { sourcesIn } from "../conditions/values/compile.ts";
import { maskedFieldsOf } from "../conditions/masked_body.ts";
import { credentialsOf, redactedBy } from "../conditions/mod.ts";
import { handshakeCredentials } from "../conditions/handshake/settings.ts";
import type { Problem } from "../platform/errors.ts";
import { pointer, pointerParts } from "../platform/schema/pointer.ts";
import type { TriggerSettings } from "./trigger.ts";

/** Warns of values of actions that show a credential of the body. */
export function shownValueWarnings(
  { conditions, handshakes = [], actions }: Pick<
    TriggerSettings,
    "actions" | "conditions" | "handshakes"
  >,
): Problem[] {
  const fields = maskedFieldsOf([
    ...credentialsOf(conditions),
    ...handshakeCredentials(handshakes),
  ]);
  if (fields.length === 0) return [];
  const redacted = maskedFieldsOf(redactedBy(conditions));
  return actions.flatMap((action, index) =>
    textsIn(templatesOf(action), ["actions", index]).flatMap(({ text, path }) => {
      const read = sourcesIn(text).flatMap(bodyPathsIn);
      const field = fields.find((field) =>
        read.some((keys) => isWithin(pointerParts(field), keys))
      );
      if (field === undefined) return [];
      const detail = redacted.includes(field)
        ? `Reads the credential in ${field} of the body, which is stored without it: its value is ********`
        : `Shows the credential in ${field} of the body with each execution: read another field`;
      return [{ pointer: pointer(...path), detail }];
    })
  );
}

/** Lists the texts in a value, each with the keys that lead to it. */
export function textsIn(
  value: unknown,
  path: PropertyKey[],
): { text: string; path: PropertyKey[] }[] {
  if (typeof value === "string") return [{ text: value, path }];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => textsIn(inner, [...path, key]));
}

/** Lists the paths by which an expression reads the body, without `body` itself. */
function bodyPathsIn(source: string): Key[][] {
  return pathsOf(source).flatMap(([variable, ...keys]) => variable === "body" ? [keys] : []);
}

/** Lists the paths in an expression, each with its variable first. */
export function pathsOf(source: string): (readonly Key[])[] {
  try {
    return pathsIn(parseExpression(source).expr);
  } catch (error) {
    // An earlier version took it.
    if (error instanceof ExpressionError) return [];
    throw error;
  }
}
