/**
 * Changes of the records of executions. Two instances may change one at the same time: the leader, and the
 * instance on the machine that runs it.
 *
 * @module
 */
import type { Guard, Write } from "../commit/change.ts";
import { keys } from "../keys.ts";
import { recordOf } from "../read/lists.ts";
import type { Store } from "../store.ts";
import { executionEndWrites } from "./notices.ts";
import { type Execution, hasEnded, recordWrites } from "./executions.ts";

/**
 * Changes an execution that has not ended. When another instance changes it first, `decide` is called again with
 * the new record.
 *
 * @param decide returns the record as it is to be; undefined to leave it as it is. It may be called several times:
 * only what it returns last is stored
 * @param beside makes the writes that are stored with a change
 * @returns the record as it is stored now, undefined when there is none; and if this has changed it
 * @throws {UnavailableError} when it cannot be stored
 */
export async function changeExecution(
  store: Store,
  id: string,
  decide: (stored: Execution) => Execution | undefined,
  beside: (changed: Execution) => readonly Write[] = () => [],
): Promise<{ stored: Execution | undefined; isChanged: boolean }> {
  const { kv, intake } = store;
  const open = keys.executionOpen(id);
  let found: { stored: Execution | undefined; versionstamp: string | null } | undefined;
  let changed: Execution | undefined;
  // Every change of the record also writes this key, whose value is shorter.
  const guard: Guard = {
    key: open,
    get versionstamp() {
      return found?.versionstamp ?? null;
    },
    get value() {
      return changed === undefined || hasEnded(changed.status) ? undefined : changed.status;
    },
    stored() {},
    invalidate: () => found = undefined,
  };
  const read = async () => {
    const key = keys.execution(id);
    const [{ versionstamp }, { value }] = await kv.getMany([open, key]);
    found = { versionstamp, stored: value === null ? undefined : recordOf({ key, value }) };
  };
  await intake.commit({
    guards: [guard],
    refresh: () => found === undefined ? read() : store.refreshNotifiers?.(),
    writes() {
      const stored = found?.stored;
      changed = stored && !hasEnded(stored.status) ? decide(structuredClone(stored)) : undefined;
      // The guard writes the key of open executions.
      return changed === undefined
        ? []
        : [...recordWrites(changed), ...executionEndWrites(store, changed), ...beside(changed)];
    },
  });
  return { stored: changed ?? found?.stored, isChanged: changed !== undefined };
}
