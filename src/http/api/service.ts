/**
 * `/api/v0/service/`: the settings of the service, and the work before it.
 *
 * @module
 */
import { z } from "zod";
import deno from "../../../deno.json" with { type: "json" };
import type { Reloaded } from "../../config/reload.ts";
import { ConflictError } from "../../platform/errors.ts";
import { hidePassword } from "../../platform/network/urls.ts";
import { answer, count, text } from "./answer.ts";
import { type BackupStatus, backupStatus, backupStatusOf } from "./backups.ts";
import { operation } from "./operation.ts";
import type { Api } from "./api.ts";

/** The settings of the service, and the work before it. */
export interface ServiceState {
  version: string;
  /** The address of the service as senders see it. */
  url: string;
  /** The settings by the names of the flags; no secret is among them. */
  settings: Record<string, string | number | boolean>;
  /** The id of the system's user that the service runs as, 0 for root; absent where that is not known. */
  user_id?: number;
  /** False while the disk has too little room to accept launches. */
  has_room: boolean;
  /** False while the disk has too little room for the files of executions. */
  has_room_for_files: boolean;
  /** Accepted runs that have work before them. */
  backlog: number;
  executions: { running: number; waiting: number };
  /** The state of scheduled backups; absent where there are none. */
  backup?: BackupStatus;
}

const service = answer<ServiceState>()(
  "Service",
  z.object({
    version: text,
    url: text.describe("The address of the service as senders see it"),
    settings: z.record(text, z.union([text, z.number(), z.boolean()])).describe(
      "The settings by the names of the flags of `serve`; no secret is among them",
    ),
    user_id: count.exactOptional().describe(
      "The id of the system's user that the service runs as, 0 for root; absent where that is not known",
    ),
    has_room: z.boolean().describe(
      "False while the disk has too little room to accept launches",
    ),
    has_room_for_files: z.boolean().describe(
      "False while the disk has too little room for the files of executions",
    ),
    backlog: count.describe("Accepted runs that have work before them"),
    executions: z.object({ running: count, waiting: count }),
    backup: backupStatus.exactOptional().describe(
      "How far the backups are that the service makes by itself; absent where it makes none",
    ),
  }),
);

const reloaded = answer<Reloaded>()(
  "Reloaded",
  z.object({
    what: z.enum(["environment", "configuration", "secrets", "certificate"]),
    outcome: z.enum(["changed", "unchanged", "kept"])
      .describe("`kept`: a mistake, so that what was in use before stays in use"),
    detail: text.exactOptional().describe("What has changed, or what is wrong"),
  }),
);

const reload = answer<{ results: Reloaded[] }>()(
  "Reload",
  z.object({ results: z.array(reloaded) }),
);

/** The operations of the service itself. */
export const serviceOperations = [
  operation({
    id: "getService",
    method: "get",
    answeredBy: "leader",
    path: "/service/",
    summary: "Read the settings of the service, and the work before it",
    answers: { 200: { schema: service } },
    async perform({ api, context }) {
      const { baseUrl, space, worker, engines, backups } = api;
      const { running, waiting } = engines.load;
      const user_id = await api.userId();
      const state: ServiceState = {
        version: deno.version,
        url: baseUrl(),
        settings: settingsOf(api),
        ...(user_id !== undefined && { user_id }),
        has_room: !space.isShort,
        has_room_for_files: !space.isShortForFiles,
        backlog: worker.backlog,
        executions: { running, waiting },
        ...(backups && { backup: await backupStatusOf(backups) }),
      };
      return context.json(state);
    },
  }),
  operation({
    id: "reloadService",
    method: "post",
    path: "/service/reload/",
    summary: "Read configuration, environment file, secrets and certificate anew",
    description:
      "As SIGHUP does. Nothing is interrupted. A mistake in one keeps the last good one.",
    answers: { 200: { schema: reload } },
    async perform({ api, context }) {
      const readAnew = api.reload();
      if (readAnew === undefined) {
        throw new ConflictError("Cannot read anything anew: the service was not started by serve");
      }
      return context.json({ results: await readAnew() });
    },
  }),
];

function settingsOf({ settings, hasEnvironmentToken }: Api): ServiceState["settings"] {
  const { kv, publicUrl, trustedProxies, agent, storage } = settings;
  return {
    host: settings.host,
    port: settings.port,
    data: settings.data,
    dev: settings.dev,
    "tls-cert": settings.tls !== undefined,
    "public-url": publicUrl ?? "",
    "trusted-proxy": trustedProxies.join(", "),
    "max-payload": settings.payloadBytesMax,
    "retention-days": settings.retention_days,
    "max-executions": settings.executionsMax,
    "stop-timeout": settings.stopTimeout_ms / 1_000,
    kv: kv === undefined ? "" : hidePassword(kv),
    storage: storage === undefined ? "" : hidePassword(storage),
    "agent-url": agent?.url ?? "",
    HOOKLAUNCH_ADMIN_TOKEN: hasEnvironmentToken,
    HOOKLAUNCH_SECRET_KEY: settings.secretKey !== undefined,
  };
}
