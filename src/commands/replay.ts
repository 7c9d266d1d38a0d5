/**
 * `hooklaunch replay`: launches many runs again. `hooklaunch run replay` launches one.
 *
 * @module
 */
import { type Command, InvalidArgumentError } from "commander";
import { delay } from "@std/async/delay";
import type { DryRun, ShownReplay } from "../http/api/replays.ts";
import type { ApiClient } from "./api/client.ts";
import { type ApiOptions, apiOptions, clientOf } from "./api/options.ts";
import { printJson, printList } from "./console/table.ts";
import { fullId, listLimit } from "./input/options.ts";

const POLL_MS = 500;

interface Filter {
  trigger?: string;
  from?: string;
  to?: string;
  text?: string;
}

interface ReplayOptions extends ApiOptions, Filter {
  dryRun?: boolean;
  rate: number;
  onlyWithoutSuccess?: boolean;
  commit?: string;
  body?: string;
  wait?: boolean;
}

/** Defines the command. */
export function defineReplay(command: Command): void {
  apiOptions(
    command.command("start").summary("Launch the runs of many deliveries again").description(
      "Launch the accepted deliveries that a filter finds again, oldest first, with their triggers' " +
        "actions and rate limits as they are now. Count them first with --dry-run.",
    ),
  )
    .option("--trigger <name>", "only those of this trigger, by name or id")
    .option("--from <time>", "only those of this time or later, such as 2026-11-24T08:00:00Z")
    .option("--to <time>", "only those before this time")
    .option("--text <text>", "only those with this text in an id or in the body")
    .option("--dry-run", "print their number, and launch nothing")
    .option("--rate <number>", "launches a second at most", rate, 10)
    .option("--only-without-success", "leave out those whose run and executions have completed")
    .option("--commit <commit>", "run the actions at this commit")
    .option("--body <file>", "launch each with this payload in place of its own")
    .option("--no-wait", "print the replay and do not wait for its end")
    .option("--json", "print JSON")
    .action(start);
  apiOptions(command.command("list").description("List the replays, newest first"))
    .addOption(listLimit())
    .option("--json", "print JSON")
    .action(list);
  apiOptions(command.command("stop").description("Stop a replay. Runs that it has launched go on"))
    .argument("<id>", "the full id of the replay", fullId)
    .option("--json", "print JSON")
    .action(stop);
}

async function start(options: ReplayOptions): Promise<void> {
  const { url, json = false, dryRun = false, wait = true, commit, body, rate } = options;
  const client = clientOf(url);
  const { trigger, from, to, text, onlyWithoutSuccess: only_without_success = false } = options;
  const filter = Object.fromEntries(
    Object.entries({ trigger, from, to, text }).filter(([, value]) => value !== undefined),
  );
  const made: ShownReplay | DryRun = await client.request("POST", "replays/", {
    filter,
    rate,
    only_without_success,
    dry_run: dryRun,
    ...(commit !== undefined && { commit }),
    ...(body !== undefined && { body: (await Deno.readFile(body)).toBase64() }),
  });
  if (made.state === "dry_run") {
    return json ? printJson(made) : console.log(`${made.count} runs would be launched again`);
  }
  const ended = wait ? await watched(client, made, json) : made;
  if (json) return printJson(ended);
  console.log(summary(ended));
  if (ended.failed > 0) Deno.exitCode = 1;
}

/** Waits for the end of a replay, and shows its progress on standard error. */
async function watched(
  client: ApiClient,
  begun: ShownReplay,
  isQuiet: boolean,
): Promise<ShownReplay> {
  let replay = begun;
  while (replay.state === "running") {
    await delay(POLL_MS);
    replay = await client.request("GET", `replays/${replay.id}/`);
    if (!isQuiet) console.error(`${replay.done} of ${replay.count}`);
  }
  return replay;
}

async function list({ url, json = false, limit }: ApiOptions & { limit: number }): Promise<void> {
  printList(await clientOf(url).list<ShownReplay>("replays/", { limit }), [
    ["id", ({ id }) => id],
    ["state", ({ state }) => state],
    ["created", ({ created_at }) => created_at],
    ["done", ({ done, count }) => `${done} of ${count}`],
    ["failed", ({ failed }) => String(failed)],
  ], { json });
}

async function stop(id: string, { url, json = false }: ApiOptions): Promise<void> {
  const replay: ShownReplay = await clientOf(url).request("POST", `replays/${id}/stop/`);
  if (json) return printJson(replay);
  console.log(summary(replay));
}

function summary({ id, state, launched, skipped, failed, count, error }: ShownReplay): string {
  const counts = `${launched} launched, ${skipped} skipped, ${failed} failed, of ${count}`;
  return `Replay ${id} is ${state}: ${counts}${
    error === undefined ? "" : `. Latest error: ${error}`
  }`;
}

function rate(text: string): number {
  const number = Number(text);
  if (number > 0 && number <= 1_000) return number;
  throw new InvalidArgumentError("Expected a number of launches a second, at most 1000");
}
