/** A delivery in a list. */
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
  const { condition, reason, run_id, outcome, executions = [], pipelines = [] } = delivery;
  if (reason !== undefined) return <>{condition}: {reason}</>;
  if (outcome === "repeat") return <a href={`deliveries/${run_id}`}>of an earlier one</a>;
  if (executions.length + pipelines.length > 0) {
    return <WorkStates {...{ executions, pipelines }} />;
  }
  if (outcome !== "accepted") return null;
  return <Badge tone="waiting" label="work not begun, or removed" />;
}

/** The states of what a run has launched. */
export function WorkStates({ executions = [], pipelines = [] }: Partial<Shown>): Html {
  return (
    <>
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
    </>
  );
}

function shortened(text: string): string {
  return text.length > 20 ? `${text.slice(0, 19)}…` : text;
}
