/**
 * A whole service on a real Slurm.
 *
 * @module
 */
import { SlurmBackend } from "../../../src/engines/slurm/mod.ts";
import { has } from "../../needs.ts";
import { isLong } from "../../surroundings.ts";
import { engineMatrix } from "../matrix.ts";
import { SlurmCluster } from "./slurm_cluster.ts";

const cluster = isLong && has("slurmctld") ? await SlurmCluster.start() : undefined;
const host = (await cluster?.command("hostname") ?? "").trim();
let lists = 0;
/** Stands before slurmrestd, and counts the lists of all jobs. */
const proxy = cluster === undefined
  ? undefined
  : Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, (request) => {
    const { pathname } = new URL(request.url);
    if (pathname.endsWith("/jobs")) lists++;
    const headers = new Headers(request.headers);
    headers.delete("host");
    const { method, body } = request;
    return fetch(`${cluster.url}${pathname}`, { method, headers, body });
  });

engineMatrix(
  "Slurm",
  cluster && {
    host,
    kind: { type: "slurm", backendOf: (settings) => new SlurmBackend(settings) },
    fields: { engine: cluster.settings() },
    engine: () => cluster.settings({ url: `http://127.0.0.1:${proxy?.addr.port}`, extra: {} }),
    lists: () => lists,
  },
);

Deno.test.afterAll(async () => {
  await proxy?.shutdown();
  await cluster?.[Symbol.asyncDispose]();
});
