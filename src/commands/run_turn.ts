/**
 * `hooklaunch run launch` and `hooklaunch run stop`: runs that wait for their turn.
 *
 * @module
 */
import type { Command } from "commander";
import type { ShownRun } from "../http/api/shown_run.ts";
import { type ApiOptions, apiOptions, clientOf } from "./api/options.ts";
import { idBeginning, withId } from "./api/whole_id.ts";
import { printJson } from "./console/table.ts";
import { turnText } from "./console/turn_text.ts";

/** Defines the commands. */
export function defineTurns(command: Command): void {
  const each = [
    ["launch", "Launch a run now that waits for a time, or for more runs of its burst"],
    ["stop", "Stop a run that waits for its turn: it ends with an error, and launches nothing"],
  ] as const;
  for (const [name, description] of each) {
    apiOptions(command.command(name).description(description))
      .argument("<id>", "the id, or its beginning", idBeginning)
      .option("--json", "print JSON")
      .action(withId("runs", (id: string, options: ApiOptions) => decide(name, id, options)));
  }
}

async function decide(
  what: "launch" | "stop",
  id: string,
  { url, json = false }: ApiOptions,
): Promise<void> {
  const run: ShownRun = await clientOf(url).request("POST", `runs/${id}/${what}/`);
  if (json) return printJson(run);
  const { status, waiting } = run;
  console.log(`Run ${id}: ${waiting ? `waits ${turnText(waiting)}` : status}`);
}
