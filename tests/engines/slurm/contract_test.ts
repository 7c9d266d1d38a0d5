/**
 * The Slurm engine keeps the contract, on a real Slurm.
 *
 * @module
 */
import { SlurmBackend } from "../../../src/engines/slurm/mod.ts";
import { has } from "../../needs.ts";
import { engineContract } from "../contract.ts";
import { RemoteHost } from "../remote/fixture.ts";
import { SlurmCluster } from "./slurm_cluster.ts";

const ignore = !has("slurmctld");
const cluster = ignore ? undefined : await SlurmCluster.start();
const hosts = new Map<string, RemoteHost>();

engineContract("jobs of Slurm", {
  ignore,
  isCluster: true,
  fields: { engine: cluster?.settings() ?? { type: "slurm" } },
  makeEngine({ executionsMax, ...parts }) {
    const host = hosts.get(parts.dataFolder) ?? new RemoteHost(`${parts.dataFolder}-none`, 0, {
      type: "slurm",
      backendOf: (settings) => new SlurmBackend(settings),
    });
    hosts.set(parts.dataFolder, host);
    return host.makeEngine(parts, { executionsMax, look_ms: 500 });
  },
  async end(dataFolder) {
    await hosts.get(dataFolder)?.[Symbol.asyncDispose]();
    hosts.delete(dataFolder);
  },
});

Deno.test.afterAll(async () => {
  await cluster?.[Symbol.asyncDispose]();
});
