/**
 * `hooklaunch retention`: what is past its retention, before it is removed.
 *
 * @module
 */
import type { Command } from "commander";
import type { RetentionLook } from "../http/api/retention.ts";
import { type ApiOptions, apiOptions, clientOf } from "./api/options.ts";
import { printJson, printList } from "./console/table.ts";

interface RetentionOptions extends ApiOptions {
  trigger?: string;
  project?: string;
  records?: string;
  payloads?: string;
  logs?: string;
  outputs?: string;
  which?: boolean;
}

/** Defines the command. */
export function defineRetention(command: Command): void {
  apiOptions(
    command.description(
      "List what the next cleanup would remove: counts and bytes by kind, and the oldest. It removes nothing. " +
        "With --records, --payloads, --logs or --outputs it lists what another retention would remove.",
    ),
  )
    .option("--trigger <name>", "only records of this trigger, by its name or id")
    .option("--project <name>", "only records of this project")
    .option("--records <time>", "try another retention, such as 7d")
    .option("--payloads <time>", "try another retention of payloads")
    .option("--logs <time>", "try another retention of logs of executions")
    .option("--outputs <time>", "try another retention of outputs")
    .option("--which", "list the oldest records of each kind")
    .option("--json", "print JSON")
    .action(look);
}

async function look(options: RetentionOptions): Promise<void> {
  const { url, json = false, which = false, trigger, project } = options;
  const { records, payloads, logs, outputs } = options;
  const query = new URLSearchParams();
  for (
    const [name, value] of Object.entries({ trigger, project, records, payloads, logs, outputs })
  ) {
    if (value !== undefined) query.set(name, value);
  }
  if (which) query.set("limit", "200");
  const found: RetentionLook = await clientOf(url).request("GET", `retention/?${query}`);
  if (json) return printJson(found);
  const { complete, kinds } = found;
  if (which) {
    const all = kinds.flatMap(({ kind, records }) => records.map((each) => ({ kind, ...each })));
    printList(all, [
      ["kind", ({ kind }) => kind],
      ["id", ({ id }) => id],
      ["trigger", ({ trigger_id }) => trigger_id],
      ["created", ({ created_at }) => created_at],
      ["bytes", ({ bytes }) => bytes],
    ]);
  } else {
    printList(kinds, [
      ["kind", ({ kind }) => kind],
      ["count", ({ count }) => count],
      ["bytes", ({ bytes }) => bytes],
      ["oldest", ({ oldest }) => oldest],
    ]);
  }
  if (!complete) console.error("There is more than could be counted in five seconds");
}
