/** The log of an execution. The script makes a window of it that follows; without script it is read in pages. */
import type { LogAnswer } from "../../api/execution_log.ts";
import { search } from "../client.ts";
import type { Html, View } from "../route.ts";

/** The lines of a page without script. */
export const LOG_LINES = 200;

// deno-lint-ignore no-control-regex
const ESCAPES = /\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|.)?/g;
// deno-lint-ignore no-control-regex
const CONTROLS = /[\x00-\x08\x0b-\x1f\x7f]/g;

interface LogProps {
  view: View;
  /** The execution's id. */
  id: string;
  /** The number of the attempt, where it is tried again. */
  attempt: number | undefined;
  page: LogAnswer;
  /** The number of the first line. */
  firstLine: number;
  hasEnded: boolean;
}

export function Log({ view, id, attempt, page, firstLine, hasEnded }: LogProps): Html {
  const { results, next, cursor } = page;
  const more = search({ attempt, cursor, line: firstLine + results.length });
  // With the attempt: a later one has a log of its own.
  const [from, line] = ["cursor", "line"].map((name) => view.query.get(name) ?? undefined);
  const address = `executions/${id}${search({ attempt, cursor: from, line })}`;
  return (
    <section
      aria-labelledby="log-title"
      class="log"
      data-log={`executions/${id}/log`}
      data-query={attempt === undefined ? undefined : `attempt=${attempt}&`}
      data-address={address}
    >
      <div class="title">
        <h2 id="log-title">Log</h2>
        <form class="find" role="search" aria-label="Log" hidden>
          <input
            type="search"
            aria-label="Search in the log"
            placeholder="Search"
            data-hotkey="/"
          />
          <span class="dim" role="status"></span>
        </form>
        <span class="end">
          <button type="button" class="follow" hidden></button>
          <a href={`executions/${id}/log${search({ attempt })}`} download>Download</a>
        </span>
      </div>
      <div class="lines" tabindex={0} role="region" aria-label="Lines of the log">
        <div class="window">
          {results.map(({ message, stream, time }, index) => (
            <div class={`line ${stream}`} id={`L${firstLine + index}`}>
              <a href={`${address}#L${firstLine + index}`} title={time}>{firstLine + index}</a>
              <span>{plainText(message)}</span>
            </div>
          ))}
        </div>
      </div>
      {results.length > 0 ? null : (
        <p class="dim nothing">
          {hasEnded ? "It printed nothing." : "It has printed nothing yet."}
        </p>
      )}
      {next === null ? null : (
        <p class="more">
          <a href={`executions/${id}${more}`}>More lines</a>
        </p>
      )}
    </section>
  );
}

/** Removes the codes of terminals. The script shows those of colours. */
function plainText(message: string): string {
  return message.replace(ESCAPES, "").replace(CONTROLS, "");
}
