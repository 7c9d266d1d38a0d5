/** `/executions`: the launched steps of all projects, newest first. `/runs` leads to the deliveries that made them. */
import { EXECUTION_STATUSES } from "../../../store/records/executions.ts";
import type { ShownExecution } from "../../api/executions.ts";
import { State } from "../components/states.tsx";
import { Empty, Row } from "../components/table.tsx";
import { durationText, ShortId, Time } from "../components/values.tsx";
import { showWork } from "../components/work_list.tsx";
import { type Html, route, type View } from "../route.ts";

const COLUMNS = ["Created", "Step", "Trigger", "Project", "State", "Engine", "Duration", "Id"];

function executionRow(execution: ShownExecution, { now_ms }: View): Html {
  const { id, created_at, step, trigger, project, status, waiting, engine } = execution;
  const { machine, duration, reason } = execution;
  const told = waiting ?? reason;
  return (
    <Row id={id}>
      <td>
        <a href={`executions/${id}`}>
          <Time at={created_at} now_ms={now_ms} />
        </a>
      </td>
      <td>{step}</td>
      <td>{trigger}</td>
      <td>{project}</td>
      <td class="wide">
        <State state={status} /> {told === undefined ? null : <span class="dim">{told}</span>}
      </td>
      <td>
        {engine.type}
        {machine === undefined ? null : <span class="dim">, {machine}</span>}
      </td>
      <td>{duration === undefined ? "" : durationText(duration * 1_000)}</td>
      <td>
        <ShortId id={id} />
      </td>
    </Row>
  );
}

function noExecution(): Html {
  return (
    <Empty title="Nothing was launched yet">
      <p>
        An execution is one launch of a step. A request that passes the conditions of a{" "}
        <a href="triggers">trigger</a> launches one.
      </p>
    </Empty>
  );
}

function noteOnPipelines(executions: readonly ShownExecution[]): Html | null {
  if (!executions.some(({ pipeline_id }) => pipeline_id !== undefined)) return null;
  return (
    <p class="dim">
      The executions of a pipeline stand where the pipeline was created: a node may have started
      later.
    </p>
  );
}

/** Leads to another address: a run is an accepted delivery, and has its id. */
function redirectTo({ root }: View, address: string): Promise<Response> {
  const headers = { location: `${root}${address}`, "cache-control": "no-store" };
  return Promise.resolve(new Response(null, { status: 302, headers }));
}

/** The routes of the list. */
export const executionsRoutes = [
  route({
    path: "/executions",
    show: ({ view }) =>
      showWork<ShownExecution>(view, {
        address: "executions",
        title: "Executions",
        noun: "execution",
        columns: COLUMNS,
        statuses: EXECUTION_STATUSES,
        row: executionRow,
        none: noExecution,
        note: noteOnPipelines,
      }),
  }),
  route({
    path: "/runs",
    answer: ({ view }) => redirectTo(view, "deliveries?outcome=accepted"),
  }),
  route({
    path: "/runs/:id",
    answer: ({ view, params: { id } }) => redirectTo(view, `deliveries/${encodeURIComponent(id)}`),
  }),
];
