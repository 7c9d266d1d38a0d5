/**
 * `hooklaunch replay`: launches deliveries again: one, or all that a filter finds.
 *
 * @module
 */
import { type Command, InvalidArgumentError } from "commander";
import type { DryRun, ShownReplay } from "../http/api/replays.ts";
import type { ApiClient } from "./api/client.ts";
import { type ApiOptions, apiOptions, clientOf } from "./api/options.ts";
import type { ShownDelivery } from "../http/api/delivery_views.ts";
import type { ReplayResult } from "../http/api/replay_results.ts";
import type { ShownRun } from "../http/api/shown_run.ts";
import { printIds, printJson, printList } from "./console/table.ts";
import { stateWord } from "../runs/state_word.ts";
import { workText } from "./console/work_text.ts";
import { deliveryFilter, type DeliveryFilterOptions, filterOf } from "./input/delivery_filter.ts";
import { untilEnded } from "./api/until_ended.ts";
import { idBeginning, withId } from "./api/whole_id.ts";
import { listLimit, quietly, readInput } from "./input/options.ts";

/** The outcomes of deliveries that can be launched again. */
const OUTCOMES = ["accepted", "refused", "filtered"];

interface ChangeOptions extends ApiOptions {
  commit?: string;
  body?: string;
}

interface ReplayOptions extends ChangeOptions, DeliveryFilterOptions {
  dryRun?: boolean;
  rate: number;
  onlyWithoutSuccess?: boolean;
  wait?: boolean;
}

/** Defines the command. */
export function defineReplay(command: Command): void {
  changeOptions(
    command.command("delivery").summary("Launch one delivery again").description(
      "Launch one delivery again, with its trigger's actions and rate limits as they are now. A refused " +
        "one that is kept is checked again by the trigger's conditions as they are now.",
    ),
  )
    .argument("<id>", "the id of the delivery, or of its run, or its beginning", idBeginning)
    .action(withId("deliveries", replayOne));
  deliveryFilter(
    changeOptions(
      command.command("start").summary("Launch all deliveries again that a filter finds")
        .description(
          "Launch the deliveries that a filter finds again, oldest first, with their triggers' actions and " +
            "rate limits as they are now. Without --outcome, these are accepted ones; refused ones must be " +
            "kept. Count them first with --dry-run.",
        ),
    ),
    OUTCOMES,
  )
    .option("--dry-run", "print their number, and launch nothing")
    .option("--rate <number>", "launches a second at most", rate, 10)
    .option("--only-without-success", "leave out those whose run and executions have completed")
    .option("--no-wait", "print the replay and do not wait for its end")
    .action(start);
  apiOptions(command.command("list").description("List the replays, newest first"))
    .addOption(listLimit())
    .addOption(quietly())
    .option("--json", "print JSON")
    .action(list);
  apiOptions(
    command.command("show").summary("Compare a replay with what came of its deliveries before")
      .description(
        "Show how far a replay is, and what came of each delivery before and now, oldest first.",
      ),
  )
    .argument("<id>", "the id of the replay, or its beginning", idBeginning)
    .addOption(listLimit())
    .option("--json", "print JSON")
    .action(withId("replays", show));
  apiOptions(command.command("stop").description("Stop a replay. Runs that it has launched go on"))
    .argument("<id>", "the id of the replay, or its beginning", idBeginning)
    .option("--json", "print JSON")
    .action(withId("replays", stop));
}

/** Adds the options of all that launches again. */
function changeOptions(command: Command): Command {
  return apiOptions(command)
    .option("--commit <commit>", "run the actions at this commit")
    .option("--body <file>", "launch with this payload in place of the delivery's own")
    .addOption(quietly("print the id of what was launched alone: a run, or a replay"))
    .option("--json", "print JSON");
}

async function changesOf({ commit, body }: ChangeOptions): Promise<Record<string, string>> {
  return {
    ...(commit !== undefined && { commit }),
    ...(body !== undefined && { body: (await readInput(body, "the payload")).toBase64() }),
  };
}

async function replayOne(id: string, options: ChangeOptions): Promise<void> {
  const path = `deliveries/${id}/replay/`;
  const changes = await changesOf(options);
  const run: ShownRun = await clientOf(options.url).request("POST", path, changes);
  if (options.json) return printJson(run);
  if (options.quiet) return printIds([run]);
  console.log(`Run ${run.id} was launched. To see what came of it: hooklaunch delivery ${run.id}`);
}

