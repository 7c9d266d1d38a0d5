/**
 * One running service without HTTP, as `src/service` composes it, in a simulated process: acceptance, quotas,
 * deduplication, worker, actions and pipelines.
 *
 * @module
 */
import { type ActionServices, performActions } from "../../src/actions/mod.ts";
import { FolderStore } from "../../src/artifacts/folder.ts";
import { Engines } from "../../src/engines/mod.ts";
import "../../src/pipelines/reconcile.ts";
import { Pipelines } from "../../src/pipelines/mod.ts";
import { Deadlines } from "../../src/platform/waiting/deadlines.ts";
import { readConfigFile } from "../../src/projects/mod.ts";
import { Acceptor } from "../../src/runs/accept.ts";
import { Quotas } from "../../src/runs/quotas.ts";
import { Worker } from "../../src/runs/worker.ts";
import { Shared } from "../../src/store/shared_store.ts";
import { assembleStore, lead } from "../../src/store/kv_store.ts";
import { askingAgain } from "../../src/store/read/asked_again.ts";
import type { Store } from "../../src/store/store.ts";
import { type Cluster, simulatedEngine } from "./engine.ts";
import type { PaceHistory } from "./pace_history.ts";
import { plantUncheckedEnds, type Receiver, sendingOf } from "./own_parts.ts";
import { plantPaceDefect, schedulerOf } from "./pace_parts.ts";
import { settled, type SimProcess } from "./world.ts";

/** The time between two sweeps of pending runs. */
const SWEEP_MS = 60_000;
const STOP_MS = 1_000;
/** Pause between two looks at the other instances. */
const LOOK_MS = 1_000;

const CONFIG = `
- step: { name: train, image: i, command: train }
- step:
    name: report
    image: i
    command: report
    parameters: [{ name: score, type: integer, optional: true }]
- pipeline:
    name: learn
    nodes:
      - { name: one, type: execution, step: train }
      - { name: two, type: execution, step: train }
      - { name: report, type: execution, step: report }
    edges:
      - [one.metadata.score, report.parameter.score]
      - [two.metadata.score, report.parameter.score]
`;
const config = readConfigFile(CONFIG, "valohai.yaml");

/** A service that accepts launches. */
export interface Instance {
  readonly process: SimProcess;
  readonly acceptor: Acceptor;
  /** False while it does not accept launches. */
  readonly isServing: boolean;
  /** Stops it as SIGTERM does. */
  stop(): Promise<void>;
}

/** Starts a service: resolves when it accepts launches. */
export async function startInstance(
  process: SimProcess,
  { cluster, receiver }: { cluster: Cluster; receiver: Receiver },
  pace?: PaceHistory,
): Promise<Instance> {
  const { clock, world } = process;
  const store = await openStore(process);
  plant(store, world.defect);
  plantPaceDefect(store, process);
  plantUncheckedEnds(store, world.defect);
  store.lost.addEventListener("abort", () => process.kill());
  const engines: Engines = new Engines({
    local: (parts) =>
      simulatedEngine({
        ...parts,
        process,
        cluster,
        onChange: (execution) => {
          parts.onChange?.(execution);
          pipelines.changed(execution);
          // As the service does once the work of a run has changed.
          worker.pacer.ended(execution.run_id);
        },
      }),
  }, {
    store,
    clock,
    dataFolder: "/nowhere",
    artifacts: new FolderStore("/nowhere"),
    projects: { checkout: () => Promise.resolve() },
  });
  const pipelines = new Pipelines({
    store,
    clock,
    engines,
    onEnd: ({ run_id }) => worker.pacer.ended(run_id),
  });
  const deadlines = new Deadlines(60_000);
  // What runs until its next call may still set a deadline.
  void process.died.then(settled).then(() => deadlines[Symbol.dispose]());
  // No trigger here has values.
  const valuesOf = () => () => Promise.resolve({ values: [] });
  const nothingSent = { httpRequests: { begin() {} }, baseUrl: () => "http://127.0.0.1" };
  const parts = { store, clock, engines, pipelines, deadlines, valuesOf, ...nothingSent };
  const sending = sendingOf({ store, process, receiver });
  const services: ActionServices = { ...parts, projects: code };
  const worker = new Worker({
    store,
    clock,
    concurrency: 2,
    heldMax: 3,
    canPerform: ({ actions }) => actions.every(isRequest),
    perform: (waiting, signal) =>
      waiting.actions.every(isRequest)
        ? sending.perform(waiting, signal)
        : performActions(waiting, services, signal),
  });
  const acceptor = new Acceptor({ store, clock, worker, quotas: new Quotas(store, clock) });
  const scheduler = pace && schedulerOf({ store, clock, acceptor, pace });
  let isLeading = false;
  const takeOver = () => {
    worker.claim();
    if (isLeading) sending.takeOver();
  };
  const work = async () => {
    pace?.takesOver();
    await engines.start();
    await pipelines.start();
    isLeading = true;
    sending.takeOver();
    await worker.start();
    pace?.leads();
    await scheduler?.start();
  };
  if (world.defect === "occurrence at two instances") void scheduler?.start();
  const { shared } = store;
  let isStopping = false;
  if (shared === undefined) await work();
  else {
    shared.instances.onAccepted = (count) => worker.acceptedElsewhere(count);
    shared.instances.onLeft = takeOver;
    lead(store, "the simulation").then(work).catch(() => isStopping || process.kill());
  }
  store.queue?.listen({
    committer: store.committer,
    space: { hasRoomForMessage: () => true, untilRoom: () => Promise.resolve() },
    onMessage: () => worker.wake(),
  });
  const sweep = () => {
    takeOver();
    clock.after(SWEEP_MS, sweep);
  };
  clock.after(SWEEP_MS, sweep);
  return {
    process,
    get isServing() {
      return shared === undefined || shared.instances.obstacle === undefined;
    },
    acceptor,
    async stop() {
      isStopping = true;
      await scheduler?.close();
      await worker.close(STOP_MS);
      await sending.runner.close(0);
      await engines.close(0);
      await pipelines.close();
      await store.close();
    },
  };
}

function isRequest({ type }: { type: string }): boolean {
  return type === "http_request";
}

/** The code of the only project, which has one commit. */
const code: ActionServices["projects"] = {
  resolve: () => Promise.resolve({ commit: "0".repeat(40), config }),
  fetch: () => Promise.resolve({ branches: {} }),
};

async function openStore(process: SimProcess): Promise<Store> {
  const { clock, world } = process;
  const connected = process.connect();
  // Defects are planted in it.
  const kv: Deno.Kv = world.isRemote ? Object.create(askingAgain(connected, clock)) : connected;
  const opened = new AsyncDisposableStack();
  opened.defer(() => kv.close());
  let shared: Shared | undefined;
  if (world.isRemote) {
    shared = await Shared.join({ kv, clock, id: crypto.randomUUID(), look_ms: LOOK_MS });
    opened.defer(() => shared?.leave());
  }
  const parts = {
    clock,
    events: undefined,
    ownership: undefined,
    shared,
    guard: undefined,
    opened,
  };
  return await assembleStore(kv, parts, { where: "the simulation" });
}

/** Plants a defect in a store. */
function plant({ committer, kv }: Store, defect: SimProcess["world"]["defect"]): void {
  if (defect === "lost undo") {
    const commit = committer.commit.bind(committer);
    committer.commit = (change) => {
      change.undo &&= () => {};
      return commit(change);
    };
  }
  if (defect === "window not restored") {
    const get = kv.get.bind(kv);
    kv.get = (key) => get(key[0] === "rate" ? ["nothing"] : key);
  }
}
