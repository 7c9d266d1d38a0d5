/** The story of a delivery: it arrived, each condition had its say, the sender got an answer, the work went on. */
import type { Child } from "@hono/hono/jsx";
import type { DeliveryDetails, DeliveryVerdict } from "../../api/delivery_details.ts";
import type { ShownRun } from "../../api/shown_run.ts";
import type { WorkStates } from "../../api/work_states.ts";
import type { Html, View } from "../route.ts";
import { State } from "./states.tsx";
import { Turn } from "./turn.tsx";
import { durationText, Time } from "./values.tsx";

/** The states in which executions, pipelines and HTTP requests have ended. */
const ENDED = ["complete", "error", "stopped"];
const REFRESH_S = 2;

export function Story({ delivery, view }: { delivery: DeliveryDetails; view: View }): Html {
  const { verdicts, run, outcome, status, replays = [] } = delivery;
  return (
    <section
      id="story"
      aria-labelledby="story-title"
      data-refresh={refreshOf(delivery)}
    >
      <h2 id="story-title">What happened</h2>
      <ol class="story">
        <Arrival delivery={delivery} view={view} />
        {verdicts === undefined
          ? <UnknownVerdicts delivery={delivery} />
          : verdicts.map((verdict) => <Verdict verdict={verdict} />)}
        {delivery.replay_of === undefined
          ? (
            <Step title="Response" mark={outcome === "refused" ? "bad" : "ok"}>
              The sender got the status {status}
              {outcome === "refused" ? ", and learns nothing of the reason." : "."}
            </Step>
          )
          : null}
        {run === undefined ? null : <Work run={run} view={view} />}
        {replays.map((replay) => (
          <Step title="Replay" mark="quiet">
            <a href={`deliveries/${replay.id}`}>
              <Time at={replay.time} now_ms={view.now_ms} />
            </a>
            <Differences differences={replay.differences} />
          </Step>
        ))}
      </ol>
    </section>
  );
}

interface StepProps {
  title: string;
  mark: "ok" | "bad" | "quiet" | "running" | "waiting";
  children?: Child;
}

function Step({ title, mark, children }: StepProps): Html {
  return (
    <li class={mark}>
      <h3>{title}</h3>
      <div class="told">{children}</div>
    </li>
  );
}

function Arrival({ delivery, view }: { delivery: DeliveryDetails; view: View }): Html {
  const { time, remote_ip, delivery_id, replay_of, launched_by, source } = delivery;
  if (source !== undefined) return <Scheduled delivery={delivery} view={view} />;
  const title = replay_of === undefined ? "Arrived" : "Launched again";
  return (
    <Step title={title} mark="quiet">
      <Time at={time} now_ms={view.now_ms} /> {replay_of === undefined ? <>from {remote_ip}</> : (
        <>
          by {launched_by?.name ?? "an operator"}, from{" "}
          <a href={`deliveries/${replay_of}`}>an earlier delivery</a>
        </>
      )}
      {delivery_id === undefined ? null : (
        <div>
          The sender's id is <code>{delivery_id}</code>
        </div>
      )}
    </Step>
  );
}

/** The launch by a schedule, or by an operator in its place. */
function Scheduled({ delivery, view }: { delivery: DeliveryDetails; view: View }): Html {
  const { time, scheduled_for, launched_by } = delivery;
  return (
    <Step title="Scheduled" mark="quiet">
      {scheduled_for === undefined
        ? (
          <>
            <Time at={time} now_ms={view.now_ms} /> by {launched_by?.name ?? "an operator"}
          </>
        )
        : (
          <>
            For <Time at={scheduled_for} now_ms={view.now_ms} />
          </>
        )}
    </Step>
  );
}

function UnknownVerdicts({ delivery: { replay_of, condition, reason, source } }: {
  delivery: DeliveryDetails;
}) {
  if (replay_of !== undefined || source !== undefined) return null;
  if (reason === undefined) {
    return (
      <Step title="Conditions" mark="quiet">
        The trigger has changed since, so what each condition said is not known.
      </Step>
    );
  }
  return <Step title={condition ?? "Conditions"} mark="bad">{reason}</Step>;
}

