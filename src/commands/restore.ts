/**
 * `hooklaunch restore`: restores a backup to a data folder that no service uses. The backup is a file, or one of those
 * that a service has made in a folder or a bucket.
 *
 * @module
 */
import type { Command } from "commander";
import { restore, type RestoreReport } from "../backup/restore.ts";
import { DamagedBackupError } from "../backup/error.ts";
import { type ChosenFrom, findBackup } from "../backup/find.ts";
import { checkRemote } from "../config/settings.ts";
import { openRemote } from "../store/open_store.ts";
import { environment } from "./input/environment.ts";
import { isStandardInput, option } from "./input/options.ts";
import { printJson } from "./console/table.ts";
import { Progress, untilStopped, warnOfFlaws } from "./console/backup.ts";

/** Defines the command. */
export function defineRestore(command: Command): void {
  command
    .argument(
      "<backup>",
      "a file; a folder or s3://bucket/prefix of scheduled backups, for the newest, or with the name of one; - reads " +
        "standard input",
    )
    .addOption(option("--data <folder>", "the data folder to restore to").default("./data"))
    .addOption(option("--kv <url>", "an empty remote Deno KV for the database, in place of a file"))
    .option("--force", "move the present content of the folder aside")
    .option("--json", "print the summary as JSON")
    .action(run);
}

interface RestoreOptions {
  data: string;
  kv?: string;
  force?: boolean;
  json?: boolean;
}

async function run(file: string, { data, kv, force, json }: RestoreOptions): Promise<void> {
  if (kv !== undefined) checkRemote(kv, environment("HOOKLAUNCH_SECRET_KEY"));
  using database = kv === undefined ? undefined : await openRemote(kv);
  using progress = new Progress();
  const { name, source, place } = isStandardInput(file)
    ? { name: file, source: Deno.stdin.readable }
    : await findBackup(file, environment);
  if (place !== undefined) console.error(planOf(name, place, kv ?? data));
  const report = await untilStopped((signal) =>
    restore({
      data,
      source,
      ...(kv !== undefined && database && { remote: { kv: database, url: kv } }),
      force: force ?? false,
      signal,
      onProgress: (text) => progress.show(`Restoring: ${text}`),
    }).catch((error) => {
      throw withEarlier(error, place);
    })
  );
  progress.end();
  warnOfFlaws(report.flaws);
  if (!report.header.has_key && kv === undefined) {
    console.error(
      "This backup does not hold the key of stored secrets. Before the service starts, put secret.key " +
        `into ${data}, or set HOOKLAUNCH_SECRET_KEY`,
    );
  }
  if (json) printJson({ data, ...report });
  else for (const line of summary({ data, kv }, report)) console.log(line);
}

function* summary(
  { data, kv }: { data: string; kv: string | undefined },
  { header, files, interrupted, on_clusters, aside }: RestoreReport,
): Generator<string> {
  if (aside !== undefined) yield `Moved the content of ${data} to ${aside}`;
  if (interrupted.length > 0) {
    yield `Executions that were running in the backup: ${interrupted.length}. They end when the service starts`;
  }
  if (on_clusters.length > 0) {
    yield `Executions that were running on clusters: ${on_clusters.length}. They go on where their jobs still run`;
  }
  if (kv !== undefined) yield `Stored the database in ${kv}`;
  yield `Restored ${files} files to ${data}, as they were at ${header.created_at}`;
}

/** Says what is about to be restored, and to where. */
function planOf(name: string, place: ChosenFrom, data: string): string {
  const which = place.isNewest ? `the newest of ${place.count}` : `one of ${place.count}`;
  return `Restoring ${name}, ${which} in ${place.name}, made at ${place.made_at}, to ${data}`;
}

/** Names the backup before one that is damaged. */
function withEarlier(error: unknown, place: ChosenFrom | undefined): unknown {
  if (!(error instanceof DamagedBackupError) || place?.before === undefined) return error;
  return new DamagedBackupError(
    `${error.message}. The one before it is ${place.before}: restore that by its name`,
    { cause: error },
  );
}
