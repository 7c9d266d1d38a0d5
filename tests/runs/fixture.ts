/**
 * What the tests of runs share: launches and records made by hand, and what a database holds of them.
 *
 * @module
 */
import { assert } from "@std/assert";
import { newId } from "../../src/platform/ids.ts";
import { Acceptor, type Launch } from "../../src/runs/accept.ts";
import { Quotas } from "../../src/runs/quotas.ts";
import type { Perform, Performed } from "../../src/runs/outcome.ts";
import { Worker } from "../../src/runs/worker.ts";
import type { WorkerParts } from "../../src/runs/worker_parts.ts";
import { acceptWrites, type ActionOutcome, type PendingRun } from "../../src/store/records/runs.ts";
import type { Store } from "../../src/store/store.ts";
import { listPending } from "../store/fixture.ts";
import { eventually, TestClock } from "../surroundings.ts";

/** The trigger that launches are of where a test does not say. */
export const TRIGGER_ID = "0190fe82-c984-7f66-8302-69874914e1c9";

const NOW_MS = Date.UTC(2026, 0, 1);

/** Makes a launch; a test says what it cares for. */
export function launchOf(parts: Partial<Launch> = {}): Launch {
  return {
    triggerId: TRIGGER_ID,
    project: "files",
    actions: [{ type: "run_execution" }],
    quotas: [],
    body: new TextEncoder().encode("hello"),
    remoteIp: "192.0.2.7",
    ...parts,
  };
}

/** How a test has runs performed. Most say what came of the actions alone. */
export type Performs = (...run: Parameters<Perform>) => Promise<ActionOutcome[] | Performed>;

/** Takes a run on and never ends it. */
export const neverEnds: Performs = () => new Promise(() => {});

/** What a desk is made of; a test says what it cares for. */
export type DeskParts = Partial<Omit<WorkerParts, "perform">> & { perform?: Performs };

/** A worker and the acceptor that feeds it. The worker is closed at the end of its scope. */
export interface Desk extends AsyncDisposable {
  acceptor: Acceptor;
  worker: Worker;
}

/** Puts an acceptor and a worker on a store, as the service does. The worker is not started. */
export function openDesk(
  store: Store,
  { perform = neverEnds, ...parts }: DeskParts = {},
): Desk {
  const clock = parts.clock ?? new TestClock();
  const worker = new Worker({
    store,
    clock,
    perform: (...run) =>
      perform(...run).then((came) => Array.isArray(came) ? { outcomes: came } : came),
    ...parts,
  });
  const quotas = new Quotas(store, clock);
  const acceptor: Acceptor = new Acceptor({ store, clock, worker, quotas });
  return { acceptor, worker, [Symbol.asyncDispose]: () => worker.close(0) };
}

/** Puts an acceptor and a worker on a store, and starts the worker. */
export async function startDesk(store: Store, parts: DeskParts = {}): Promise<Desk> {
  const desk = openDesk(store, parts);
  await desk.worker.start();
  return desk;
}

/** Has a launch accepted, and answers its run's id. */
export async function accept({ acceptor }: Desk): Promise<string> {
  const answer = await acceptor.accept(launchOf());
  assert("run" in answer);
  return answer.run.id;
}

/** Waits until no run has work before it. */
export function untilIdle({ worker }: Desk): Promise<true> {
  return eventually(() => worker.backlog === 0 ? true : undefined);
}

/** A run as a worker of another life has accepted it. */
export function pendingOf(parts: Partial<PendingRun> & { time_ms?: number } = {}): PendingRun {
  const { time_ms = NOW_MS, ...pending } = parts;
  return {
    run: {
      id: newId(time_ms),
      trigger_id: TRIGGER_ID,
      project: "files",
      status: "pending",
      created_at: new Date(time_ms).toISOString(),
      remote_ip: "192.0.2.7",
      payload: { size: 0, sha256: "" },
      actions: [],
    },
    actions: [{ type: "run_execution" }],
    worker: newId(time_ms - 1),
    ...pending,
  };
}

/** Stores runs as another worker would have accepted them, and answers their ids. */
export async function storePending(
  store: Store,
  pending: readonly PendingRun[],
): Promise<string[]> {
  await Promise.all(
    pending.map((each) => store.committer.write(acceptWrites(each, new Uint8Array()))),
  );
  return pending.map(({ run }) => run.id);
}

/** The ids of the runs that have not ended. */
export async function pendingIds(store: Store): Promise<string[]> {
  return (await Array.fromAsync(listPending(store))).map(({ run }) => run.id);
}
