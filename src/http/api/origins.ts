/**
 * The origin of records: the name of their trigger, and who has launched them.
 *
 * @module
 */
import type { Context } from "@hono/hono";
import { z } from "zod";
import { type Author, authorFrom } from "../../store/records/audit.ts";
import {
  type Launched,
  type Launcher,
  LAUNCHER_KINDS,
  launcherOf,
} from "../../store/records/launchers.ts";
import { text, time } from "./answer.ts";
import type { Authenticated } from "./auth.ts";
import type { TriggerLabels } from "./trigger_labels.ts";

/** The name of an operator's token, or of a person; of the environment's, `HOOKLAUNCH_ADMIN_TOKEN`. */
type ShownLauncher = Omit<Launcher, "id" | "issuer" | "subject">;

/** The schema of an operator who has changed something. */
export const authorSchema = z.object({
  name: text.describe(
    "The name of the token or the person; HOOKLAUNCH_ADMIN_TOKEN for the environment's token; `serve --config` and " +
      "the file for what was applied at start",
  ),
  id: text.exactOptional().describe("The id of the token or the person"),
  issuer: text.exactOptional().describe("The identity provider at which the person has logged in"),
  subject: text.exactOptional().describe("The identifier of the person there"),
});

/** The origin of a record, as the API shows it. */
export interface Origin {
  /** The name of the trigger; absent when it was deleted. */
  trigger?: string;
  launched_by: ShownLauncher;
}

/** The schema of who has launched something. */
export const launcher = z.object({
  kind: z.enum(LAUNCHER_KINDS),
  name: text.exactOptional().describe(
    "The name of the operator's token or of the person; HOOKLAUNCH_ADMIN_TOKEN for the environment's token",
  ),
}).describe(
  "`sender` for a request at the launch URL; `replay` for a delivery that an operator launched again; " +
    "`operator` for other work that one started, such as the copy of a pipeline; `schedule` for a time of a schedule",
);

/** The schemas of what a run of a schedule has. */
export const scheduleFields = {
  source: z.literal("schedule").exactOptional().describe(
    "Set where a schedule has launched it, or an operator did so in its place",
  ),
  scheduled_for: time.exactOptional().describe("The time of the occurrence that it is for"),
};

/** The schemas of {@linkcode Origin}. */
export const origin = {
  trigger: text.exactOptional().describe(
    "The name of the trigger; absent when it was deleted, or the token may not see it",
  ),
  launched_by: launcher,
};

/** Returns a record with its origin. */
export async function withOrigin<
  T extends Launched & { id: string; trigger_id: string; replay_of?: string },
>(labels: TriggerLabels, record: T): Promise<Omit<T, "launched_by"> & Origin> {
  const trigger = await labels.ofRecord(record, record.trigger_id);
  return {
    ...record,
    ...(trigger !== undefined && { trigger: trigger.name }),
    launched_by: shownLauncher(record),
  };
}

/** Returns who has launched something, as the API shows it. */
export function shownLauncher(record: Launched & { replay_of?: string }): ShownLauncher {
  const { id: _id, issuer: _issuer, subject: _subject, ...shown } = launcherOf(record);
  return shown;
}

/** Returns the operator who sends a request. */
export function authorOf(context: Context): Author {
  // The caller has put it there.
  const { access }: Authenticated = context.env;
  return authorFrom(access);
}
