/**
 * The operators' API, below `/api/v0`: the list of its operations, and their routes.
 *
 * @module
 */
import { Hono } from "@hono/hono";
import { methodNotAllowed as refuseOtherMethods } from "@hono/hono/method-not-allowed";
import { NotFoundError } from "../../platform/errors.ts";
import { methodNotAllowed } from "../problem.ts";
import { activityOperations } from "./activity.ts";
import { attentionOperations } from "./attention.ts";
import { auditOperations } from "./audit.ts";
import { backupOperations } from "./backups.ts";
import { DeliveryChanges } from "./delivery_changes.ts";
import { deliveryOperations } from "./deliveries.ts";
import { diagnosisOperations } from "./diagnose.ts";
import { DiagnosisLimits } from "./diagnosis_limits.ts";
import { executionLogOperations } from "./execution_log.ts";
import { executionOperations } from "./executions.ts";
import { EventStreams, type EventStreamsOptions } from "./event_stream.ts";
import { failureOperations } from "./failures.ts";
import type { GrantCheck } from "./grants.ts";
import { listenOperations } from "./listen.ts";
import type { Elsewhere } from "./api.ts";
import { type Operation, routesOf } from "./operation.ts";
import type { Operator } from "./operator.ts";
import { httpRequestOperations } from "./http_requests.ts";
import { inferSchemaOperations } from "./infer_schema.ts";
import { instanceOperations } from "./instances.ts";
import { loginProviderOperations } from "./login_providers.ts";
import { notificationOperations } from "./notifications.ts";
import { notifierOperations } from "./notifiers.ts";
import { outputOperations } from "./outputs.ts";
import { passkeyOperations } from "./passkeys.ts";
import { pipelineOperations } from "./pipelines.ts";
import { projectOperations } from "./projects.ts";
import { projectSecretOperations } from "./project_secrets.ts";
import { quotaOperations } from "./quotas.ts";
import { secretOperations } from "./trigger_secrets.ts";
import { projectContentsOperations } from "./project_contents.ts";
import { replayOperations } from "./replays.ts";
import { retentionOperations } from "./retention.ts";
import { runOperations } from "./runs.ts";
import { turnOperations } from "./turns.ts";
import { SealedCursors } from "./sealed_cursors.ts";
import { serviceOperations } from "./service.ts";
import { scheduleOperations } from "./schedules.ts";
import { sessionOperations } from "./sessions.ts";
import { tokenOperations } from "./tokens.ts";
import { triggerLogOperations } from "./trigger_log.ts";
import { triggerOperations } from "./triggers.ts";
import { tryActionsOperations } from "./try_actions.ts";
import { tryFilterOperations } from "./try_filter.ts";
import { tryOutOperations } from "./try_out.ts";

/** Every id and name is shorter, and the database refuses to look for much longer ones. */
const NAME_LENGTH_MAX = 256;

/** Every operation that needs an operator's token, in the order in which documents list them. */
export const operations: readonly Operation[] = [
  ...triggerOperations,
  ...activityOperations,
  ...quotaOperations,
  ...scheduleOperations,
  ...secretOperations,
  ...tryOutOperations,
  ...tryFilterOperations,
  ...tryActionsOperations,
  ...inferSchemaOperations,
  ...diagnosisOperations,
  ...triggerLogOperations,
  ...deliveryOperations,
  ...listenOperations,
  ...runOperations,
  ...turnOperations,
  ...replayOperations,
  ...projectOperations,
  ...projectSecretOperations,
  ...projectContentsOperations,
  ...executionOperations,
  ...executionLogOperations,
  ...outputOperations,
  ...pipelineOperations,
  ...httpRequestOperations,
  ...tokenOperations,
  ...sessionOperations,
  ...passkeyOperations,
  ...loginProviderOperations,
  ...auditOperations,
  ...serviceOperations,
  ...backupOperations,
  ...attentionOperations,
  ...notifierOperations,
  ...notificationOperations,
  ...failureOperations,
  ...retentionOperations,
  ...instanceOperations,
];

/** The settings of the API. */
export interface ApiOptions extends Omit<EventStreamsOptions, "clock"> {
  /** `HOOKLAUNCH_ADMIN_TOKEN` is set. */
  hasEnvironmentToken: boolean;
  /** Returns what somebody may do on some grounds now. */
  checkGrant: GrantCheck;
  /** The other instances, where several share the database. */
  elsewhere?: Elsewhere;
}

/** Makes the routes of the operations. The caller has checked the operator's token. */
export function operatorRoutes(
  operator: Operator,
  { hasEnvironmentToken, checkGrant, elsewhere, ...options }: ApiOptions,
): Hono {
  const { clock, store: { shared }, settings: { secretKey } } = operator;
  const sync = async () => await shared?.triggers.sync();
  const streams = new EventStreams({ clock, sync, ...options });
  const diagnoses = new DiagnosisLimits(clock);
  const deliveryChanges = new DeliveryChanges(operator);
  const made = {
    streams,
    diagnoses,
    deliveryChanges,
    cursors: new SealedCursors(shared && secretKey),
  };
  const parts = {
    ...operator,
    ...made,
    hasEnvironmentToken,
    checkGrant,
    ...(elsewhere && { elsewhere }),
  };
  const api = new Hono({ strict: false });
  return api
    .use(refuseOtherMethods({
      app: api,
      onMethodNotAllowed: (_context, methods) => methodNotAllowed(methods.join(", ")),
    }))
    .use("/:kind/:name/*", async function refuseLongNames(context, next) {
      const { length } = context.req.param("name");
      if (length <= NAME_LENGTH_MAX) return await next();
      throw new NotFoundError(`There is nothing of a name or an id of ${length} characters`);
    })
    .route("/", routesOf(operations, parts));
}
