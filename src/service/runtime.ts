/**
 * The runtime of a service: what it takes from the place where it runs. `machine.ts` is that of a machine of one's
 * own, with a data folder; `hosted/` has that of a platform that runs several instances and keeps no files.
 *
 * @module
 */
import { deadline } from "@std/async/deadline";
import type { ArtifactStore } from "../artifacts/store.ts";
import type { RunBackupJob } from "../backup/scheduled/backups.ts";
import type { ServiceSettings, Surroundings } from "../config/settings.ts";
import type { EngineMakers } from "../engines/mod.ts";
import type { HandlerInfo } from "../http/door/request_queue.ts";
import type { SendToInstance } from "../http/forward.ts";
import type { Listener } from "../http/listener.ts";
import type { Peer } from "../http/peer.ts";
import type { TlsListener } from "../http/tls_listener.ts";
import type { SocketServer } from "../http/socket_server.ts";
import { ignoreTimeout } from "../platform/waiting/promises.ts";
import type { ProjectCode } from "../projects/project_code.ts";
import type { ProjectsOptions } from "../projects/projects.ts";
import type { CommitterEvents } from "../store/commit/committer.ts";
import type { Space } from "../store/file/space.ts";
import type { Store } from "../store/store.ts";
import type { SecretBox } from "../triggers/secrets.ts";
import type { ServiceHeavyWork } from "./heavy_work.ts";

/** Answers a request. */
export type Handler = (request: Request, info: HandlerInfo) => Response | Promise<Response>;

/** The ways by which a service is reached. */
export interface Ports {
  listener: Pick<Listener, "port" | "shutdown"> & Partial<Pick<TlsListener, "isEnding" | "renew">>;
  /** The socket in the data folder. */
  socket: Pick<SocketServer, "close"> | undefined;
  /** The way to other instances, where they have no addresses. */
  way?: { readonly address: string; send: SendToInstance };
}

/** Time for the last answers when a port is closed, just before the end. */
export const LAST_ANSWERS_MS = 250;

/** Closes the ports. It does not wait for bodies that do not come. */
export async function closePorts({ listener, socket }: Ports): Promise<void> {
  const closed = Promise.all([listener.shutdown(), socket?.close()]);
  await deadline(closed, LAST_ANSWERS_MS).catch(ignoreTimeout);
}

/** The room for files. */
export type ServiceSpace = Pick<
  Space,
  | "isShort"
  | "isShortForFiles"
  | "shortSince_ms"
  | "filesShortSince_ms"
  | "hasRoomForMessage"
  | "untilRoom"
  | "start"
  | "close"
>;

/** The parts with which a store is opened. */
interface StoreSurroundings {
  /** The id of this instance. */
  id: string;
  clock: Surroundings["clock"];
  events: CommitterEvents;
  artifacts: ArtifactStore;
}

/** The parts that a way to other instances needs. */
interface ListenParts {
  store: Store;
  clock: Surroundings["clock"];
}

/** The parts of a service that depend on the place where it runs. */
export interface Runtime {
  /** The makers of the engines that there are, by type. */
  readonly engines: () => Promise<EngineMakers>;
  openArtifacts(
    settings: ServiceSettings,
    surroundings: Pick<Surroundings, "env">,
  ): Promise<ArtifactStore>;
  openStore(settings: ServiceSettings, parts: StoreSurroundings): Promise<Store>;
  openSecrets(settings: ServiceSettings): Promise<SecretBox>;
  newSpace(settings: ServiceSettings): ServiceSpace;
  newProjects(options: ProjectsOptions): ProjectCode;
  newHeavyWork(): ServiceHeavyWork;
  /** Returns what makes and proves backups. */
  backupJobs(): Promise<RunBackupJob>;
  /** The size of the database's files; 0 where there are none. */
  databaseBytes(settings: ServiceSettings): Promise<number>;
  /** Returns the id of the system's user that the service runs as; undefined where that is not known. */
  userId(settings: ServiceSettings): Promise<number | undefined>;
  /** Begins to pass requests to a handler. */
  listen(settings: ServiceSettings, handler: Handler, parts: ListenParts): Ports;
  /** Returns the sender of a request, where connections do not tell; otherwise absent. */
  readonly peerOf?: (request: Request, address: Deno.NetAddr) => Peer;
}
