/**
 * `hooklaunch reload`: has a running service read its files anew.
 *
 * @module
 */
import type { Command } from "commander";
import type { Reloaded } from "../config/reload.ts";
import { type ApiOptions, apiOptions, clientOf } from "./api/options.ts";
import { harmless, printJson } from "./console/table.ts";

/** Defines the command. */
export function defineReload(command: Command): void {
  apiOptions(command)
    .option("--json", "print JSON")
    .addHelpText("after", "\nIt ends with 1 when a mistake keeps the last good ones in use.")
    .action(reload);
}

async function reload({ url, json = false }: ApiOptions): Promise<void> {
  const { results }: { results: Reloaded[] } = await clientOf(url).request(
    "POST",
    "service/reload/",
  );
  if (json) printJson(results);
  else {
    for (const { what, outcome, detail } of results) {
      console.log(harmless(`${what}: ${outcome}${detail === undefined ? "" : `: ${detail}`}`));
    }
  }
  if (results.some(({ outcome }) => outcome === "kept")) Deno.exitCode = 1;
}
