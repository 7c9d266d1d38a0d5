/**
 * `hooklaunch restore`: restores a backup to a data folder that no service uses.
 *
 * @module
 */
import type { Command } from "commander";
import { restore, type RestoreReport } from "../backup/restore.ts";
import { InvalidInputError, messageOf } from "../platform/errors.ts";
import { isStandardInput, option } from "./input/options.ts";
import { printJson } from "./console/table.ts";
import { Progress, untilStopped, warnOfFlaws } from "./console/backup.ts";

/** Defines the command. */
export function defineRestore(command: Command): void {
  command
    .argument("<file>", "the backup; - reads standard input")
    .addOption(option("--data <folder>", "the data folder to restore to").default("./data"))
    .option("--force", "move the present content of the folder aside")
    .option("--json", "print the summary as JSON")
    .action(run);
}

interface RestoreOptions {
  data: string;
  force?: boolean;
  json?: boolean;
}

async function run(file: string, { data, force, json }: RestoreOptions): Promise<void> {
  using progress = new Progress();
  const source = await open(file);
  const report = await untilStopped((signal) =>
    restore({
      data,
      source,
      force: force ?? false,
      signal,
      onProgress: (text) => progress.show(`Restoring: ${text}`),
    })
  );
  progress.end();
  warnOfFlaws(report.flaws);
  if (!report.header.has_key) {
    console.error(
      "This backup does not hold the key of stored secrets. Before the service starts, put secret.key " +
        `into ${data}, or set HOOKLAUNCH_SECRET_KEY`,
    );
  }
  if (json) printJson({ data, ...report });
  else for (const line of summary(data, report)) console.log(line);
}

function* summary(
  data: string,
  { header, files, interrupted, on_clusters, aside }: RestoreReport,
): Generator<string> {
  if (aside !== undefined) yield `Moved the content of ${data} to ${aside}`;
  if (interrupted.length > 0) {
    yield `Executions that were running in the backup: ${interrupted.length}. They end when the service starts`;
  }
  if (on_clusters.length > 0) {
    yield `Executions that were running on clusters: ${on_clusters.length}. They go on where their jobs still run`;
  }
  yield `Restored ${files} files to ${data}, as they were at ${header.created_at}`;
}

async function open(file: string): Promise<ReadableStream<Uint8Array<ArrayBuffer>>> {
  if (isStandardInput(file)) return Deno.stdin.readable;
  try {
    return (await Deno.open(file, { read: true })).readable;
  } catch (error) {
    throw new InvalidInputError("the backup", `Cannot read ${file}: ${messageOf(error)}`);
  }
}
