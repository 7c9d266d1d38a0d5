/** `/executions/<id>`: one launch of a step: its log, live; its metadata, files and facts. */
import { STATUS_CODE } from "@std/http/status";
import { hasEnded } from "../../../store/records/executions.ts";
import type { LogAnswer } from "../../api/execution_log.ts";
import type { ShownExecution } from "../../api/executions.ts";
import { ApiCallError, search } from "../client.ts";
import {
  Definition,
  ExecutionFacts,
  ExecutionNotice,
  ExecutionOrigin,
  Inputs,
  Outputs,
  valueText,
} from "../components/execution_facts.tsx";
import { Attempts } from "../components/attempts.tsx";
import { Action, Confirm } from "../components/form.tsx";
import { Log, LOG_LINES } from "../components/log.tsx";
import { Removed } from "../components/values.tsx";
import { may, Page } from "../components/page.tsx";
import { State } from "../components/states.tsx";
import { Notice } from "../components/table.tsx";
import {
  type Html,
  route,
  type Submission,
  type Submitted,
  type View,
  type Visit,
} from "../route.ts";

const REFRESH_S = 2;
/** The lines that the script asks for at once. */
const LINES_PER_ANSWER = 10_000;

interface ExecutionProps {
  view: View;
  id: string;
  /** The refusal of a form. */
  refused?: ApiCallError;
}

async function ExecutionPage({ view, id, refused }: ExecutionProps): Promise<Html> {
  const execution = await view.api.get<ShownExecution>(`executions/${id}/`, {
    attempt: attemptOf(view),
  });
  const { log_removed_at, attempt } = execution;
  const log = log_removed_at === undefined
    ? await view.api.get<LogAnswer>(`executions/${id}/log/`, {
      limit: LOG_LINES,
      cursor: view.query.get("cursor") ?? undefined,
      attempt,
    })
    : undefined;
  const isOver = hasEnded(execution.status);
  const refresh = isOver ? undefined : REFRESH_S;
  return (
    <Page view={view} title={execution.title} nav="Executions" hasLog={log !== undefined}>
      <p class="crumbs">
        <a href="executions">Executions</a> ›{" "}
        <a href={`executions${search({ project: execution.project })}`}>{execution.project}</a>
      </p>
      <div id="head" data-refresh={refresh}>
        <Head view={view} execution={execution} />
      </div>
      {refused === undefined ? null : <Notice tone="bad">{refused.message}</Notice>}
      <div id="attempts" data-refresh={refresh}>
        <Attempts view={view} execution={execution} />
      </div>
      {log === undefined ? null : (
        <Log
          view={view}
          id={id}
          attempt={attempt}
          page={log}
          firstLine={Number(view.query.get("line")) || 1}
          hasEnded={isOver}
        />
      )}
      {log_removed_at === undefined ? null : (
        <section aria-labelledby="log-title">
          <h2 id="log-title">Log</h2>
          <Removed at={log_removed_at} now_ms={view.now_ms} />
        </section>
      )}
      <div class="columns">
        <section aria-labelledby="metadata">
          <h2 id="metadata">Metadata</h2>
          <div class="charts" hidden></div>
          <div id="latest" data-refresh={refresh}>
            <Latest metadata={execution.metadata} />
          </div>
        </section>
        <section id="files" data-refresh={refresh} aria-label="Files">
          <h2>Outputs</h2>
          <Outputs view={view} execution={execution} />
          <h2>Inputs</h2>
          <Inputs inputs={execution.inputs} />
        </section>
      </div>
      <h2>Origin</h2>
      <ExecutionOrigin execution={execution} />
      <Definition execution={execution} />
    </Page>
  );
}

function Head({ view, execution }: { view: View; execution: ShownExecution }): Html {
  const { id, title, status, run_id } = execution;
  const isOver = hasEnded(status);
  return (
    <>
      <div class="title">
        <h1>{title}</h1>
        <State state={status} />
        {may(view, "operate")
          ? (
            <div class="end">
              {isOver ? null : (
                <Confirm
                  view={view}
                  to={`executions/${id}/stop`}
                  consequence="Stop this execution"
                >
                  Stop
                </Confirm>
              )}
              <Action view={view} to={`deliveries/${run_id}/replay`} hotkey="r">
                Launch again
              </Action>
            </div>
          )
          : null}
      </div>
      <ExecutionNotice execution={execution} />
      <div class="summary">
        <ExecutionFacts view={view} execution={execution} />
      </div>
    </>
  );
}

