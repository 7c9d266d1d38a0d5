/**
 * The words of notifiers that bring their own: texts in which `{…}` holds an expression of CEL.
 *
 * @module
 */
import { fromJson } from "../conditions/cel/json.ts";
import { compileValue, sourcesIn } from "../conditions/values/compile.ts";
import { fill } from "../conditions/values/fill.ts";
import { toJson } from "../conditions/values/json.ts";
import { mapValues } from "../platform/objects.ts";
import { truncate } from "../platform/text/display.ts";
import type { NotifiedCause } from "../store/records/notifications.ts";
import type { NotifierSettings } from "../store/records/notifiers.ts";
import { messageVariables } from "./variables.ts";
import { usualWords, type Words } from "./words.ts";

const TITLE_LENGTH_MAX = 200;
const TEXT_LENGTH_MAX = 12_000;

/** Returns the words for causes. A template that has no value gives way to the usual words, which say so. */
export function wordsOf(
  notifier: Pick<NotifierSettings, "name" | "title" | "text">,
  causes: readonly NotifiedCause[],
  more: number,
): Words {
  const usual = usualWords(causes, more);
  const values = {
    notifier: notifier.name,
    title: usual.title,
    text: usual.text,
    causes,
    cause: causes[0] ?? {},
  };
  const title = filled(notifier.title, values);
  const text = filled(notifier.text, values);
  const problems = [title, text].flatMap(({ problem }) => problem === undefined ? [] : [problem]);
  const notes = problems.map((problem) => `(A template of this notifier has no value: ${problem})`);
  return {
    title: truncate((title.text ?? usual.title).replaceAll(/\s+/g, " "), TITLE_LENGTH_MAX),
    text: truncate([text.text ?? usual.text, ...notes].join("\n"), TEXT_LENGTH_MAX),
  };
}

function filled(
  template: string | undefined,
  values: Readonly<Record<string, unknown>>,
): { text?: string; problem?: string } {
  if (template === undefined) return {};
  const bindings = mapValues(values, (value) => fromJson(value));
  const found = sourcesIn(template).map((source) =>
    toJson(compileValue(source, messageVariables).evaluate(bindings))
  );
  const { value, problems: [problem] } = fill(template, found);
  if (problem !== undefined) return { problem: problem.detail };
  return { text: typeof value === "string" ? value : JSON.stringify(value) };
}
