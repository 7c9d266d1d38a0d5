/**
 * `hooklaunch version`: the version of this program.
 *
 * @module
 */
import type { Command } from "commander";
import config from "../../deno.json" with { type: "json" };
import { printJson } from "./console/table.ts";

/** Defines the command. */
export function defineVersion(command: Command): void {
  command.option("--json", "print JSON").action(({ json = false }: { json?: boolean }) => {
    const { version } = config;
    if (json) printJson({ version });
    else console.log(version);
  });
}
