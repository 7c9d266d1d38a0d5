/** `/pipelines/<id>`: the graph of a pipeline with the states of its nodes; approval, stopping, starting again. */
import { hasPipelineEnded } from "../../../store/records/pipelines.ts";
import type { PipelineDetails, ShownPipeline } from "../../api/pipelines.ts";
import { type ApiCallError, search } from "../client.ts";
import { Values } from "../components/execution_facts.tsx";
import { Action, Confirm } from "../components/form.tsx";
import { LaunchedBy } from "../components/launched_by.tsx";
import { Graph } from "../components/graph.tsx";
import { may, Page } from "../components/page.tsx";
import { State } from "../components/states.tsx";
import { Notice, Row, Table } from "../components/table.tsx";
import { Copied, Facts, Time } from "../components/values.tsx";
import { type Html, route, type Submission, type Submitted, type View } from "../route.ts";

const REFRESH_S = 2;
const RETRY = "Runs what has not completed, with the same commit and inputs";
const COPY = "Runs all nodes again, with the same commit and inputs";
const REPLAY = "Launches the delivery again, with the trigger's actions as they are now";

interface PipelineProps {
  view: View;
  pipeline: PipelineDetails;
}

async function PipelinePage(
  { view, id, refused }: { view: View; id: string; refused?: ApiCallError },
): Promise<Html> {
  const pipeline = await view.api.get<PipelineDetails>(`pipelines/${id}/`);
  const { title, project, status, parameters } = pipeline;
  const isOver = hasPipelineEnded(status);
  return (
    <Page view={view} title={title} nav="Pipelines">
      <p class="crumbs">
        <a href="pipelines">Pipelines</a> ›{" "}
        <a href={`pipelines${search({ project })}`}>{project}</a>
      </p>
      {refused === undefined ? null : <Notice tone="bad">{refused.message}</Notice>}
      <div id="pipeline" data-refresh={isOver ? undefined : REFRESH_S}>
        <Head view={view} pipeline={pipeline} />
        <Graph {...pipeline} />
        <Nodes pipeline={pipeline} />
      </div>
      <Values title="Parameters" values={parameters} />
      <p>
        <a href={`executions${search({ pipeline: id })}`}>All its executions</a>
      </p>
      <p class="dim">
        Id <Copied value={id} label="the id" />
      </p>
    </Page>
  );
}

function Head({ view, pipeline }: PipelineProps): Html {
  const { title, status, reason, created_at, ended_at, trigger, commit, copy_of } = pipeline;
  const { now_ms } = view;
  return (
    <>
      <div class="title">
        <h1>{title}</h1>
        <State state={status} />
        {may(view, "operate") ? <Actions view={view} pipeline={pipeline} /> : null}
      </div>
      {reason === undefined
        ? null
        : <Notice tone={status === "error" ? "bad" : "waiting"}>{reason}</Notice>}
      {may(view, "operate") ? <Approvals view={view} pipeline={pipeline} /> : null}
      <div class="summary">
        <Facts
          facts={[
            ["Created", <Time at={created_at} now_ms={now_ms} />],
            [
              "Ended",
              ended_at === undefined ? undefined : <Time at={ended_at} now_ms={now_ms} />,
            ],
            ["Commit", <code>{commit.slice(0, 12)}</code>],
            ["Trigger", trigger],
            ["Launched by", <LaunchedBy {...pipeline} />],
            [
              "Copy of",
              copy_of === undefined
                ? undefined
                : <a href={`pipelines/${copy_of}`}>an earlier one</a>,
            ],
          ]}
        />
      </div>
    </>
  );
}

function Actions({ view, pipeline: { id, run_id, status, nodes } }: PipelineProps): Html {
  const running = nodes.filter((node) => node.status === "started").length;
  const canRetry = hasPipelineEnded(status) && nodes.some((node) => node.status !== "complete");
  const ends = running === 1 ? "and its running node" : `and its ${running} running nodes`;
  return (
    <div class="end">
      {hasPipelineEnded(status) ? null : (
        <Confirm
          view={view}
          to={`pipelines/${id}/stop`}
          consequence={running === 0 ? "Stop this pipeline" : `Stop this pipeline ${ends}`}
        >
          Stop
        </Confirm>
      )}
      {canRetry
        ? (
          <Action view={view} to={`pipelines/${id}/retry`} title={RETRY} class="primary">
            Retry
          </Action>
        )
        : null}
      <Action view={view} to={`pipelines/${id}/copy`} title={COPY}>Copy</Action>
      <Action view={view} to={`deliveries/${run_id}/replay`} title={REPLAY} hotkey="r">
        Launch again
      </Action>
    </div>
  );
}

/** The nodes that wait for approval, each with its button. */
function Approvals({ view, pipeline: { id, nodes } }: PipelineProps): Html {
  return (
    <>
      {nodes.filter(({ status }) => status === "awaiting_approval").map(({ name, approval }) => (
        <Notice tone="waiting">
          <div class="asked">
            <span>
              <strong>{name}</strong> waits for approval{" "}
              {approval?.when === "node-complete" ? "of its results" : "before it starts"}
            </span>
            <Action
              view={view}
              to={`pipelines/${id}/approve`}
              fields={{ node: name }}
              class="primary"
            >
              Approve {name}
            </Action>
          </div>
        </Notice>
      ))}
    </>
  );
}

function Nodes({ pipeline: { nodes } }: Pick<PipelineProps, "pipeline">): Html {
  return (
    <Table label="Nodes" columns={["Node", "Step", "State", "Attempts"]}>
      {nodes.map(({ name, step, status, execution_id, reused, attempts, reason }, index) => (
        <Row id={`node-${index}`}>
          <td class="name">
            {execution_id === undefined ? name : <a href={`executions/${execution_id}`}>{name}</a>}
          </td>
          <td class="name">{step}</td>
          <td class="wide">
            <State state={status} /> {reused ? <span class="dim">reused</span> : null}{" "}
            {reason === undefined ? null : <span class="dim">{reason}</span>}
          </td>
          <td>{attempts}</td>
        </Row>
      ))}
    </Table>
  );
}

/** Performs an operation, and shows the pipeline that it answers with: a new one, where it has made one. */
async function change(
  { view, params: { id } }: Submission<"/:id">,
  { path, body, notice }: { path: string; body?: unknown; notice: string },
): Promise<Submitted> {
  const shown = await view.api.send<ShownPipeline>("POST", `pipelines/${id}/${path}/`, body);
  return { to: `pipelines/${shown.id}`, notice };
}

function again(
  { view, params: { id } }: Submission<"/:id">,
  refused: ApiCallError,
): Promise<Html> {
  return PipelinePage({ view, id, refused });
}

/** The routes of one pipeline. */
export const pipelineRoutes = [
  route({
    path: "/pipelines/:id",
    show: ({ view, params: { id } }) => PipelinePage({ view, id }),
  }),
  route({
    path: "/pipelines/:id/stop",
    submit: (sent) => change(sent, { path: "stop", notice: "It was asked to stop" }),
    again,
  }),
  route({
    path: "/pipelines/:id/copy",
    submit: (sent) => change(sent, { path: "copy", notice: "This is the copy" }),
    again,
  }),
  route({
    path: "/pipelines/:id/retry",
    submit: (sent) => change(sent, { path: "retry", notice: "This pipeline retries the other" }),
    again,
  }),
  route({
    path: "/pipelines/:id/approve",
    submit: (sent) => {
      const node = sent.form.get("node") ?? "";
      return change(sent, { path: "approve", body: { node }, notice: `${node} goes on` });
    },
    again,
  }),
];
