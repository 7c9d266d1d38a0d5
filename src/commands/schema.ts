/**
 * `hooklaunch schema`: JSON Schemas of what triggers get.
 *
 * @module
 */
import type { Command } from "commander";
import type { InferredSchema } from "../triggers/infer_schema.ts";
import { findTrigger } from "./api/find_trigger.ts";
import { type ApiOptions, apiOptions, clientOf } from "./api/options.ts";
import { harmless, printJson } from "./console/table.ts";
import { wholeNumber } from "./input/options.ts";

const LAST = 50;
const LAST_MAX = 200;

/** Defines the command. */
export function defineSchema(command: Command): void {
  apiOptions(
    command.command("infer").description("Print a schema of a trigger's newest stored payloads"),
  )
    .argument("<trigger>", "name or id")
    .option(
      "--last <number>",
      `the number of deliveries, at most ${LAST_MAX}`,
      wholeNumber(1, LAST_MAX),
      LAST,
    )
    .action(infer);
}

async function infer(
  nameOrId: string,
  { url, last }: ApiOptions & { last: number },
): Promise<void> {
  const api = clientOf(url);
  const { id } = await findTrigger(api, nameOrId);
  const { schema, requests, differences }: InferredSchema = await api.request(
    "POST",
    `triggers/${id}/infer-schema/`,
    { last },
  );
  console.error(`A schema of ${requests} payloads of trigger "${nameOrId}"`);
  for (const { delivery_id, time, reason, expected, found } of differences) {
    const values = [expected && `expected ${expected}`, found && `found ${found}`];
    const why = [reason, ...values.filter((part) => part)].join("; ");
    console.error(harmless(`${time}  ${delivery_id}  differs from those before: ${why}`));
  }
  printJson(schema);
}
