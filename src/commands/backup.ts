/**
 * `hooklaunch backup`: a backup of all data, while the service runs or not; and the backups that the service makes by
 * itself.
 *
 * @module
 */
import type { Command } from "commander";
import { backUp } from "../backup/backup.ts";
import type { BackupReport } from "../backup/report.ts";
import { checkRemoteUrl } from "../config/settings.ts";
import { openRemote } from "../store/open_store.ts";
import type { ListedBackup } from "../backup/scheduled/backups.ts";
import type { BackupStatus } from "../http/api/backups.ts";
import type { ServiceState } from "../http/api/service.ts";
import { ActionError } from "../platform/errors.ts";
import { formatBytes } from "../platform/text/display.ts";
import { type ApiClient, ApiError } from "./api/client.ts";
import { type ApiOptions, apiOptions, clientOf } from "./api/options.ts";
import { untilEnded } from "./api/until_ended.ts";
import { option, quietly } from "./input/options.ts";
import { printJson, printList } from "./console/table.ts";
import { dataText } from "./console/format.ts";
import { Progress, untilStopped, warnOfFlaws } from "./console/backup.ts";

interface BackupOptions {
  data: string;
  kv?: string;
  withoutKey?: boolean;
  force?: boolean;
  json?: boolean;
}

interface ListOptions extends ApiOptions {
  quiet?: boolean;
}

const CONFLICT = 409;

/** Defines the command. */
export function defineBackup(command: Command): void {
  // `--json` is an option of `backup`, too, which takes it then.
  apiOptions(
    command.command("list").description(
      "List the backups that the service makes by itself, newest first",
    ),
  )
    .addOption(quietly("print the names alone, one a line"))
    .option("--json", "print JSON")
    .action((_, self: Command) => list(self.optsWithGlobals()));
  apiOptions(
    command.command("now").description(
      "Have the service make a backup now, and say whether it could be restored",
    ),
  )
    .option("--json", "print JSON")
    .action((_, self: Command) => now(self.optsWithGlobals()));
  command
    .argument("<file>", "the file to write; - writes to standard output")
    .addOption(option("--data <folder>", "the data folder").default("./data"))
    .addOption(option("--kv <url>", "the remote Deno KV of the database, if there is one"))
    .option("--without-key", "leave out the key that stored secrets are encrypted with")
    .option("--force", "replace an existing file")
    .option("--json", "print the summary as JSON")
    .action(run);
}

async function list({ url, json = false, quiet = false }: ListOptions): Promise<void> {
  const found: ListedBackup[] = [];
  for await (const each of clientOf(url).each<ListedBackup>("backups/")) found.push(each);
  if (quiet) return void found.forEach(({ name }) => console.log(name));
  printList(found, [
    ["name", ({ name }) => name],
    ["made", ({ made_at }) => made_at],
    ["state", ({ state }) => state],
  ], { json });
}

async function now({ url, json = false }: ApiOptions): Promise<void> {
  const client = clientOf(url);
  const { last: before } = await begun(client);
  const { last, proof, failures } = await whenDone(client);
  if (last === undefined || last.name === before?.name || proof?.name !== last.name) {
    const [problem = "The service has stopped before the backup was made and restored"] = failures;
    throw new ActionError(problem);
  }
  if (json) return printJson({ ...last, proven_at: proof.proven_at });
  const { name, size, files, records } = last;
  const how = proof.read_back ? "read back" : "restored into a temporary folder";
  console.log(
    `Made ${name}: ${formatBytes(size)}, ${files} files, ${records} records. ` +
      `It was ${how} and checked`,
  );
}

/** Begins a backup, once the one that may be under way has ended. */
async function begun(client: ApiClient): Promise<BackupStatus> {
  for (;;) {
    await whenDone(client);
    try {
      return await client.request("POST", "backups/");
    } catch (error) {
      // The schedule has begun another one since.
      if (!(error instanceof ApiError && error.status === CONFLICT)) throw error;
    }
  }
}

/** Looks until the service works with no backup. */
async function whenDone(client: ApiClient): Promise<BackupStatus> {
  return await untilEnded<BackupStatus>({
    async read() {
      const { backup } = await client.request<ServiceState>("GET", "service/");
      if (backup !== undefined) return backup;
      throw new ActionError(
        "The service makes no backups by itself: its configuration file has no setting backup",
      );
    },
    hasEnded: ({ working }) => !working,
  });
}

async function run(
  file: string,
  { data, kv: url, withoutKey, force, json }: BackupOptions,
): Promise<void> {
  if (url !== undefined) checkRemoteUrl(url);
  using kv = url === undefined ? undefined : await openRemote(url);
  const isStream = file === "-";
  using progress = new Progress();
  const report = await untilStopped((signal) =>
    backUp({
      data,
      kv,
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
