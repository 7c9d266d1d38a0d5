/**
 * The executions that run on other machines, where several instances share the database. A machine has begun them while
 * its instance led, or has claimed them beside the leader. The leader reads their records, and marks those whose machine
 * is silent.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import type { Clock } from "../../platform/clock.ts";
import { messageOf } from "../../platform/errors.ts";
import { evictOldest } from "../../platform/evict_oldest.ts";
import { pause } from "../../platform/waiting/timers.ts";
import { keys } from "../../store/keys.ts";
import { scan } from "../../store/read/scan.ts";
import { changeExecution } from "../../store/records/execution_changes.ts";
import { type Execution, getExecutions, hasEnded } from "../../store/records/executions.ts";
import type { Shared } from "../../store/shared_store.ts";
import type { Store } from "../../store/store.ts";
import type { Outage } from "../engine.ts";
import { type Ending, writeEnd } from "../shared/execution_end.ts";
import type { MachineRecord } from "./run_context.ts";

const LOOK_MS = 500;
/** A machine counts as silent after this time without an instance. */
const SILENT_MS = 5_000;
/** The ends that are remembered. */
const ENDED_MAX = 10_000;
const SILENT = "its machine is silent (no instance of the service runs on its data folder)";
const GIVEN_UP = "Its machine was silent: what still runs there ends when an instance starts on it";

const log = getLogger(["hooklaunch", "engine"]);

/** The parts of {@linkcode OtherMachines}. */
interface OtherMachinesParts {
  store: Store;
  clock: Clock;
  /** Called after each change that is seen. */
  onChange(execution: Execution): void;
  /** Called with each execution that another machine has claimed, before its change is told. */
  onClaimed?(executionId: string): void;
  /** Aborted when the service stops. */
  signal: AbortSignal;
}

/** Returns the machine that runs an execution and has its files; undefined where there is only one machine. */
export function machineOf({ engine_state }: Execution): string | undefined {
  // Only the run of an execution writes it.
  return engine_state?.machine_id as string | undefined;
}

/** Returns the machine that this instance runs on, as the records of executions have it. */
export function placeOf({ machineId, instances: { url } }: Shared): MachineRecord {
  return {
    marks: { machine_id: machineId },
    shown: url === undefined ? {} : { machine: new URL(url).hostname },
  };
}

/** True for an execution that shows the silence of its machine, and not that its runner cannot be asked. */
function showsSilence({ reachable, waiting }: Execution): boolean {
  return reachable === false && waiting === SILENT;
}

/** Looks after the executions of other machines. */
export class OtherMachines {
  readonly #parts: OtherMachinesParts;
  /** The executions, as they were last seen. */
  readonly #executions = new Map<string, Execution>();
  /** When each machine was last seen with an instance, by the steady clock. */
  readonly #seen_ms = new Map<string | undefined, number>();
  #working: Promise<void> | undefined;
  #claims = false;
  /** The executions whose ends were told. A record of one of them may be older, and its claim be stored still. */
  readonly #ended = new Set<string>();

  constructor(parts: OtherMachinesParts) {
    this.#parts = parts;
  }

