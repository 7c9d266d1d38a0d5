/**
 * `hooklaunch version`: the version of this program.
 *
 * @module
 */
import type { Command } from "commander";
import config from "../../deno.json" with { type: "json" };
import { printFields, printJson } from "./console/table.ts";

/** The commit of a release, which makes its bundle with it. */
const COMMIT = "a checkout";

/** Defines the command. */
export function defineVersion(command: Command): void {
  command.option("--json", "print JSON").action(({ json = false }: { json?: boolean }) => {
    const versions = { version: config.version, commit: COMMIT, deno: Deno.version.deno };
    if (json) printJson(versions);
    else printFields(versions);
  });
}
