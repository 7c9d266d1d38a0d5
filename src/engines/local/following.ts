/**
 * The executions of this machine while another instance leads. This machine runs them. The leader can stop them.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import type { Clock } from "../../platform/clock.ts";
import { messageOf } from "../../platform/errors.ts";
import { isId } from "../../platform/ids.ts";
import { pause } from "../../platform/waiting/timers.ts";
import { changeExecution } from "../../store/records/execution_changes.ts";
import { type Execution, getExecutions, hasEnded } from "../../store/records/executions.ts";
import type { Store } from "../../store/store.ts";
import { type Ending, stopped } from "../shared/execution_end.ts";
import { machineOf } from "./other_machines.ts";
import { WorkFolder } from "./work_folder.ts";

const LOOK_MS = 1_000;

const log = getLogger(["hooklaunch", "engine"]);

/** The parts of {@linkcode followLeader}. */
interface FollowingParts {
  store: Store;
  clock: Clock;
  /** Returns the ids of the executions that this machine runs. */
  running(): string[];
  stop(executionId: string, ending: Ending): Promise<unknown>;
  /** Aborted when this instance leads, or stops. */
  signal: AbortSignal;
}

/** Stops the executions that the leader has stopped or given up, until this instance leads. */
export async function followLeader(parts: FollowingParts): Promise<void> {
  const { store, clock, running, stop, signal } = parts;
  while (!signal.aborted) {
    try {
      for (const execution of await getExecutions(store, running())) {
        const ending = endingOf(execution);
        if (ending !== undefined) await stop(execution.id, ending);
      }
    } catch (error) {
      log.error("Cannot see what the leader has stopped: {error}", { error: messageOf(error) });
    }
    await pause(clock, LOOK_MS, signal);
  }
}

/** Returns the end that the leader has decided for an execution. */
export function endingOf({ status, engine_state, reason }: Execution): Ending | undefined {
  if (hasEnded(status)) return stopped(reason);
  // Whoever stops an execution writes it.
  return status === "stopping" ? engine_state?.ending as Ending | undefined : undefined;
}

/**
 * Stores a record that the leader may change, too: it may have stopped the execution, or given it up.
 *
 * @returns false when it was given up
 * @throws {UnavailableError} when it cannot be stored
 */
export async function storeBesideLeader(store: Store, execution: Execution): Promise<boolean> {
  const { isChanged } = await changeExecution(store, execution.id, (stored) => {
    const ending = endingOf(stored);
    if (ending !== undefined && execution.status === "started") {
      execution.status = "stopping";
      execution.engine_state = { ...execution.engine_state, ending };
    }
    return execution;
  });
  return isChanged;
}

/** Returns the executions of this machine that were given up and may still run. Their records say `stopping`. */
export async function givenUp(store: Store, root: string): Promise<Execution[]> {
  const { shared } = store;
  if (shared === undefined) return [];
  const ids: string[] = [];
  for await (const { name } of Deno.readDir(root)) {
    if (isId(name) && new WorkFolder(root, name).isUntidy) ids.push(name);
  }
  const found: Execution[] = [];
  for (const execution of await getExecutions(store, ids)) {
    const { id: execution_id, reason, engine_state } = execution;
    if (machineOf(execution) !== shared.machineId || engine_state?.given_up !== true) continue;
    log.warn("Execution {execution_id} was given up: what is left of it ends", { execution_id });
    const ending = stopped(reason);
    found.push({ ...execution, status: "stopping", engine_state: { ...engine_state, ending } });
  }
  return found;
}