  /** The silent machines that have open executions. */
  get outages(): Outage[] {
    const silent = [...this.#executions.values()].filter(showsSilence);
    return Array.from(Map.groupBy(silent, machineOf), ([id, executions]) => {
      const { clock } = this.#parts;
      const since_ms = clock.now() - clock.steady() + (this.#seen_ms.get(id) ?? 0);
      const name = executions[0]?.machine ?? id;
      return {
        since: new Date(since_ms).toISOString(),
        detail:
          `the machine ${name} is silent; it has begun ${executions.length} of the open executions`,
        projects: [...new Set(executions.map(({ project }) => project))],
      };
    });
  }

  has(executionId: string): boolean {
    return this.#executions.has(executionId);
  }

  add(execution: Execution): void {
    this.#executions.set(execution.id, execution);
    // Its silence counts from now on.
    this.#seen(machineOf(execution));
    this.#working ??= this.#work();
  }

  /** Looks for executions that other machines claim, from now on. */
  watchClaims(): void {
    this.#claims = true;
    this.#working ??= this.#work();
  }

  /** Takes in a record that tells who has claimed an execution. */
  claimed(execution: Execution): void {
    const { id, status } = execution;
    if (this.#executions.has(id) || this.#ended.has(id)) return;
    if (this.#isOwn(execution) || hasEnded(status)) return;
    this.add(execution);
    this.#parts.onClaimed?.(id);
    this.#parts.onChange(execution);
  }

  /**
   * Asks the machine of an execution to stop it. When that is silent, the execution ends at once: it is given up.
   *
   * @returns false when it has ended
   */
  async stop(executionId: string, ending: Ending): Promise<boolean> {
    const { store, clock } = this.#parts;
    const { stored, isChanged } = await changeExecution(store, executionId, (execution) => {
      const { status, engine_state } = execution;
      if (!this.#isSilent(execution)) {
        // The first ending stands.
        if (status === "stopping") return undefined;
        return { ...execution, status: "stopping", engine_state: { ...engine_state, ending } };
      }
      const reason = `${ending.reason ?? "Given up"}. ${GIVEN_UP}`;
      writeEnd(execution, { ending: { ...ending, reason }, at_ms: clock.now() });
      // By these its machine finds what still runs.
      return { ...execution, engine_state: { ...engine_state, given_up: true } };
    });
    if (stored) this.#see(stored);
    return isChanged || stored !== undefined && !hasEnded(stored.status);
  }

  /** Resolves when nothing is under way any more. The signal was aborted before. */
  async close(): Promise<void> {
    await this.#working;
  }

  async #work(): Promise<void> {
    const { clock, signal } = this.#parts;
    while ((this.#claims || this.#executions.size > 0) && !signal.aborted) {
      await this.#look().catch((error) =>
        log.error("Cannot look at the executions of other machines: {error}", {
          error: messageOf(error),
        })
      );
      await pause(clock, LOOK_MS, signal);
    }
    this.#working = undefined;
  }

  async #look(): Promise<void> {
    const { store } = this.#parts;
    this.#seeInstances();
    const ids = [...this.#executions.keys()];
    const executions = await getExecutions(store, ids);
    for (const execution of executions) {
      this.#see(execution);
      if (this.#isSilent(execution) !== showsSilence(execution)) await this.#show(execution);
    }
    const found = new Set(executions.map(({ id }) => id));
    for (const id of ids) if (!found.has(id)) this.#executions.delete(id);
    if (this.#claims) await this.#lookAtClaims();
  }

  /** Takes in what other machines have claimed since the last look, and what of that has ended before it was seen. */
  async #lookAtClaims(): Promise<void> {
    const { store, onClaimed, onChange } = this.#parts;
    const all = await Array.fromAsync(scan(store.kv, ["execution_claimed"]), ({ key }) => key[1]);
    const ids = all.map(String).filter((id) => !this.#executions.has(id));
    const records = new Map(
      (await getExecutions(store, ids)).map((execution) => [execution.id, execution]),
    );
    for (const execution of records.values()) this.claimed(execution);
    const over = ids.filter((id) => hasEnded(records.get(id)?.status ?? "error"));
    for (const id of over) {
      const ended = records.get(id);
      onClaimed?.(id);
      if (ended === undefined || this.#ended.has(id)) continue;
      // The commit of an end that this instance has told of as the leader has removed the claim.
      const isTold = this.#isOwn(ended) &&
        (await store.kv.get(keys.executionClaimed(id))).value === null;
      if (!isTold) onChange(ended);
      this.#noteEnd(id);
    }
    await store.committer.writeInParts(over.map((id) => ({ key: keys.executionClaimed(id) })));
  }

  #noteEnd(executionId: string): void {
    this.#ended.add(executionId);
    evictOldest(this.#ended, ENDED_MAX);
  }

  #isOwn(execution: Execution): boolean {
    const machine = machineOf(execution);
    return machine === undefined || machine === this.#parts.store.shared?.machineId;
  }

  #seeInstances(): void {
    const { instances } = this.#parts.store.shared ?? {};
    for (const { machine_id, has_machine, silent_ms } of instances?.all ?? []) {
      if (has_machine) this.#seen(machine_id, silent_ms);
    }
  }

  #seen(machine: string | undefined, silent_ms = 0): void {
    const seen_ms = this.#parts.clock.steady() - silent_ms;
    this.#seen_ms.set(machine, Math.max(seen_ms, this.#seen_ms.get(machine) ?? -Infinity));
  }

  #see(execution: Execution): void {
    const { id, status } = execution;
    const before = this.#executions.get(id);
    if (before === undefined) return;
    if (hasEnded(status)) {
      this.#executions.delete(id);
      this.#noteEnd(id);
    } else this.#executions.set(id, execution);
    if (before.status !== status || before.reachable !== execution.reachable) {
      this.#parts.onChange(execution);
    }
  }

  #isSilent(execution: Execution): boolean {
    if (hasEnded(execution.status)) return false;
    // The last look may be long ago: that the database does not answer is no silence of a machine.
    this.#seeInstances();
    const seen_ms = this.#seen_ms.get(machineOf(execution)) ?? Infinity;
    return this.#parts.clock.steady() - seen_ms >= SILENT_MS;
  }

  async #show({ id, machine, run_id, project }: Execution): Promise<void> {
    const { stored } = await changeExecution(this.#parts.store, id, (execution) => {
      if (this.#isSilent(execution)) return { ...execution, reachable: false, waiting: SILENT };
      const { reachable: _reachable, waiting: _waiting, ...rest } = execution;
      return showsSilence(execution) ? rest : undefined;
    });
    if (stored === undefined || hasEnded(stored.status)) return;
    const details = { execution_id: id, run_id, project, machine };
    if (showsSilence(stored)) {
      log.warn("The machine that runs execution {execution_id} is silent", details);
    } else log.info("The machine that runs execution {execution_id} is back", details);
    this.#see(stored);
  }
}
