/**
 * `hooklaunch schema`: JSON Schemas of what triggers get.
 *
 * @module
 */
import type { Command } from "commander";
import type { InferredSchema } from "../triggers/infer_schema.ts";
import { findTrigger } from "./api/find_trigger.ts";
import { type ApiOptions, apiOptions, clientOf } from "./api/options.ts";
import { type Column, harmless, printJson, printList } from "./console/table.ts";
import { wholeNumber } from "./input/options.ts";

const LAST = 50;
const LAST_MAX = 200;

const COLUMNS: readonly Column<InferredSchema["fields"][number]>[] = [
  ["field", ({ expression }) => expression],
  ["types", ({ types }) => types.join(", ")],
];

type Options = ApiOptions & { last: number };

/** Defines the command. */
export function defineSchema(command: Command): void {
  ofTrigger(
    command.command("infer").description("Print a schema of a trigger's newest stored payloads"),
  ).action(infer);
  ofTrigger(
    command.command("fields").summary("Print the fields of a trigger's newest deliveries")
      .description(
        "Print the fields of a trigger's newest stored deliveries as filters and values read them, such as " +
          "`body.commits[0].id`, and the types that their values had.",
      ),
  ).option("-q, --quiet", "print the expressions alone").action(fields);
}

function ofTrigger(command: Command): Command {
  return apiOptions(command)
    .argument("<trigger>", "name or id")
    .option(
      "--last <number>",
      `the number of deliveries, at most ${LAST_MAX}`,
      wholeNumber(1, LAST_MAX),
      LAST,
    );
}

async function inferred(nameOrId: string, { url, last }: Options): Promise<InferredSchema> {
  const api = clientOf(url);
  const { id } = await findTrigger(api, nameOrId);
  return await api.request("POST", `triggers/${id}/infer-schema/`, { last });
}

async function fields(
  nameOrId: string,
  options: Options & { quiet?: boolean; json?: boolean },
): Promise<void> {
  const { fields } = await inferred(nameOrId, options);
  if (options.quiet) { for (const { expression } of fields) console.log(harmless(expression)); }
  else printList(fields, COLUMNS, options);
}

async function infer(nameOrId: string, options: Options): Promise<void> {
  const { schema, requests, differences } = await inferred(nameOrId, options);
  console.error(`A schema of ${requests} payloads of trigger "${nameOrId}"`);
  for (const { delivery_id, time, reason, expected, found } of differences) {
    const values = [expected && `expected ${expected}`, found && `found ${found}`];
    const why = [reason, ...values.filter((part) => part)].join("; ");
    console.error(harmless(`${time}  ${delivery_id}  differs from those before: ${why}`));
  }
  printJson(schema);
}