function Verdict({ verdict }: { verdict: DeliveryVerdict }): Html {
  const { condition, verdict: said, reason, found, expected } = verdict;
  const mark = said === "passed" ? "ok" : said === "failed" ? "bad" : "quiet";
  return (
    <Step title={condition} mark={mark}>
      <State state={said} />
      {reason === undefined ? null : <div>{reason}</div>}
      {found === undefined && expected === undefined ? null : (
        <dl class="facts">
          {expected === undefined ? null : (
            <>
              <dt>Expected</dt>
              <dd>
                <code>{expected}</code>
              </dd>
            </>
          )}
          {found === undefined ? null : (
            <>
              <dt>Found</dt>
              <dd>
                <code>{found}</code>
              </dd>
            </>
          )}
        </dl>
      )}
    </Step>
  );
}

function Work({ run, view }: { run: ShownRun; view: View }): Html {
  const { actions, executions, pipelines, http_requests, status, work } = run;
  const { created_at, ended_at } = run;
  const took_ms = ended_at === undefined
    ? undefined
    : Date.parse(ended_at) - Date.parse(created_at);
  return (
    <>
      <Step
        title="Run"
        mark={status === "pending" ? "running" : status === "completed" ? "ok" : "bad"}
      >
        <State state={status} />
        {took_ms === undefined ? "" : ` after ${durationText(took_ms)}`}
        {status === "pending" ? null : (
          <div>
            All its work: <State state={work} />
          </div>
        )}
        <Turn run={run} view={view} />
      </Step>
      {actions.map(({ action, created, error, skipped }) => {
        const launched = created && launchedOf(created, { executions, pipelines, http_requests });
        const mark = skipped !== undefined
          ? "quiet"
          : error === undefined
          ? markOf(launched?.state)
          : "bad";
        return (
          <Step title={action} mark={mark}>
            {skipped === undefined ? null : <div class="dim">Skipped. {skipped}</div>}
            {error === undefined ? null : <div class="bad">{error}</div>}
            {launched === undefined ? null : <Launched {...launched} />}
          </Step>
        );
      })}
    </>
  );
}

/** An action that is done, and its work, which may have failed since. */
function markOf(state: string | undefined): StepProps["mark"] {
  if (state === undefined || state === "complete") return "ok";
  return state === "error" ? "bad" : ENDED.includes(state) ? "quiet" : "running";
}

interface LaunchedProps {
  href: string;
  name: string;
  /** Undefined when it was removed. */
  state: string | undefined;
}

function launchedOf(
  created: NonNullable<ShownRun["actions"][number]["created"]>,
  { executions, pipelines, http_requests }: WorkStates,
): LaunchedProps {
  const stateIn = (list: readonly { id: string; status: string }[], wanted: string) =>
    list.find(({ id }) => id === wanted)?.status;
  if ("execution_id" in created) {
    const { execution_id: id, execution_step: name } = created;
    return { href: `executions/${id}`, name, state: stateIn(executions, id) };
  }
  if ("http_request_id" in created) {
    const { http_request_id: id, url: name } = created;
    return { href: "#sent", name, state: stateIn(http_requests, id) };
  }
  const { pipeline_id: id, pipeline_name: name } = created;
  return { href: `pipelines/${id}`, name, state: stateIn(pipelines, id) };
}

function Launched({ href, name, state }: LaunchedProps): Html {
  if (state === undefined) return <>{name} was removed</>;
  return (
    <>
      <a href={href}>{name}</a> <State state={state} />
    </>
  );
}

/** The differences of two outcomes. */
export function Differences({ differences }: {
  differences: readonly { what: string; before?: string; after?: string }[];
}): Html {
  if (differences.length === 0) return <div class="dim">The outcome is the same so far.</div>;
  return (
    <ul class="differences">
      {differences.map(({ what, before, after }) => (
        <li>
          {what}: {before ?? "nothing"} → {after ?? "nothing"}
        </li>
      ))}
    </ul>
  );
}

/** Returns the seconds after which a delivery is looked at again; undefined when nothing of it changes any more. */
export function refreshOf(delivery: DeliveryDetails): number | undefined {
  return isOver(delivery) ? undefined : REFRESH_S;
}

function isOver({ run, replays = [], sent = [] }: DeliveryDetails): boolean {
  const works = [...run ? [run] : [], ...replays].flatMap((
    { executions = [], pipelines = [], http_requests = [] },
  ) => [...executions, ...pipelines, ...http_requests]);
  // A callback is sent when the rest has ended.
  return run?.status !== "pending" &&
    replays.every(({ run_status }) => run_status !== "pending") &&
    [...works, ...sent].every(({ status }) => ENDED.includes(status));
}
