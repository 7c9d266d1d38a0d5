/**
 * The parts of the service that the operators' API uses.
 *
 * @module
 */
import type { ArtifactStore } from "../../artifacts/store.ts";
import type { Backups } from "../../backup/scheduled/backups.ts";
import type { Clock } from "../../platform/clock.ts";
import type { FilterWork } from "../../conditions/filter/job.ts";
import type { SchemaWork } from "../../conditions/json_schema/job.ts";
import type { ShapeWork } from "../../conditions/json_schema/shape_job.ts";
import type { ValuesWork } from "../../conditions/values/evaluate.ts";
import type { Reload } from "../../config/reload.ts";
import type { ServiceSettings } from "../../config/settings.ts";
import type { Engines } from "../../engines/mod.ts";
import type { HttpRequests } from "../../http_requests/http_requests.ts";
import type { Notifications } from "../../notifications/notifications.ts";
import type { NotifierSecrets } from "../../notifications/secrets.ts";
import type { Pipelines } from "../../pipelines/mod.ts";
import type { ProjectCode } from "../../projects/project_code.ts";
import type { ProjectSecrets } from "../../project_secrets/settings.ts";
import type { Acceptor } from "../../runs/accept.ts";
import type { Worker } from "../../runs/worker.ts";
import type { Space } from "../../store/file/space.ts";
import type { Store } from "../../store/store.ts";
import type { ProjectFailures } from "../../store/records/project_failures.ts";
import type { DeliveryCounts } from "../../store/records/delivery_counts.ts";
import type { TriggerLog } from "../../store/records/trigger_log.ts";
import type { KeptRequests } from "../../triggers/kept_requests.ts";
import type { Listeners } from "../../triggers/listeners.ts";
import type { TriggerRegistry } from "../../triggers/registry.ts";
import type { Replays } from "../../triggers/replays.ts";
import type { Scheduler } from "../../triggers/scheduler.ts";
import type { SecretBox } from "../../triggers/secrets.ts";
import type { BodyReader } from "../body.ts";

/** The parts of the service that an operator's request uses. */
export interface Operator {
  store: Store;
  triggers: TriggerRegistry;
  triggerLog: TriggerLog;
  deliveryCounts: Pick<DeliveryCounts, "read">;
  scheduler: Pick<Scheduler, "failures">;
  keptRequests: Pick<KeptRequests, "read" | "forget">;
  listeners: Pick<Listeners, "listen" | "settled" | "held">;
  acceptor: Acceptor;
  replays: Replays;
  worker: Pick<Worker, "pendingOf" | "backlog" | "pacer">;
  projects: ProjectCode;
  projectSecrets: ProjectSecrets;
  projectFailures: Pick<ProjectFailures, "list">;
  engines: Engines;
  pipelines: Pick<Pipelines, "begin" | "stop" | "approve">;
  httpRequests: Pick<HttpRequests, "stop">;
  notifications: Notifications;
  notifierSecrets: NotifierSecrets;
  clock: Clock;
  /** Encrypts what browsers keep for a login. */
  box: SecretBox;
  /** Evaluates payload filters in the Worker. */
  heavyWork: FilterWork & SchemaWork & ShapeWork & ValuesWork;
  settings: ServiceSettings;
  space: Pick<Space, "isShort" | "isShortForFiles" | "shortSince_ms" | "filesShortSince_ms">;
  artifacts: Pick<ArtifactStore, "failure" | "failingSince_ms">;
  bodies: BodyReader;
  /** Reads an environment variable, for secrets written as `{env:NAME}`. */
  env(name: string): string | undefined;
  /** Returns what reads anew what the service was started with; undefined where `serve` did not start it. */
  reload(): Reload | undefined;
  /** Returns the id of the system's user that the service runs as; undefined where that is not known. */
  userId(): Promise<number | undefined>;
  /** The scheduled backups; undefined where there are none. */
  backups: Backups | undefined;
  /** The address of the service as seen from outside, without a slash at the end. */
  baseUrl(): string;
}
