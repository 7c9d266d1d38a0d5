/**
 * `/api/v0/backups/`: the backups that the service makes by itself.
 *
 * @module
 */
import { STATUS_CODE } from "@std/http/status";
import { z } from "zod";
import type { Backups, ListedBackup } from "../../backup/scheduled/backups.ts";
import { ConflictError } from "../../platform/errors.ts";
import { answer, count, page, text, time } from "./answer.ts";
import { operation } from "./operation.ts";
import type { Operator } from "./operator.ts";
import { pageAnswer } from "./page_answer.ts";

/** The state of the backups of a service. */
export interface BackupStatus {
  /** The place. */
  to: string;
  every_seconds: number;
  /** True while a backup is made, or restored and checked. */
  working: boolean;
  last?: { name: string; made_at: string; size: number; files: number; records: number };
  proof?: { name: string; proven_at: string; read_back?: true };
  /** The reasons why backups cannot be made, or restored. */
  failures: string[];
}

/** The schema of how far backups are. */
export const backupStatus = answer<BackupStatus>()(
  "BackupStatus",
  z.object({
    to: text.describe("The place"),
    every_seconds: count,
    working: z.boolean().describe("True while a backup is made, or restored and checked"),
    last: z.object({ name: text, made_at: time, size: count, files: count, records: count })
      .exactOptional().describe("The last one that was made"),
    proof: z.object({
      name: text,
      proven_at: time,
      read_back: z.literal(true).exactOptional()
        .describe("Set where no files are kept: it was read back and checked, and not restored"),
    }).exactOptional()
      .describe("The last one that was restored into a temporary folder and checked"),
    failures: z.array(text).describe("Why backups cannot be made, or restored"),
  }),
);

const backup = answer<ListedBackup>()(
  "Backup",
  z.object({
    name: text,
    made_at: time.describe("The moment that it shows"),
    state: z.enum(["made", "proven", "damaged"])
      .describe("`proven`: restored and checked; `damaged`: it cannot be restored"),
  }),
);

/** The operations below `/backups/`. */
export const backupOperations = [
  operation({
    id: "listBackups",
    method: "get",
    answeredBy: "leader",
    path: "/backups/",
    summary: "List the backups in the place that the setting backup names, newest first",
    description: "409 where the service makes no backups by itself.",
    answers: { 200: { schema: page(backup) } },
    async perform({ api, context }) {
      return pageAnswer(context, api.baseUrl(), await scheduled(api).list(), undefined);
    },
  }),
  operation({
    id: "makeBackup",
    method: "post",
    path: "/backups/",
    summary: "Begin a backup now",
    description: "It is made, and then restored into a temporary folder and checked. " +
      "`GET /service/` says how far it is. 409 while another one is made or checked.",
    answers: { 202: { description: "Begun", schema: backupStatus } },
    async perform({ api, context }) {
      const backups = scheduled(api);
      backups.begin();
      return context.json(await backupStatusOf(backups), STATUS_CODE.Accepted);
    },
  }),
];

/** Returns how far backups are. */
export async function backupStatusOf(backups: Backups): Promise<BackupStatus> {
  const { settings: { to, every_ms }, isWorking: working } = backups;
  const [{ last, proof }, causes] = await Promise.all([backups.state(), backups.causes()]);
  return {
    to,
    every_seconds: every_ms / 1_000,
    working,
    ...(last && {
      last: {
        name: last.name,
        made_at: last.made_at,
        size: last.size,
        files: last.files,
        records: last.records,
      },
    }),
    ...(proof && { proof }),
    failures: causes.map(({ text }) => text),
  };
}

function scheduled({ backups }: Pick<Operator, "backups">): Backups {
  if (backups !== undefined) return backups;
  throw new ConflictError(
    "The service makes no backups by itself: its configuration file has no setting backup",
  );
}
