/**
 * The words about a cause that a notifier tells of, and the page about it.
 *
 * @module
 */
import { type Cause, CAUSE_CODES, CAUSES, newCause } from "../attention/cause.ts";
import { truncate } from "../platform/text/display.ts";
import type { NoticeKind } from "../store/notice.ts";
import type { ToldCause } from "../store/records/notifiers.ts";

const TEXT_LENGTH_MAX = 300;

/** Returns the text of a cause that failed work makes. */
export function textOf(kind: NoticeKind, part: string | undefined, reason: string): string {
  const what = {
    run: "a run failed",
    execution: `step "${part}" failed`,
    pipeline: `pipeline "${part}" failed`,
    http_request: "an HTTP request failed",
  }[kind];
  const [line = ""] = reason.split("\n", 1);
  return truncate(line === "" ? what : `${what}: ${line}`, TEXT_LENGTH_MAX);
}

/** Returns what to do about a cause; nothing where a later version has stored its code. */
export function adviceOf(code: string): string {
  return CAUSE_CODES.filter((each) => each === code).map((each) => CAUSES[each].advice).join("");
}

/** Returns the path of the console's page about a cause. */
export function placeOf(
  { run_id, execution_id, pipeline_id, subject: { kind, id, name } }: ToldCause,
): string {
  if (execution_id !== undefined) return `/executions/${execution_id}`;
  if (pipeline_id !== undefined) return `/pipelines/${pipeline_id}`;
  if (run_id !== undefined) return `/deliveries/${run_id}`;
  if (kind === "trigger") return `/triggers/${id}`;
  if (kind === "project") return `/projects/${encodeURIComponent(name)}`;
  if (kind === "notifier") return `/notifications?notifier=${encodeURIComponent(name)}`;
  if (kind === "instance") return "/instances";
  return kind === "engine" ? "/engines" : "/";
}

/** Returns a cause that was found by looking as a book takes it. Its text may change while it lasts. */
export function factsOf({ code, subject, text }: Cause): Pick<
  ToldCause,
  "id" | "code" | "subject" | "text"
> {
  const { id } = newCause(code, subject, { text: "", since_ms: 0 });
  return { id, code, subject, text: truncate(text, TEXT_LENGTH_MAX) };
}
