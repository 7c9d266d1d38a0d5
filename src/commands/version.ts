/**
 * `hooklaunch version`: the version of this program.
 *
 * @module
 */
import type { Command } from "commander";
import config from "../../deno.json" with { type: "json" };
import { storedFormat } from "../store/file/stored_format.ts";
import { FORMAT_VERSION, NEWER_FORMAT } from "../store/keys.ts";
import { printFields, printJson } from "./console/table.ts";

/** The commit of a release, which makes its bundle with it. */
const COMMIT = "a checkout";

/** Defines the command. */
export function defineVersion(command: Command): void {
  command
    .option(
      "--data <folder>",
      "also say the format of the database there, and whether a start changes it",
    )
    .option("--json", "print JSON")
    .action(run);
}

async function run({ data, json = false }: { data?: string; json?: boolean }): Promise<void> {
  const versions = {
    version: config.version,
    commit: COMMIT,
    deno: Deno.version.deno,
    database_format: FORMAT_VERSION,
  };
  const found = data === undefined ? undefined : await storedFormat(data);
  const told = found === undefined ? {} : { data_format: found, pending: found < FORMAT_VERSION };
  if (json) return printJson({ ...versions, ...told });
  printFields({ ...versions, ...(found !== undefined && { data: sentence(found) }) });
}

function sentence(found: number): string {
  if (found === FORMAT_VERSION) return `format ${found}: a start changes nothing`;
  if (found > FORMAT_VERSION) return `format ${found}: ${NEWER_FORMAT}`;
  return `format ${found}: the next start brings it to ${FORMAT_VERSION}. Make a backup before: an ` +
    "earlier version cannot read it any more then";
}
