/**
 * `hooklaunch trigger next`: the coming occurrences of a trigger's schedules.
 *
 * @module
 */
import type { Command } from "commander";
import type { ComingOccurrences } from "../http/api/schedules.ts";
import { findTrigger } from "./api/find_trigger.ts";
import { type ApiOptions, apiOptions, clientOf } from "./api/options.ts";
import { printJson, printList } from "./console/table.ts";
import { wholeNumber } from "./input/options.ts";

const NUMBER = 10;
const NUMBER_MAX = 200;

/** Defines the command. */
export function defineTriggerNext(command: Command): void {
  apiOptions(command.description("List the coming occurrences of a trigger's schedules"))
    .argument("<trigger>", "name or id")
    .option(
      "-n, --number <number>",
      `the number of occurrences, at most ${NUMBER_MAX}`,
      wholeNumber(1, NUMBER_MAX),
      NUMBER,
    )
    .option("--json", "print JSON")
    .action(next);
}

async function next(
  nameOrId: string,
  { url, json = false, number }: ApiOptions & { number: number },
): Promise<void> {
  const api = clientOf(url);
  const { id, name, enabled } = await findTrigger(api, nameOrId);
  const { results }: ComingOccurrences = await api.request(
    "GET",
    `triggers/${id}/schedule/?limit=${number}`,
  );
  if (json) return printJson(results);
  if (results.length === 0) {
    const why = enabled ? "it has no schedule" : "it is disabled";
    return console.error(`Trigger "${name}" does not launch by itself: ${why}`);
  }
  printList(results, [
    ["local", ({ local }) => local],
    ["time zone", ({ timezone }) => timezone],
    ["UTC", ({ time }) => time],
    ["cron", ({ cron }) => cron],
    ["schedule", ({ index }) => index, "wide"],
  ], { json });
}
