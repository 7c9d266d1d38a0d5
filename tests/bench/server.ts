/**
 * The service that the benchmark measures, as a process of its own.
 *
 * Arguments: what to run, and a folder. Prints `ready <port>` when it listens; ends when its standard
 * input does.
 *
 * - `service`: the service, on an engine that does nothing and says so at once
 * - `without_storing`: the same, but a launch is accepted without being stored
 * - `real_engine`: the service as it is
 *
 * @module
 */
import { LocalEngine } from "../../src/engines/local/mod.ts";
import { systemClock } from "../../src/clock.ts";
import { newId } from "../../src/ids.ts";
import { Acceptor } from "../../src/runs/accept.ts";
import { Service } from "../../src/service.ts";
import { type Execution, saveExecution } from "../../src/store/executions.ts";
import { applyConfig } from "../../src/config/apply.ts";
import { parseConfig } from "../../src/config/document.ts";
import { localTarget } from "../../src/config/local_target.ts";
import { setUpLogging } from "../../src/commands/logging.ts";

const [mode = "service", folder = "."] = Deno.args;
await setUpLogging({ format: "text", level: "warning" });

if (mode === "without_storing") {
  Acceptor.prototype.accept = function ({ triggerId, project, body, remoteIp }) {
    const now_ms = Date.now();
    return Promise.resolve({
      run: {
        id: newId(now_ms),
        trigger_id: triggerId,
        project,
        status: "pending",
        created_at: new Date(now_ms).toISOString(),
        remote_ip: remoteIp,
        payload: { size: body.length, sha256: "" },
        actions: [],
      },
    });
  };
}

const service = await Service.start(
  {
    host: "127.0.0.1",
    port: 0,
    data: `${folder}/data`,
    trustedProxies: [],
    dev: true,
    payloadBytesMax: 16 * 1024 * 1024,
    retention_days: 30,
    executionsMax: 2,
    stopTimeout_ms: 1_000,
    adminToken: "an-operators-token-for-the-benchmark",
  },
  { clock: systemClock, env: () => undefined },
  async ({ store, triggers }) => {
    if (mode === "service") {
      LocalEngine.prototype.submit = function (execution: Execution) {
        const ended: Execution = { ...execution, status: "complete", exit_code: 0 };
        store.committer.commit(saveExecution(ended)).catch((error) => console.error(error));
      };
    }
    const file = `${folder}/hooklaunch.yaml`;
    const document = parseConfig(await Deno.readTextFile(file), file);
    await applyConfig(document, localTarget(store, triggers));
  },
);
console.log(`ready ${service.port}`);
await Deno.stdin.readable.pipeTo(new WritableStream());
await service.close();
