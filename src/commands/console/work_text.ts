/**
 * The work that a run has launched, in one line.
 *
 * @module
 */
import type { WorkStates } from "../../http/api/work_states.ts";

/** Describes what was launched and how far it is, such as `train complete; pipeline Both started (1 of 2)`. */
export function workText(
  { executions = [], pipelines = [], http_requests = [] }: Partial<WorkStates>,
): string {
  return [
    ...executions.map(({ step, status }) => `${step} ${status}`),
    ...pipelines.map(({ name, status, nodes }) => {
      const ended = nodes.filter((node) => node.status === "complete").length;
      return `pipeline ${name} ${status} (${ended} of ${nodes.length})`;
    }),
    ...http_requests.map(({ url, status, answered }) =>
      `${url} ${status}${answered === undefined ? "" : ` (${answered})`}`
    ),
  ].join("; ");
}
