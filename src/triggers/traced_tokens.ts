/**
 * Tokens that reach the traces of a platform: Deno Deploy stores the URL of each request there, with its query.
 *
 * @module
 */
import { tokenPlace } from "../conditions/static_token.ts";
import type { Problem } from "../platform/errors.ts";
import type { TriggerSettings } from "./trigger.ts";

const DETAIL =
  "The token is in the query of the URL, which Deno Deploy keeps in its traces: use a header where the sender can";

/** Finds the conditions whose tokens reach the traces of the platform that the service runs on. */
export function tracedTokenWarnings(
  conditions: TriggerSettings["conditions"],
  env: (name: string) => string | undefined,
): Problem[] {
  if (env("DENO_DEPLOY") !== "true") return [];
  return conditions.flatMap((condition, index) => {
    const place = condition.type === "static_token"
      ? tokenPlace(condition).in
      : condition.type === "jwt"
      ? condition.in
      : undefined;
    return place === "query" ? [{ pointer: `/${index}`, detail: DETAIL }] : [];
  });
}
