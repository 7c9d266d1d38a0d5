/**
 * The programs of a pod's two containers keep the contract of engines, also without a Kubernetes.
 *
 * @module
 */
import { has } from "../../needs.ts";
import { engineContract } from "../contract.ts";
import { RemoteHost } from "../remote/fixture.ts";
import { PodCluster } from "./pod_cluster.ts";

function podHost(folder: string): RemoteHost {
  return new RemoteHost(folder, 0, { cluster: new PodCluster(folder) });
}

const hosts = new Map<string, RemoteHost>();

engineContract("pods", {
  fields: { engine: { type: "remote" } },
  ignore: !has("unshare"),
  isContainer: true,
  makeEngine({ executionsMax, ...parts }) {
    const folder = `${parts.dataFolder}-cluster`;
    const host = hosts.get(parts.dataFolder) ?? podHost(folder);
    hosts.set(parts.dataFolder, host);
    return host.makeEngine(parts, { executionsMax, grace_ms: 4_000 });
  },
  async end(dataFolder) {
    await hosts.get(dataFolder)?.[Symbol.asyncDispose]();
    hosts.delete(dataFolder);
  },
});
