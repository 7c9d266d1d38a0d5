/**
 * Expressions over what came back to an HTTP request.
 *
 * @module
 */
import type { EvaluateValues } from "../conditions/values/evaluate.ts";
import { sourcesIn } from "../conditions/values/compile.ts";
import { HooklaunchError, isShortage, messageOf } from "../platform/errors.ts";
import { parseExactJson } from "../platform/text/exact_json.ts";
import type { Answered } from "./exchange.ts";
import { fillUrl } from "./url_values.ts";

/** The answer or the callback, as expressions see it. */
export type Came = Pick<Answered, "headers" | "body"> & { status?: number };

/** An expression has no value, so that the request cannot go on. */
type Problem = { problem: string };

/**
 * Tells whether an expression over what came back is true.
 *
 * @param name the name of the setting that holds it
 * @throws a shortage, such as of the store that has the run's payload: it is judged later
 */
export async function judge(
  evaluate: EvaluateValues,
  came: Came,
  { name, source }: { name: string; source: string },
): Promise<boolean | Problem> {
  const found = await evaluate({ condition: source, sources: [], ...answerOf(came) })
    .catch(problemOf);
  if (found.problem !== undefined) return { problem: `${name}: ${found.problem}` };
  return found.skipped === undefined;
}

/**
 * Puts values in the place of the expressions of a poll's URL.
 *
 * @throws as {@linkcode judge} does
 */
export async function pollUrl(
  evaluate: EvaluateValues,
  came: Came,
  template: string,
): Promise<{ url: URL } | Problem> {
  const sources = sourcesIn(template);
  const found = await evaluate({ sources, ...answerOf(came) }).catch((error) => {
    // What else goes wrong, such as in the database, passes, too.
    if (!(error instanceof HooklaunchError)) throw error;
    return problemOf(error);
  });
  const filled = "values" in found ? fillUrl(template, found.values) : found;
  return "url" in filled ? filled : { problem: `wait/poll/url: ${filled.problem}` };
}

/** @throws a shortage, which passes */
function problemOf(error: unknown): Problem & { skipped?: string } {
  if (isShortage(error)) throw error;
  return { problem: messageOf(error) };
}

function answerOf({ status = 0, headers, body }: Came) {
  const text = new TextDecoder().decode(body);
  const answer = { status, headers, body: parsed(text) };
  return { more: { answer }, more_length: text.length };
}

/** The body as a value: a text where it is no JSON. */
function parsed(text: string): unknown {
  try {
    return parseExactJson(text);
  } catch {
    return text;
  }
}
