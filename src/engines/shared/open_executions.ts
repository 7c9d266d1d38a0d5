/**
 * The executions of one engine that have not ended.
 *
 * @module
 */
import {
  type Execution,
  type ExecutionStatus,
  getExecutions,
  openExecutions,
} from "../../store/records/executions.ts";
import type { Store } from "../../store/store.ts";

const READ_AT_ONCE = 50;

/** Yields the executions of an engine that have one of some statuses, oldest first. */
export async function* openExecutionsOf(
  store: Store,
  type: string,
  statuses: readonly ExecutionStatus[],
): AsyncGenerator<Execution> {
  let ids: string[] = [];
  const read = async () => {
    const executions = await getExecutions(store, ids);
    ids = [];
    // A status may have changed since the list was read. Of an execution with attempts these alone are the engine's.
    return executions.filter(({ engine, status, attempt_id }) =>
      engine.type === type && statuses.includes(status) && attempt_id === undefined
    );
  };
  for await (const { id, status } of openExecutions(store)) {
    if (statuses.includes(status)) ids.push(id);
    if (ids.length === READ_AT_ONCE) yield* await read();
  }
  yield* await read();
}
