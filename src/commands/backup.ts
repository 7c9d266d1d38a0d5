/**
 * `hooklaunch backup`: a backup of all data, while the service runs or not.
 *
 * @module
 */
import type { Command } from "commander";
import { backUp, type BackupReport } from "../backup/backup.ts";
import { formatBytes } from "../platform/text/display.ts";
import { option } from "./input/options.ts";
import { dataText } from "./console/format.ts";
import { Progress, untilStopped, warnOfFlaws } from "./console/backup.ts";

interface BackupOptions {
  data: string;
  withoutKey?: boolean;
  force?: boolean;
  json?: boolean;
}

/** Defines the command. */
export function defineBackup(command: Command): void {
  command
    .argument("<file>", "the file to write; - writes to standard output")
    .addOption(option("--data <folder>", "the data folder").default("./data"))
    .option("--without-key", "leave out the key that stored secrets are encrypted with")
    .option("--force", "replace an existing file")
    .option("--json", "print the summary as JSON")
    .action(run);
}

async function run(file: string, { data, withoutKey, force, json }: BackupOptions): Promise<void> {
  const isStream = file === "-";
  using progress = new Progress();
  const report = await untilStopped((signal) =>
    backUp({
      data,
      target: isStream ? Deno.stdout.writable : file,
      withoutKey: withoutKey ?? false,
      force: force ?? false,
      signal,
      onProgress: (text) => progress.show(`Backing up: ${text}`),
    })
  );
  progress.end();
  warnOfFlaws(report.flaws);
  if (!report.has_key) {
    console.error(
      "This backup does not hold the key of stored secrets. Keep secret.key, or the value of " +
        "HOOKLAUNCH_SECRET_KEY: without it nobody can read the secrets in the backup",
    );
  }
  // Standard output is the backup itself.
  const print = isStream ? console.error : console.log;
  print(json ? dataText({ file, ...report }) : summary(file, report));
}

function summary(file: string, { size, files, sha256 }: BackupReport): string {
  const where = file === "-" ? "" : ` to ${file}`;
  return `Backed up ${files} files${where}: ${formatBytes(size)}, sha256 ${sha256}`;
}
