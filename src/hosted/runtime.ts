/**
 * The runtime of a hosted service: a Deno KV that the platform gives, an S3 bucket, and engines elsewhere. It starts
 * no process and writes no file.
 *
 * @module
 */
import type { Surroundings } from "../config/settings.ts";
import { engineMakers } from "../engines/mod.ts";
import type { Peer } from "../http/peer.ts";
import { HostedProjects } from "../projects/hosted/projects.ts";
import { newHeavyWork } from "../service/heavy_work.ts";
import type { Handler, Runtime, ServiceSpace } from "../service/runtime.ts";
import { openSharedStore } from "../store/kv_store.ts";
import { parseKeys } from "../triggers/key_text.ts";
import { secretBox } from "../triggers/secrets.ts";
import { NoArtifacts } from "./no_artifacts.ts";

/** The engines whose work runs elsewhere. */
const ENGINES = ["slurm", "kubernetes"];

/** There is no disk that could be full. */
const SPACE: ServiceSpace = {
  isShort: false,
  isShortForFiles: false,
  hasRoomForMessage: () => true,
  untilRoom: () => Promise.resolve(),
  start: () => Promise.resolve(),
  close: () => Promise.resolve(),
};

/**
 * Makes the runtime.
 *
 * @param onHandler gets what answers requests, as soon as there is one
 * @param peerOf returns the sender of a request
 */
export function hostedRuntime(
  onHandler: (handler: Handler) => void,
  peerOf: (request: Request, address: Deno.NetAddr) => Peer,
): Runtime {
  return {
    engines: () => engineMakers(ENGINES),
    async openArtifacts({ storage }, { env }: Pick<Surroundings, "env">) {
      if (storage === undefined) return new NoArtifacts();
      const { openS3 } = await import("../artifacts/s3/open.ts");
      return openS3(storage, env);
    },
    async openStore(_settings, { artifacts, ...parts }) {
      const kv = await Deno.openKv();
      return await openSharedStore(kv, { ...parts, ...(artifacts.isShared && { artifacts }) });
    },
    openSecrets({ secretKey = "" }) {
      return Promise.resolve(secretBox(parseKeys(secretKey.split(","), "HOOKLAUNCH_SECRET_KEY")));
    },
    newSpace: () => SPACE,
    newProjects: (options) => new HostedProjects(options),
    newHeavyWork,
    databaseBytes: () => Promise.resolve(0),
    listen(_settings, handler) {
      onHandler(handler);
      const nothing = () => Promise.resolve();
      return {
        listener: { port: 0, isEnding: false, renew: nothing, shutdown: nothing },
        socket: undefined,
      };
    },
    peerOf,
  };
}
