/** `/executions`: the launched steps of all projects, newest first. `/runs` leads to the deliveries that made them. */
import { EXECUTION_STATUSES } from "../../../store/records/executions.ts";
import type { ShownExecution } from "../../api/executions.ts";
import { ApiCallError, type ListPage, orRefused, search } from "../client.ts";
import { Page } from "../components/page.tsx";
import { State } from "../components/states.tsx";
import { Empty, More, Row, Table } from "../components/table.tsx";
import { durationText, ShortId, Time } from "../components/values.tsx";
import { WorkFilters, workFilters, type WorkFilterValues } from "../components/work_filters.tsx";
import { type Html, route, type Shown, type View, type Visit } from "../route.ts";

const COLUMNS = ["Created", "Step", "Trigger", "Project", "State", "Engine", "Duration", "Id"];
const REFRESH_S = 5;

async function show({ view }: Visit): Promise<Shown> {
  const filters = workFilters(view.query);
  const cursor = view.query.get("cursor") ?? undefined;
  const found = await orRefused(
    view.api.list<ShownExecution>("executions/", { ...filters, cursor }),
  );
  const page = ExecutionsPage({ view, filters, cursor, found });
  return found instanceof ApiCallError ? { page, status: found.status } : page;
}

interface ExecutionsProps {
  view: View;
  filters: WorkFilterValues;
  cursor: string | undefined;
  /** The executions, or the refusal of the filters. */
  found: ListPage<ShownExecution> | ApiCallError;
}

function ExecutionsPage({ view, filters, cursor, found }: ExecutionsProps): Html {
  const refused = found instanceof ApiCallError ? found : undefined;
  return (
    <Page view={view} title="Executions" nav="Executions">
      <h1>Executions</h1>
      <WorkFilters
        address="executions"
        filters={filters}
        statuses={EXECUTION_STATUSES}
        refused={refused}
      />
      {found instanceof ApiCallError
        ? null
        : <Found view={view} filters={filters} cursor={cursor} page={found} />}
    </Page>
  );
}

interface FoundProps extends Omit<ExecutionsProps, "found"> {
  page: ListPage<ShownExecution>;
}

function Found({ view, filters, cursor, page }: FoundProps): Html {
  const isFiltered = Object.keys(filters).length > 0;
  return (
    <>
      <div id="executions" data-refresh={cursor === undefined ? REFRESH_S : undefined}>
        {page.results.length === 0
          ? <NoneFound isFiltered={isFiltered} />
          : <ExecutionTable view={view} executions={page.results} />}
        {page.results.some(({ pipeline_id }) => pipeline_id !== undefined)
          ? (
            <p class="dim">
              The executions of a pipeline stand where the pipeline was created: a node may have
              started later.
            </p>
          )
          : null}
        {page.cursor === undefined
          ? null
          : <More href={`executions${search({ ...filters, cursor: page.cursor })}`} />}
      </div>
    </>
  );
}

/** A list of executions. */
function ExecutionTable({ view, executions }: {
  view: View;
  executions: readonly ShownExecution[];
}): Html {
  return (
    <Table label="Executions" columns={COLUMNS}>
      {executions.map((execution) => <ExecutionRow view={view} execution={execution} />)}
    </Table>
  );
}

function ExecutionRow({ view, execution }: { view: View; execution: ShownExecution }): Html {
  const { id, created_at, step, trigger, project, status, waiting, engine } = execution;
  const { machine, duration, reason } = execution;
  const told = waiting ?? reason;
  return (
    <Row id={id}>
      <td>
        <a href={`executions/${id}`}>
          <Time at={created_at} now_ms={view.now_ms} />
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

function NoneFound({ isFiltered }: { isFiltered: boolean }): Html {
  if (isFiltered) {
    return (
      <Empty title="No execution matches">
        <p>
          <a href="executions">Show all executions</a>
        </p>
      </Empty>
    );
  }
  return (
    <Empty title="Nothing was launched yet">
      <p>
        An execution is one launch of a step. A request that passes the conditions of a{" "}
        <a href="triggers">trigger</a> launches one.
      </p>
    </Empty>
  );
}

/** Leads to another address: a run is an accepted delivery, and has its id. */
function redirectTo({ root }: View, address: string): Promise<Response> {
  const headers = { location: `${root}${address}`, "cache-control": "no-store" };
  return Promise.resolve(new Response(null, { status: 302, headers }));
}

/** The routes of the list. */
export const executionsRoutes = [
  route({ path: "/executions", show }),
  route({
    path: "/runs",
    answer: ({ view }) => redirectTo(view, "deliveries?outcome=accepted"),
  }),
  route({
    path: "/runs/:id",
    answer: ({ view, params: { id } }) => redirectTo(view, `deliveries/${encodeURIComponent(id)}`),
  }),
];
