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
/** The number of those that wait, oldest first, among which some are chosen. */
const AMONG = 100;

/** Yields the executions of an engine that have one of some statuses, oldest first. */
export async function* openExecutionsOf(
  store: Store,
  type: string,
  statuses: readonly ExecutionStatus[],
): AsyncGenerator<Execution> {
  let ids: string[] = [];
  const read = async () => {
    const executions = await readOf(store, ids, { type, statuses });
    ids = [];
    return executions;
  };
  for await (const { id, status } of openExecutions(store)) {
    if (statuses.includes(status)) ids.push(id);
    if (ids.length === READ_AT_ONCE) yield* await read();
  }
  yield* await read();
}

/**
 * Reads some of the executions of an engine that wait, at most so many. It chooses at random among the oldest hundred of
 * which any is wanted: machines that look at the same time seldom choose the same.
 */
export async function someWaiting(
  store: Store,
  type: string,
  { max, isWanted }: { max: number; isWanted(execution: Execution): boolean },
): Promise<Execution[]> {
  let ids: string[] = [];
  // There may be many that others are to begin.
  let atOnce = max;
  const choose = async () => {
    const found: Execution[] = [];
    for (shuffle(ids); ids.length > 0 && found.length < max;) {
      const some = await readOf(store, ids.splice(0, atOnce), { type, statuses: ["queued"] });
      const wanted = some.filter(isWanted);
      if (wanted.length === 0) atOnce = Math.min(2 * atOnce, READ_AT_ONCE);
      found.push(...wanted);
    }
    ids = [];
    return found.slice(0, max);
  };
  for await (const { id, status } of openExecutions(store)) {
    if (status === "queued") ids.push(id);
    if (ids.length < AMONG) continue;
    const found = await choose();
    if (found.length > 0) return found;
  }
  return await choose();
}

/** Reads those of some executions that are an engine's and have one of some statuses. */
async function readOf(
  store: Store,
  ids: readonly string[],
  { type, statuses }: { type: string; statuses: readonly ExecutionStatus[] },
): Promise<Execution[]> {
  // A status may have changed since the list was read. Of an execution with attempts these alone are the engine's.
  return (await getExecutions(store, ids)).filter(({ engine, status, attempt_id }) =>
    engine.type === type && statuses.includes(status) && attempt_id === undefined
  );
}

/** Shuffles an array (Fisher and Yates). */
function shuffle(array: unknown[]): void {
  for (let at = array.length - 1; at > 0; at--) {
    const other = Math.floor(Math.random() * (at + 1));
    [array[at], array[other]] = [array[other], array[at]];
  }
}