async function start(options: ReplayOptions): Promise<void> {
  const { url, json = false, quiet = false, dryRun = false, wait = true, rate } = options;
  const client = clientOf(url);
  const { onlyWithoutSuccess: only_without_success = false } = options;
  const made: ShownReplay | DryRun = await client.request("POST", "replays/", {
    filter: filterOf(options),
    rate,
    only_without_success,
    dry_run: dryRun,
    ...await changesOf(options),
  });
  if (made.state === "dry_run") {
    const what = made.count === 1 ? "delivery" : "deliveries";
    return json ? printJson(made) : console.log(`${made.count} ${what} would be launched again`);
  }
  const ended = wait ? await watched(client, made, json || quiet) : made;
  if (json) return printJson(ended);
  if (ended.failed > 0) Deno.exitCode = 1;
  if (quiet) return printIds([ended]);
  console.log(summary(ended));
  if (ended.launched > 0) console.log(`To compare: hooklaunch replay show ${ended.id}`);
}

async function show(
  id: string,
  { url, json = false, limit }: ApiOptions & { limit: number },
): Promise<void> {
  const client = clientOf(url);
  const replay: ShownReplay = await client.request("GET", `replays/${id}/`);
  const results = await client.list<ReplayResult>(`replays/${id}/results/`, { limit });
  if (json) return printJson({ ...replay, results });
  console.log(`${summary(replay)}\n`);
  printList(results, [
    ["delivery", ({ before }) => before.id],
    ["before", ({ before }) => stateOf(before)],
    ["now", ({ after }) => after === undefined ? "not launched" : stateOf(after)],
    [
      "differences",
      ({ differences }) =>
        differences.map(({ what, before = "none", after = "none" }) =>
          `${what}: ${before} → ${after}`
        ).join("; "),
    ],
  ]);
}

function stateOf(delivery: ShownDelivery): string {
  const { outcome, condition } = delivery;
  if (outcome !== "accepted") return `${outcome} by ${condition}`;
  return workText(delivery) || `run ${stateWord(delivery.run_status ?? "")}`;
}

/** Waits for the end of a replay, and shows its progress on standard error. */
async function watched(
  client: ApiClient,
  begun: ShownReplay,
  isQuiet: boolean,
): Promise<ShownReplay> {
  return await untilEnded<ShownReplay>({
    read: () => client.request("GET", `replays/${begun.id}/`),
    hasEnded: ({ state }) => state !== "running",
    onRead({ done, count }, before) {
      if (!isQuiet && done !== (before?.done ?? 0)) console.error(`${done} of ${count}`);
    },
  });
}

async function list(
  { url, json = false, quiet = false, limit }: ApiOptions & { limit: number },
): Promise<void> {
  const replays = await clientOf(url).list<ShownReplay>("replays/", { limit });
  if (quiet) return printIds(replays);
  printList(replays, [
    ["id", ({ id }) => id],
    ["trigger", ({ filter }) => filter.trigger ?? "all"],
    ["state", ({ state }) => stateWord(state)],
    ["created", ({ created_at }) => created_at],
    ["done", ({ done, count }) => `${done} of ${count}`],
    ["failed", ({ failed }) => String(failed)],
    ["by", ({ created_by }) => created_by],
    ["launched", ({ launched }) => launched, "wide"],
    ["skipped", ({ skipped }) => skipped, "wide"],
    ["ended", ({ ended_at }) => ended_at, "wide"],
    ["filter", ({ filter }) => JSON.stringify(filter), "wide"],
    ["latest error", ({ error }) => error, "wide"],
  ], { json });
}

async function stop(id: string, { url, json = false }: ApiOptions): Promise<void> {
  const replay: ShownReplay = await clientOf(url).request("POST", `replays/${id}/stop/`);
  if (json) return printJson(replay);
  console.log(summary(replay));
}

function summary(
  { id, created_by, state, launched, skipped, failed, count, error }: ShownReplay,
): string {
  const by = created_by === undefined ? "" : ` by ${created_by}`;
  const counts = `${launched} launched, ${skipped} skipped, ${failed} failed, of ${count}`;
  return `Replay ${id}${by} is ${stateWord(state)}: ${counts}${
    error === undefined ? "" : `. Latest error: ${error}`
  }`;
}

function rate(text: string): number {
  const number = Number(text);
  if (number > 0 && number <= 1_000) return number;
  throw new InvalidArgumentError("Expected a number of launches a second, at most 1000");
}
