/** A delivery in a list. */
import type { RunStatus } from "../../../store/records/runs.ts";
import type { ShownDelivery } from "../../api/delivery_views.ts";
import type { WorkStates as Shown } from "../../api/work_states.ts";
import type { Html, View } from "../route.ts";
import { Badge, State } from "./states.tsx";
import { Row } from "./table.tsx";
import { ShortId, Size, Time } from "./values.tsx";

export const DELIVERY_COLUMNS = [
  "Time",
  "Trigger",
  "Outcome",
  "Reason or work",
  "Sender's id",
  "Size",
  "Id",
];

/** One delivery in a list. */
export function DeliveryRow({ delivery, view }: { delivery: ShownDelivery; view: View }): Html {
  const { id, time, trigger, trigger_id, outcome, status, delivery_id, size } = delivery;
  return (
    <Row id={id}>
      <td>
        <a href={`deliveries/${id}`}>
          <Time at={time} now_ms={view.now_ms} />
        </a>
      </td>
      <td>{trigger ?? <span class="dim">deleted, {trigger_id.slice(-8)}</span>}</td>
      <td>
        <State state={outcome} /> <span class="dim">{status}</span>
      </td>
      <td class="wide">
        <Work delivery={delivery} />
      </td>
      <td class="minor">
        {delivery_id === undefined ? "" : <code>{shortened(delivery_id)}</code>}
      </td>
      <td class="minor">
        <Size bytes={size} />
      </td>
      <td class="minor">
        <ShortId id={id} />
      </td>
    </Row>
  );
}

/** Says why a delivery made no run, or how far the work of its run is. */
function Work({ delivery }: { delivery: ShownDelivery }) {
  const { condition, reason, run_id, run_status, outcome } = delivery;
  const { executions = [], pipelines = [], http_requests = [] } = delivery;
  const works = executions.length + pipelines.length + http_requests.length;
  if (reason !== undefined) return <>{condition}: {reason}</>;
  if (outcome === "repeat") return <a href={`deliveries/${run_id}`}>of an earlier one</a>;
  if (works > 0 || hasFailed(run_status)) {
    return <WorkStates {...delivery} />;
  }
  if (outcome !== "accepted") return null;
  return run_status === "pending"
    ? <Badge tone="waiting" label="work not begun" />
    : <span class="dim">no work, or removed</span>;
}

/** The states of what a run has launched, and its own where it has failed. */
export function WorkStates(
  { run_status, executions = [], pipelines = [], http_requests = [] }:
    & Partial<Shown>
    & Pick<ShownDelivery, "run_status">,
): Html {
  return (
    <>
      {hasFailed(run_status)
        ? (
          <span>
            run <State state={run_status} />
            {" "}
          </span>
        )
        : null}
      {executions.map(({ step, status }) => (
        <span>
          {step} <State state={status} />
          {" "}
        </span>
      ))}
      {pipelines.map(({ name, status }) => (
        <span>
          {name} <State state={status} />
          {" "}
        </span>
      ))}
      {http_requests.map(({ url, status }) => (
        <span>
          {URL.parse(url)?.host ?? url} <State state={status} />
          {" "}
        </span>
      ))}
    </>
  );
}

/** Tells whether an action of a run has failed. */
function hasFailed(status: RunStatus | undefined): status is "error" | "complete_with_error" {
  return status === "error" || status === "complete_with_error";
}

function shortened(text: string): string {
  return text.length > 20 ? `${text.slice(0, 19)}…` : text;
}
