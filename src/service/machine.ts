/**
 * The runtime of a service on a machine of one's own, with a data folder.
 *
 * @module
 */
import { openArtifactStore } from "../artifacts/mod.ts";
import { engineMakers } from "../engines/mod.ts";
import { listenError } from "../http/listen_error.ts";
import { Listener } from "../http/listener.ts";
import { TlsListener } from "../http/tls_listener.ts";
import { SocketServer } from "../http/socket_server.ts";
import { Projects } from "../projects/projects.ts";
import { databaseBytes } from "../store/file/database_file.ts";
import { Space } from "../store/file/space.ts";
import { CHECK_SIZES } from "../store/file/start_check.ts";
import { userIdIn } from "../store/file/user_id.ts";
import { openStore } from "../store/open_store.ts";
import { openSecretBox } from "../triggers/secret_key.ts";
import type { ServiceSettings } from "../config/settings.ts";
import { newHeavyWork } from "./heavy_work.ts";
import type { Handler, Ports, Runtime } from "./runtime.ts";

/** Length of the kernel's queue of new connections. Beyond it a client's SYN is dropped and sent again after 1 s. */
const CONNECTIONS_WAITING_MAX = 4_096;

/** The runtime of a machine. */
export const machine: Runtime = {
  engines: () => engineMakers(),
  openArtifacts: ({ storage, data }, { env }) => openArtifactStore(storage, { data, env }),
  openStore({ data, kv }, { id, clock, events, artifacts }) {
    return openStore(data, {
      // Instances share the database. They share payloads where the artifact store is one for all.
      ...(artifacts.isShared && { artifacts }),
      clock,
      check: CHECK_SIZES,
      events,
      ...(kv === undefined ? {} : { remote: { url: kv, share: { id } } }),
    });
  },
  openSecrets: ({ data, secretKey }) => openSecretBox(data, secretKey),
  newSpace: ({ data }) => new Space(data),
  newProjects: (options) => new Projects(options),
  newHeavyWork: () => newHeavyWork(),
  backupJobs: async () => (await import("../backup/scheduled/run_job.ts")).runBackupJob,
  databaseBytes: ({ data }) => databaseBytes(data),
  userId: ({ data }) => userIdIn(data),
  listen(settings, handler) {
    return {
      listener: openListener(settings, handler),
      socket: SocketServer.open(settings.data, handler),
    };
  },
};

function openListener(settings: ServiceSettings, handler: Handler): Ports["listener"] {
  const { host: hostname, port, tls } = settings;
  const options = { tcpBacklog: CONNECTIONS_WAITING_MAX, onListen() {} };
  try {
    if (tls === undefined) {
      return new Listener((port) => Deno.serve({ ...options, hostname, port }, handler), port);
    }
    return new TlsListener(
      (at, clientOf) =>
        Deno.serve({ ...options, ...at }, (request, info) =>
          handler(request, {
            remoteAddr: clientOf(info.remoteAddr),
            get completed() {
              return info.completed;
            },
          })),
      { hostname, port, tcpBacklog: CONNECTIONS_WAITING_MAX, tls },
    );
  } catch (error) {
    // A machine without IPv6 has the other addresses alone.
    const hasNone = hostname === "::" && Object(error).code === "EAFNOSUPPORT";
    if (hasNone) return openListener({ ...settings, host: "0.0.0.0" }, handler);
    throw listenError(error, settings);
  }
}
