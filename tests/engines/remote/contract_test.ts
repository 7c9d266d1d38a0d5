/**
 * The remote engine keeps the contract, over a cluster whose jobs are processes of this machine.
 *
 * @module
 */
import { engineContract } from "../contract.ts";
import { RemoteHost } from "./fixture.ts";

const hosts = new Map<string, RemoteHost>();

engineContract("jobs", {
  fields: { engine: { type: "remote" } },
  makeEngine({ executionsMax, ...parts }) {
    const host = hosts.get(parts.dataFolder) ?? new RemoteHost(`${parts.dataFolder}-cluster`);
    hosts.set(parts.dataFolder, host);
    return host.makeEngine(parts, { executionsMax, grace_ms: 5_000 });
  },
  async end(dataFolder) {
    await hosts.get(dataFolder)?.[Symbol.asyncDispose]();
    hosts.delete(dataFolder);
  },
});
