/**
 * The runtime of a hosted service: a Deno KV that the platform gives, an S3 bucket, and engines elsewhere. It starts
 * no process and writes no file.
 *
 * @module
 */
import type { Surroundings } from "../config/settings.ts";
import { engineMakers, noteUnusable } from "../engines/mod.ts";
import type { Peer } from "../http/peer.ts";
import { HostedProjects } from "../projects/hosted/projects.ts";
import { newHeavyWork } from "../service/heavy_work.ts";
import type { Handler, Runtime, ServiceSpace } from "../service/runtime.ts";
import { openSharedStore } from "../store/kv_store.ts";
import { parseKeys } from "../triggers/key_text.ts";
import { type SecretBox, secretBox } from "../triggers/secrets.ts";
import { NoArtifacts } from "./no_artifacts.ts";
import { Relay } from "./relay.ts";

/** The engines whose work runs elsewhere. */
const ENGINES = ["slurm", "kubernetes"];

const NO_PROCESSES =
  'this platform starts no processes. Name the engine "slurm" or "kubernetes", or let the trigger send an http_request';

/** There is no disk that could be full. */
const SPACE: ServiceSpace = {
  isShort: false,
  isShortForFiles: false,
  shortSince_ms: undefined,
  filesShortSince_ms: undefined,
  hasRoomForMessage: () => true,
  untilRoom: () => Promise.resolve(),
  start: () => Promise.resolve(),
  close: () => Promise.resolve(),
};

/** Functions of the process that has the runtime. */
interface HostedProcess {
  /** Called with what answers requests, as soon as there is one. */
  onHandler(handler: Handler): void;
  /** Returns the sender of a request. */
  peerOf(request: Request, address: Deno.NetAddr): Peer;
  /** Counts a request of another instance as under way until the result is disposed of. */
  begin(): Disposable;
}

/** Makes the runtime. */
export function hostedRuntime({ onHandler, peerOf, begin }: HostedProcess): Runtime {
  return {
    async engines() {
      noteUnusable("local", NO_PROCESSES);
      const makers = Object.entries(await engineMakers(ENGINES));
      return Object.fromEntries(
        makers.map(([type, make]) => [type, (parts) => make({ ...parts, hasDisk: false })]),
      );
    },
    async openArtifacts({ storage }, { env }: Pick<Surroundings, "env">) {
      if (storage === undefined) return new NoArtifacts();
      const { openS3 } = await import("../artifacts/s3/open.ts");
      return openS3(storage, env);
    },
    async openStore(_settings, { artifacts, ...parts }) {
      const kv = await Deno.openKv();
      return await openSharedStore(kv, { ...parts, ...(artifacts.isShared && { artifacts }) });
    },
    openSecrets: ({ secretKey = "" }) => Promise.resolve(boxOf(secretKey)),
    newSpace: () => SPACE,
    newProjects: (options) => new HostedProjects(options),
    backupJobs: async () => (await import("./backup_jobs.ts")).runHostedBackupJob,
    newHeavyWork: () => newHeavyWork({ worksHere: true }),
    databaseBytes: () => Promise.resolve(0),
    userId: () => Promise.resolve(undefined),
    listen({ secretKey = "" }, handler, parts) {
      const relay = new Relay({ ...parts, secrets: boxOf(secretKey) });
      relay.serve(async (request, info) => {
        const underWay = begin();
        void info.completed.finally(() => underWay[Symbol.dispose]());
        return await handler(request, info);
      });
      onHandler(handler);
      return {
        listener: { port: 0, shutdown: () => relay.close() },
        socket: undefined,
        way: { address: relay.address, send: (url, init) => relay.send(url, init) },
      };
    },
    peerOf,
  };
}

function boxOf(secretKey: string): SecretBox {
  return secretBox(parseKeys(secretKey.split(","), "HOOKLAUNCH_SECRET_KEY"));
}
