/**
 * Printing the logs of executions, whole or as they come.
 *
 * @module
 */
import type { LogLine } from "../../engines/engine.ts";
import { exitCodeOf } from "../console/exit_code.ts";
import { recordText } from "../console/format.ts";
import { writeLines } from "../console/terminal.ts";
import type { ApiClient } from "./client.ts";
import { attemptQuery, type FollowedEnd, followLog } from "./follow.ts";

const LOG_LIMIT = 10_000;
/** The start of a line of Hooklaunch itself, between the lines of a step. */
export const EVENT_PREFIX = "hooklaunch: ";

/** Prints lines of a log. */
export type Print = (lines: readonly LogLine[]) => Promise<void>;

/** Prints the log of an execution, or of an attempt, as far as it is. */
export async function printAll(
  api: ApiClient,
  id: string,
  print: Print,
  attempt?: number,
): Promise<void> {
  for (let cursor = "0";;) {
    const page: { results: LogLine[]; cursor: string } = await api.request(
      "GET",
      `executions/${id}/log/?limit=${LOG_LIMIT}&cursor=${cursor}${attemptQuery(attempt)}`,
    );
    await print(page.results);
    if (page.cursor === cursor) return;
    cursor = page.cursor;
  }
}

/**
 * Prints the log of an execution until it has ended, and returns the exit code for its end.
 *
 * @param only the attempt that is followed alone; the last one, and those behind it, when absent
 */
export async function printFollowed(
  api: ApiClient,
  id: string,
  print: Print,
  only?: number,
): Promise<number> {
  // Each attempt has a log and cursors of its own, so each connection names its attempt.
  let { attempt = only }: { attempt?: number } = only === undefined
    ? await api.request("GET", `executions/${id}/`)
    : {};
  for (;;) {
    const { status, next_attempt } = await printOne(followLog(api, id, attempt), print);
    if (only !== undefined || next_attempt === undefined) return exitCodeOf(status);
    const message = `Log of attempt ${next_attempt}`;
    await print([{ time: new Date().toISOString(), stream: "event", message }]);
    attempt = next_attempt;
  }
}

async function printOne(log: ReturnType<typeof followLog>, print: Print): Promise<FollowedEnd> {
  try {
    for (;;) {
      const { done, value } = await log.next();
      if (done) return value;
      await print(value);
    }
  } finally {
    // Ends the connection when the reader is gone.
    await log.return({ status: "stopped" });
  }
}

/** Prints standard output to standard output, and the rest to standard error. */
export async function printLines(lines: readonly LogLine[]): Promise<void> {
  for (let start = 0; start < lines.length;) {
    const isOut = lines[start]?.stream === "stdout";
    let end = start;
    while (end < lines.length && (lines[end]?.stream === "stdout") === isOut) end++;
    const texts = lines.slice(start, end).map(({ stream, message }) =>
      stream === "event" ? EVENT_PREFIX + message : message
    );
    await writeLines(isOut ? Deno.stdout : Deno.stderr, texts);
    start = end;
  }
}

/** Prints each line as a JSON object. */
export async function printAsJson(lines: readonly LogLine[]): Promise<void> {
  await writeLines(Deno.stdout, lines.map(recordText));
}
