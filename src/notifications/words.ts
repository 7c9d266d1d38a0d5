/**
 * The words of a notification.
 *
 * @module
 */
import type { NotifiedCause } from "../store/records/notifications.ts";

const STATE_WORDS = { began: "New", continues: "Goes on", recovered: "Recovered" } as const;

/** The words of a message. */
export interface Words {
  title: string;
  text: string;
}

/** Returns the words for causes. */
export function usualWords(causes: readonly NotifiedCause[], more: number): Words {
  const lines = causes.flatMap((cause) => [
    lineOf(cause),
    `  ${cause.url}`,
    ...cause.payload === undefined ? [] : [`  The payload: ${cause.payload}`],
  ]);
  if (more > 0) lines.push(`and ${more} more: see what needs attention`);
  return { title: titleOf(causes, more), text: lines.join("\n") };
}

/** Returns the words for the failures of a cause, such as `100 failures since 12:00`. */
function lineOf(
  { state, subject, code, text, count, since, ended_at, advice }: NotifiedCause,
): string {
  const times = count > 1 ? ` (${count} times since ${since})` : "";
  const head = `${STATE_WORDS[state]}: ${subjectText(subject)}: ${code}: ${text}${times}`;
  return state === "recovered" ? `${head}. It ended at ${ended_at}` : `${head}. ${advice}`;
}

function titleOf(causes: readonly NotifiedCause[], more: number): string {
  const [only, other] = causes;
  if (only !== undefined && other === undefined && more === 0) {
    return `${STATE_WORDS[only.state]}: ${only.code} of ${subjectText(only.subject)}`;
  }
  const counts = Object.entries(STATE_WORDS).flatMap(([state, word]) => {
    const { length } = causes.filter((cause) => cause.state === state);
    return length === 0 ? [] : [`${length} ${word.toLowerCase()}`];
  });
  const rest = more > 0 ? [`${more} more`] : [];
  return `Hooklaunch: ${[...counts, ...rest].join(", ")}`;
}

function subjectText({ kind, name }: NotifiedCause["subject"]): string {
  return kind === "service" ? "the service" : `${kind} ${name}`;
}
