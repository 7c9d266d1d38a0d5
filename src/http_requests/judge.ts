/**
 * Expressions over what came back to an HTTP request.
 *
 * @module
 */
import type { EvaluateValues } from "../conditions/values/evaluate.ts";
import { sourcesIn } from "../conditions/values/compile.ts";
import { messageOf } from "../platform/errors.ts";
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
 */
export async function judge(
  evaluate: EvaluateValues,
  came: Came,
  { name, source }: { name: string; source: string },
): Promise<boolean | Problem> {
  const found = await evaluate({ condition: source, sources: [], ...answerOf(came) })
    // What has been sent is not sent again for it.
    .catch((error) => ({ problem: messageOf(error), skipped: undefined }));
  if (found.problem !== undefined) return { problem: `${name}: ${found.problem}` };
  return found.skipped === undefined;
}

/** Puts values in the place of the expressions of a poll's URL. */
export async function pollUrl(
  evaluate: EvaluateValues,
  came: Came,
  template: string,
): Promise<{ url: URL } | Problem> {
  const sources = sourcesIn(template);
  const { values } = await evaluate({ sources, ...answerOf(came) });
  const filled = fillUrl(template, values);
  return "url" in filled ? filled : { problem: `wait/poll/url: ${filled.problem}` };
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