/** The latest values. The script draws the earlier ones from the log. */
function Latest({ metadata }: Pick<ShownExecution, "metadata">): Html {
  const entries = Object.entries(metadata);
  if (entries.length === 0) {
    return (
      <p class="dim">
        A line of output that is a JSON object, such as <code>{'{"loss": 0.1}'}</code>, is metadata.
      </p>
    );
  }
  return (
    <dl class="facts">
      {entries.map(([key, value]) => (
        <>
          <dt>{key}</dt>
          <dd>
            <code>{valueText(value)}</code>
          </dd>
        </>
      ))}
    </dl>
  );
}

async function stop({ view, params: { id } }: Submission<"/:id">): Promise<Submitted> {
  await view.api.send("POST", `executions/${id}/stop/`);
  return { to: `executions/${id}`, notice: "It was asked to stop" };
}

/** The attempt that an address names. */
function attemptOf({ query }: View): string | undefined {
  return query.get("attempt") ?? undefined;
}

/** Answers with the whole log as text. */
async function download({ view, params: { id } }: Visit<"/:id">): Promise<Response> {
  const path = (cursor: string) =>
    `executions/${id}/log/${search({ cursor, limit: LINES_PER_ANSWER, attempt: attemptOf(view) })}`;
  const first = await view.api.get<LogAnswer>(path("0"));
  async function* lines() {
    for (let page = first;; page = await view.api.get<LogAnswer>(path(page.cursor))) {
      yield new TextEncoder().encode(page.results.map(({ message }) => `${message}\n`).join(""));
      if (page.next === null) return;
    }
  }
  return new Response(ReadableStream.from(lines()), {
    headers: {
      "content-type": "text/plain; charset=utf-8",
      "content-disposition": `attachment; filename="log-${id}.txt"`,
      "x-content-type-options": "nosniff",
      "cache-control": "no-store",
    },
  });
}

/** Answers with a part of the log, as JSON: the script reads it. */
async function part({ view, params: { id } }: Visit<"/:id">): Promise<Response> {
  const cursor = view.query.get("cursor") ?? undefined;
  const query = search({ cursor, limit: LINES_PER_ANSWER, attempt: attemptOf(view) });
  return await view.api.answer(`executions/${id}/log/${query}`);
}

/** Streams what is printed from now on. */
async function follow({ view, params: { id } }: Visit<"/:id">, headers: Headers) {
  const lastId = headers.get("last-event-id");
  const cursor = view.query.get("cursor") ?? undefined;
  const query = search({ cursor, follow: "true", attempt: attemptOf(view) });
  const given = lastId === null ? undefined : { "last-event-id": lastId };
  return await view.api.answer(`executions/${id}/log/${query}`, given);
}

async function output({ view, params: { id } }: Visit<"/:id">): Promise<Response> {
  const path = (view.query.get("path") ?? "").split("/").map(encodeURIComponent).join("/");
  const answer = await view.api.answer(
    `executions/${id}/outputs/${path}${search({ attempt: attemptOf(view) })}`,
  );
  if (answer.ok) return answer;
  await answer.body?.cancel();
  const why = answer.status === STATUS_CODE.Conflict
    ? "This output was changed after its execution had ended"
    : "This output is not kept any more";
  throw new ApiCallError(answer.status, why, []);
}

/** The routes of one execution. */
export const executionRoutes = [
  route({
    path: "/executions/:id",
    show: ({ view, params: { id } }) => ExecutionPage({ view, id }),
  }),
  route({
    path: "/executions/:id/stop",
    submit: stop,
    again: ({ view, params: { id } }, refused) => ExecutionPage({ view, id, refused }),
  }),
  route({ path: "/executions/:id/log", answer: download }),
  route({ path: "/executions/:id/log/lines", answer: part }),
  route({ path: "/executions/:id/log/events", answer: follow }),
  route({ path: "/executions/:id/output", answer: output }),
];
