/** `/pipelines`: the launched pipelines of all projects, newest first. */
import { PIPELINE_STATUSES } from "../../../store/records/pipelines.ts";
import type { ShownPipeline } from "../../api/pipelines.ts";
import { State } from "../components/states.tsx";
import { Empty, Row } from "../components/table.tsx";
import { ShortId, Time } from "../components/values.tsx";
import { showWork } from "../components/work_list.tsx";
import { type Html, route, type View } from "../route.ts";

const COLUMNS = ["Created", "Pipeline", "Trigger", "Project", "State", "Nodes", "Id"];

function pipelineRow(pipeline: ShownPipeline, { now_ms }: View): Html {
  const { id, created_at, title, trigger, project, status, nodes, reason } = pipeline;
  const waits = nodes.some((node) => node.status === "awaiting_approval");
  const complete = nodes.filter((node) => node.status === "complete").length;
  return (
    <Row id={id}>
      <td>
        <a href={`pipelines/${id}`}>
          <Time at={created_at} now_ms={now_ms} />
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

function noPipeline(): Html {
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
export const pipelinesRoutes = [
  route({
    path: "/pipelines",
    show: ({ view }) =>
      showWork<ShownPipeline>(view, {
        address: "pipelines",
        title: "Pipelines",
        noun: "pipeline",
        columns: COLUMNS,
        statuses: PIPELINE_STATUSES,
        row: pipelineRow,
        none: noPipeline,
      }),
  }),
];
