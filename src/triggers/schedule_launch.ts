/**
 * The launch of a trigger by its schedule: by the trigger as it is, its pace among it. No condition and no rate limit
 * applies: nobody sends anything.
 *
 * @module
 */
import { maskBody } from "../conditions/masked_body.ts";
import { launchRequest } from "../conditions/request.ts";
import type { Clock } from "../platform/clock.ts";
import type { Acceptance, Acceptor } from "../runs/accept.ts";
import type { Launch } from "../runs/acceptance.ts";
import type { ActionSettings } from "../store/records/runs.ts";
import { scheduleNames } from "../store/records/schedules.ts";
import type { PreparedTrigger } from "./prepare.ts";
import type { ScheduleSettings } from "./schedule_settings.ts";

const CONTENT_TYPE = "application/json";

/** The parts of a prepared trigger that a launch by a schedule needs. */
export interface ScheduledTrigger extends Pick<PreparedTrigger, "redacted" | "pace"> {
  trigger: Pick<PreparedTrigger["trigger"], "id" | "project" | "enabled" | "schedule"> & {
    actions: readonly ActionSettings[];
  };
}

/** The parts of a service that a launch by a schedule needs. */
export interface ScheduleLaunchParts {
  clock: Clock;
  triggers: {
    prepared(
      triggerId: string,
    ): ScheduledTrigger | undefined | Promise<ScheduledTrigger | undefined>;
    isCurrent(prepared: ScheduledTrigger): boolean;
  };
  acceptor: Acceptor;
  /** Returns the address of the service as senders reach it, without a slash at the end. */
  baseUrl(): string;
}

/** Returns the schedule of a name; undefined where a trigger has none. */
export function scheduleOf(
  { trigger: { schedule = [] } }: ScheduledTrigger,
  name: string,
): ScheduleSettings[number] | undefined {
  return schedule[scheduleNames(schedule).indexOf(name)];
}

/** Launches a trigger with the payload of a schedule. */
export async function launchScheduled(
  { clock, triggers, acceptor, baseUrl }: ScheduleLaunchParts,
  prepared: ScheduledTrigger,
  payload: unknown,
  launch: Required<Pick<Launch, "schedule" | "launchedBy">> & Pick<Launch, "claim">,
): Promise<Acceptance> {
  const { trigger, redacted } = prepared;
  const sent = new TextEncoder().encode(JSON.stringify(payload));
  const pace = await prepared.pace?.(launchRequest({
    method: "POST",
    url: `${baseUrl()}/api/v0/launch/${trigger.id}/`,
    query: new URLSearchParams(),
    headers: new Headers({ "content-type": CONTENT_TYPE }),
    body: sent,
    remoteIp: "",
    receivedAt_ms: clock.now(),
  }));
  return await acceptor.accept({
    ...launch,
    triggerId: trigger.id,
    project: trigger.project,
    actions: trigger.actions,
    quotas: [],
    body: await maskBody(sent, CONTENT_TYPE, redacted),
    contentType: CONTENT_TYPE,
    remoteIp: "",
    ...pace,
    isCurrent: () => triggers.isCurrent(prepared),
  });
}
