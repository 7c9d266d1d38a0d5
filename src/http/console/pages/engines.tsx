/** `/engines`: the engines of the projects, and the work that runs and waits on each. */
import type { ShownExecution } from "../../api/executions.ts";
import type { ShownFailure } from "../../api/failures.ts";
import type { ShownProject } from "../../api/projects.ts";
import { Page } from "../components/page.tsx";
import { Badge } from "../components/states.tsx";
import { Empty, Row, Table } from "../components/table.tsx";
import { Lasting } from "../components/values.tsx";
import { type Html, route, type View, type Visit } from "../route.ts";

const REFRESH_S = 5;
/** The projects and executions that are looked at. */
const LOOKED_AT = 200;
const COLUMNS = ["Engine", "State", "Projects", "Work", "Waits the longest"];

interface EngineWork {
  type: string;
  failures: readonly ShownFailure[];
  projects: string[];
  running: ShownExecution[];
  waiting: ShownExecution[];
}

async function show({ view }: Visit): Promise<Html> {
  const engines = await enginesOf(view);
  return (
    <Page view={view} title="Engines" nav="Engines">
      <h1>Engines</h1>
      <div id="engines" data-refresh={REFRESH_S}>
        {engines.length === 0
          ? (
            <Empty title="No engine is in use">
              <p>
                An engine runs the commands of a project. <a href="projects">Add a project</a>{" "}
                first.
              </p>
            </Empty>
          )
          : (
            <Table label="Engines" columns={COLUMNS} stacked>
              {engines.map((engine) => <EngineRow view={view} engine={engine} />)}
            </Table>
          )}
      </div>
    </Page>
  );
}

function EngineRow({ view, engine }: { view: View; engine: EngineWork }): Html {
  const { type, projects, running, waiting } = engine;
  // Lists are newest first.
  const oldest = waiting.at(-1);
  return (
    <Row id={type}>
      <td>{type}</td>
      <td class="wide">
        <Reachability view={view} engine={engine} />
      </td>
      <td class="wide">
        {projects.length === 0 ? <span class="dim">none</span> : null}
        {projects.map((name, index) => (
          <>
            {index === 0 ? "" : ", "}
            <a href={`projects/${encodeURIComponent(name)}`}>{name}</a>
          </>
        ))}
      </td>
      <td>
        <a href="executions?status=started">{counted(running)} running</a>,{" "}
        <a href="executions?status=queued">{counted(waiting)} waiting</a>
      </td>
      <td class="wide">
        {oldest === undefined ? <span class="dim">nothing waits</span> : (
          <>
            <a href={`executions/${oldest.id}`}>{oldest.title}</a> waits{" "}
            <Lasting since={oldest.created_at} now_ms={view.now_ms} />
            {oldest.waiting === undefined ? null : <span class="dim">: {oldest.waiting}</span>}
          </>
        )}
      </td>
    </Row>
  );
}

/** The failures of an engine: one a cluster. After a start they are known once each was asked. */
function Reachability(
  { view, engine: { failures, running, waiting } }: { view: View; engine: EngineWork },
): Html {
  if (failures.length > 0) {
    return (
      <>
        {failures.map(({ since, detail, projects = [] }) => (
          <div>
            <Badge tone="bad" label="not reachable" />{" "}
            <Lasting since={since} now_ms={view.now_ms} />
            {projects.length === 0 ? "" : `, needed by ${projects.join(", ")}`}
            <br />
            <span class="dim">{detail}</span>
          </div>
        ))}
      </>
    );
  }
  const unreachable = [...running, ...waiting].filter(({ reachable }) => reachable === false);
  if (unreachable.length === 0) return <Badge tone="ok" label="no failure known" />;
  const executions = unreachable.length === 1 ? "1 execution" : `${unreachable.length} executions`;
  return <Badge tone="bad" label={`cannot be asked about ${executions}`} />;
}

async function enginesOf({ api }: View): Promise<EngineWork[]> {
  const limit = LOOKED_AT;
  const [projects, running, waiting, failures] = await Promise.all([
    api.list<ShownProject>("projects/", { limit }),
    api.list<ShownExecution>("executions/", { limit, status: "started" }),
    api.list<ShownExecution>("executions/", { limit, status: "queued" }),
    api.listIfAllowed<ShownFailure>("failures/"),
  ]);
  const work = [...running.results, ...waiting.results];
  const types = new Set([
    ...[...projects.results, ...work].map(({ engine }) => engine.type),
    ...failures.map(({ engine }) => engine).filter((type) => type !== undefined),
  ]);
  const on = <T extends { engine: { type: string } }>(all: readonly T[], type: string) =>
    all.filter(({ engine }) => engine.type === type);
  return [...types].map((type) => ({
    type,
    failures: failures.filter(({ engine }) => engine === type),
    projects: on(projects.results, type).map(({ name }) => name),
    running: on(running.results, type),
    waiting: on(waiting.results, type),
  }));
}

function counted(executions: readonly ShownExecution[]): string {
  return executions.length >= LOOKED_AT ? `${LOOKED_AT} or more` : String(executions.length);
}

/** The route of the engines. */
export const enginesRoutes = [route({ path: "/engines", show })];
