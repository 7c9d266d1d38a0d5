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
import { keys } from "../../store/keys.ts";
import { changeExecution } from "../../store/records/execution_changes.ts";
import { type Execution, getExecutions, hasEnded } from "../../store/records/executions.ts";
import { isStored } from "../../store/read/scan.ts";
import type { Store } from "../../store/store.ts";
import { type Ending, stopped } from "../shared/execution_end.ts";
import { executionSaver, type SaveExecution } from "../shared/execution_saver.ts";
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
 * Stores a record that other instances may change, too: one of them may have begun the execution, and the leader may
 * have stopped it, or given it up. The record of an execution that waits is a claim to it.
 *
 * @param isKnown true when the leader looks after it without a claim
 * @param onOthers called with the record as another instance, or the leader, has stored it instead
 * @returns false when it was given up, or is another instance's
 * @throws {UnavailableError} when it cannot be stored
 */
export async function storeBesideLeader(
  store: Store,
  execution: Execution,
  { isKnown = false, onOthers = (_stored: Execution): void => {} } = {},
): Promise<boolean> {
  const decide = (stored: Execution) => {
    const machine = machineOf(stored);
    if (machine !== undefined && machine !== machineOf(execution)) return undefined;
    const ending = endingOf(stored);
    if (ending !== undefined && execution.status === "started") {
      execution.status = "stopping";
      execution.engine_state = { ...execution.engine_state, ending };
    }
    return execution;
  };
  const beside = ({ id, status }: Execution) => {
    const key = keys.executionClaimed(id);
    if (!isKnown) return [{ key, value: true }];
    return hasEnded(status) ? [{ key }] : [];
  };
  const { stored, isChanged } = await changeExecution(store, execution.id, decide, beside);
  if (!isChanged && stored !== undefined) onOthers(stored);
  return isChanged;
}

/** The parts of {@linkcode executionSaverOf}. */
interface SaverParts extends Pick<FollowingParts, "store" | "signal"> {
  onChange(execution: Execution): void;
  /** Tells whether other instances may change the record of an execution. */
  isBeside(executionId: string): boolean;
  /** Tells whether the leader looks after what this machine runs without claims: its own, and what it saw begun. */
  isKnown(): boolean;
  /** Called with a record as another instance, or the leader, has stored it instead. */
  onOthers(stored: Execution): void;
}

/** Returns a function that stores the records of this machine's executions. */
export function executionSaverOf(
  { store, onChange, signal, isBeside, isKnown, onOthers }: SaverParts,
): SaveExecution {
  const commit = (execution: Execution) =>
    storeBesideLeader(store, execution, { isKnown: isKnown(), onOthers });
  const saveBeside = executionSaver({ store, commit, onChange, signal });
  const save = executionSaver({ store, onChange, signal });
  return (execution) => (isBeside(execution.id) ? saveBeside : save)(execution);
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

/**
 * Returns the ids of the work folders whose executions are gone. Where all instances have the results of those that
 * have ended, these are among them.
 */
export async function overIn(
  root: string,
  store: Store,
  { isShared }: { isShared: boolean },
): Promise<string[]> {
  const ids = new Set<string>();
  for await (const { name } of Deno.readDir(root)) {
    const id = name.replace(/^(tmp|old)-/, "");
    if (isId(id)) ids.add(id);
  }
  const found = await getExecutions(store, [...ids]);
  const statuses = new Map(found.map(({ id, status }) => [id, status]));
  const over: string[] = [];
  for (const id of ids) {
    const status = statuses.get(id);
    // The files of a damaged record stay.
    const isOver = status === undefined
      ? !await isStored(store.kv, keys.execution(id))
      : isShared && hasEnded(status);
    if (isOver) over.push(id);
  }
  return over;
}
