/**
 * The service that the benchmark measures, as a process of its own.
 *
 * Arguments: what to run, its data folder, and its port, at which jobs reach it; any port when absent.
 * Prints `ready <port>` when it listens. A line `clean up` on its standard input begins a cleanup, whose
 * report is printed when it is over; of a line `cost` the answer is a line with what the process has cost
 * until then. The service ends when its standard input does.
 *
 * - `service`: the service, on an engine that does nothing and says so at once
 * - `without_storing`: the same, but nothing is stored, and no run performed
 * - `real_engine`: the service as it is
 *
 * @module
 */
import process from "node:process";
import { LocalEngine } from "../../src/engines/local/mod.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { Worker } from "../../src/runs/worker.ts";
import { Service } from "../../src/service/service.ts";
import { Committer } from "../../src/store/commit/committer.ts";
import { type Execution, saveExecution } from "../../src/store/records/executions.ts";
import { setUpLogging } from "../../src/commands/console/logging.ts";
import { OPERATORS_TOKEN } from "./requests.ts";

const [mode = "service", data = ".", port] = Deno.args;
// That launches are turned away is counted by who sends them.
await setUpLogging({ format: "text", level: "error" });

if (mode === "without_storing") {
  // All that comes before a commit is done: the rate limit, the payload's hash, the record.
  Committer.prototype.commit = function (change) {
    change.writes();
    return Promise.resolve();
  };
  // Nothing is performed, as nothing could be found again.
  Worker.prototype.take = function ({ run }) {
    this.withdraw(run.id);
  };
}

// What clusters are asked.
let requests = 0;
const { fetch } = globalThis;
globalThis.fetch = (...args) => {
  requests++;
  return fetch(...args);
};

const service = await Service.start(
  {
    host: "127.0.0.1",
    port: Number(port ?? 0),
    ...(port === undefined ? {} : { agent: { url: `http://127.0.0.1:${port}`, http: true } }),
    data,
    trustedProxies: [],
    dev: true,
    payloadBytesMax: 16 * 1024 * 1024,
    retention_days: 30,
    executionsMax: navigator.hardwareConcurrency,
    stopTimeout_ms: 1_000,
    adminToken: OPERATORS_TOKEN,
  },
  { clock: systemClock, env: () => undefined },
  ({ store }) => {
    if (mode === "service") {
      LocalEngine.prototype.submit = function (execution: Execution) {
        const ended: Execution = { ...execution, status: "complete", exit_code: 0 };
        store.committer.commit(saveExecution(ended)).catch((error) => console.error(error));
      };
    }
    return Promise.resolve();
  },
);
console.log(`ready ${service.port}`);
let cleanup: Promise<void> | undefined;
for await (const text of Deno.stdin.readable.pipeThrough(new TextDecoderStream())) {
  if (text.includes("clean up")) cleanup ??= cleanUp();
  if (text.includes("cost")) {
    const { user, system } = process.cpuUsage();
    console.log(JSON.stringify({ requests, cpu_ms: (user + system) / 1_000 }));
  }
}
await service.close();
await cleanup;

async function cleanUp(): Promise<void> {
  const began_ms = performance.now();
  const report = await service.cleanUp();
  console.log(JSON.stringify({ ...report, seconds: (performance.now() - began_ms) / 1_000 }));
}
