/**
 * `hooklaunch secret-key`: changes the key that encrypts stored secrets.
 *
 * @module
 */
import type { Command } from "commander";
import { join } from "node:path";
import { checkRemote } from "../config/settings.ts";
import { DATABASE_FILE } from "../store/file/database_file.ts";
import { openStore } from "../store/open_store.ts";
import { sealNotifiersAgain } from "../notifications/seal_again.ts";
import { sealProjectsAgain } from "../project_secrets/seal_again.ts";
import { sealAcmeAgain } from "../acme/seal_again.ts";
import { sealAgain } from "../triggers/seal_again.ts";
import {
  addSecretKey,
  keepCurrentSecretKey,
  openSecretBox,
  readSecretKeys,
  removeSecretKeyFile,
} from "../triggers/secret_key.ts";
import { InvalidInputError } from "../platform/errors.ts";
import { printJson } from "./console/table.ts";
import { environment } from "./input/environment.ts";
import { option } from "./input/options.ts";

/** Defines the command. */
export function defineSecretKey(command: Command): void {
  command.command("rotate")
    .description("Encrypt all stored secrets with a new key, while the service is stopped")
    .addOption(option("--data <folder>", "the data folder").default("./data"))
    .addOption(option("--kv <url>", "the remote Deno KV of the database, if there is one"))
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      "\nIf HOOKLAUNCH_SECRET_KEY is set, it must hold the new key and the old key,\n" +
        "separated by a comma. Otherwise a new key is created in secret.key.",
    )
    .action(rotate);
}

/**
 * Encrypts all stored secrets with a new key. It can be interrupted at any time and called again: the old key
 * is kept and read until all is done.
 */
async function rotate(
  { data, kv, json = false }: { data: string; kv?: string; json?: boolean },
): Promise<void> {
  const variable = environment("HOOKLAUNCH_SECRET_KEY");
  if (kv === undefined) await expectDatabase(data);
  else checkRemote(kv, variable);
  const remote = kv === undefined ? {} : { remote: { url: kv, ownership: { standsBy: false } } };
  await using store = await openStore(data, remote);
  if (variable === undefined) await addSecretKey(data);
  else if ((await readSecretKeys(data, variable)).length < 2) {
    throw new InvalidInputError(
      "HOOKLAUNCH_SECRET_KEY",
      "Expected the new key and the old key, separated by a comma, found one key",
    );
  }
  const box = await openSecretBox(data, variable);
  const count = await sealAgain(store, box);
  const projects = await sealProjectsAgain(store, box);
  await sealAcmeAgain(store, box);
  await sealNotifiersAgain(store, box);
  if (variable === undefined) await keepCurrentSecretKey(data);
  // An old key file would be taken for the current key, such as by a backup.
  const hasRemoved = variable !== undefined && await removeSecretKeyFile(data, variable);
  if (json) return printJson({ triggers: count, projects, has_removed_key_file: hasRemoved });
  const more = projects === 0 ? "" : ` and ${projects} projects`;
  console.log(`Encrypted the secrets of ${count} triggers${more} with the new key`);
  if (hasRemoved) console.log("Removed secret.key: it encrypts nothing any more");
  if (variable !== undefined) {
    console.log("Set HOOKLAUNCH_SECRET_KEY to the new key alone before the next start");
  }
}

/** Refuses a folder without a database: opening it would create one, and a wrong name would seem to work. */
async function expectDatabase(data: string): Promise<void> {
  try {
    await Deno.stat(join(data, DATABASE_FILE));
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    const detail = `Expected a data folder, found no ${DATABASE_FILE} in ${data}`;
    throw new InvalidInputError("--data", detail);
  }
}
