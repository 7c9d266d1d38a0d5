/** `/pipelines`: the launched pipelines of all projects, newest first. */
import { PIPELINE_STATUSES } from "../../../store/records/pipelines.ts";
import type { ShownPipeline } from "../../api/pipelines.ts";
import { ApiCallError, type ListPage, orRefused, search } from "../client.ts";
import { Page } from "../components/page.tsx";
import { State } from "../components/states.tsx";
import { Empty, More, Row, Table } from "../components/table.tsx";
import { ShortId, Time } from "../components/values.tsx";
import { WorkFilters, workFilters, type WorkFilterValues } from "../components/work_filters.tsx";
import { type Html, route, type Shown, type View, type Visit } from "../route.ts";

const COLUMNS = ["Created", "Pipeline", "Trigger", "Project", "State", "Nodes", "Id"];
const REFRESH_S = 5;

async function show({ view }: Visit): Promise<Shown> {
  const filters = workFilters(view.query);
  const cursor = view.query.get("cursor") ?? undefined;
  const found = await orRefused(
    view.api.list<ShownPipeline>("pipelines/", { ...filters, cursor }),
  );
  const refused = found instanceof ApiCallError ? found : undefined;
  const page = (
    <Page view={view} title="Pipelines" nav="Pipelines">
      <h1>Pipelines</h1>
      <WorkFilters
        address="pipelines"
        filters={filters}
        statuses={PIPELINE_STATUSES}
        refused={refused}
      />
      {found instanceof ApiCallError
        ? null
        : <Found view={view} filters={filters} cursor={cursor} page={found} />}
    </Page>
  );
  return refused === undefined ? page : { page, status: refused.status };
}

interface FoundProps {
  view: View;
  filters: WorkFilterValues;
  cursor: string | undefined;
  page: ListPage<ShownPipeline>;
}

function Found({ view, filters, cursor, page }: FoundProps): Html {
  return (
    <>
      <div id="pipelines" data-refresh={cursor === undefined ? REFRESH_S : undefined}>
        {page.results.length === 0
          ? <NoneFound isFiltered={Object.keys(filters).length > 0} />
          : (
            <Table label="Pipelines" columns={COLUMNS}>
              {page.results.map((pipeline) => <PipelineRow view={view} pipeline={pipeline} />)}
            </Table>
          )}
        {page.cursor === undefined
          ? null
          : <More href={`pipelines${search({ ...filters, cursor: page.cursor })}`} />}
      </div>
    </>
  );
}

function PipelineRow({ view, pipeline }: { view: View; pipeline: ShownPipeline }): Html {
  const { id, created_at, title, trigger, project, status, nodes, reason } = pipeline;
  const waits = nodes.some((node) => node.status === "awaiting_approval");
  const complete = nodes.filter((node) => node.status === "complete").length;
  return (
    <Row id={id}>
      <td>
        <a href={`pipelines/${id}`}>
          <Time at={created_at} now_ms={view.now_ms} />
        </a>
      </td>
      <td>{title}</td>
      <td>{trigger}</td>
      <td>{project}</td>
      <td class="wide">
        <State state={status} /> {waits ? <State state="awaiting_approval" /> : null}
        {reason === undefined ? null : <span class="dim">{reason}</span>}
      </td>
      <td>{complete} of {nodes.length} complete</td>
      <td>
        <ShortId id={id} />
      </td>
    </Row>
  );
}

function NoneFound({ isFiltered }: { isFiltered: boolean }): Html {
  if (isFiltered) {
    return (
      <Empty title="No pipeline matches">
        <p>
          <a href="pipelines">Show all pipelines</a>
        </p>
      </Empty>
    );
  }
  return (
    <Empty title="No pipeline was launched yet">
      <p>
        A pipeline is several steps, of which later ones get the files of earlier ones.{" "}
        <a href="docs/pipelines">The documentation</a>{" "}
        says how to write one; a trigger with the action <code>run_pipeline</code> launches it.
      </p>
    </Empty>
  );
}

/** The route of the list. */
export const pipelinesRoutes = [route({ path: "/pipelines", show })];
