/**
 * The runtime of a service on a machine of one's own, with a data folder.
 *
 * @module
 */
import { openArtifactStore } from "../artifacts/mod.ts";
import { engineMakers } from "../engines/mod.ts";
import { listenError } from "../http/listen_error.ts";
import { Listener, type Serve } from "../http/listener.ts";
import { SocketServer } from "../http/socket_server.ts";
import { Projects } from "../projects/projects.ts";
import { databaseBytes } from "../store/file/database_file.ts";
import { Space } from "../store/file/space.ts";
import { CHECK_SIZES } from "../store/file/start_check.ts";
import { openStore } from "../store/open_store.ts";
import { openSecretBox } from "../triggers/secret_key.ts";
import type { ServiceSettings } from "../config/settings.ts";
import { newHeavyWork } from "./heavy_work.ts";
import type { Runtime } from "./runtime.ts";

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
  databaseBytes: ({ data }) => databaseBytes(data),
  listen(settings, handler) {
    const { host, data } = settings;
    const options = { hostname: host, tcpBacklog: CONNECTIONS_WAITING_MAX, onListen() {} };
    const serve: Serve = (port, tls) => Deno.serve({ ...options, ...tls, port }, handler);
    return { listener: openListener(serve, settings), socket: SocketServer.open(data, handler) };
  },
};

function openListener(serve: Serve, settings: ServiceSettings): Listener {
  try {
    return new Listener(serve, settings);
  } catch (error) {
    throw listenError(error, settings);
  }
}
