/**
 * `hooklaunch pipeline`: the pipelines of a running service and the states of their nodes.
 *
 * @module
 */
import type { Command } from "commander";
import type { ShownPipeline } from "../http/api/pipelines.ts";
import { hasPipelineEnded, type NodeState, PIPELINE_STATUSES } from "../store/records/pipelines.ts";
import type { ApiClient } from "./api/client.ts";
import { idBeginning, withId } from "./api/whole_id.ts";
import { untilEnded } from "./api/until_ended.ts";
import { exitCodeOf, exitCodesHelp } from "./console/exit_code.ts";
import { type ApiOptions, apiOptions, clientOf } from "./api/options.ts";
import { listLimit, quietly } from "./input/options.ts";
import { launcherText, type OriginOptions, originOptions } from "./console/words.ts";
import { harmless, printFields, printIds, printJson, printList } from "./console/table.ts";

const NEW_ID_ALONE = "print the id of the new pipeline alone";

/** Defines the command. */
export function definePipeline(command: Command): void {
  originOptions(
    apiOptions(command.command("list").description("List the pipelines, newest first")),
    PIPELINE_STATUSES,
  )
    .option("--dead", "only those of which a node has failed, and nothing tries it again")
    .addOption(listLimit())
    .addOption(quietly())
    .option("--json", "print JSON")
    .action(list);
  apiOptions(command.command("show").description("Show a pipeline and the states of its nodes"))
    .argument("<id>", "the id, or its beginning", idBeginning)
    .option("--wait", "wait until the pipeline has ended, and print the changes of its nodes")
    .option("--json", "print JSON; with --wait, when it has ended")
    .addHelpText("after", exitCodesHelp("with --wait", "pipeline"))
    .action(withId("pipelines", show));
  apiOptions(
    command.command("stop").description(
      "Stop a pipeline: its running nodes, and those that have not started",
    ),
  )
    .argument("<id>", "the id, or its beginning", idBeginning)
    .option("--json", "print JSON")
    .action(withId("pipelines", stop));
  apiOptions(
    command.command("copy").description("Run a pipeline again with the same commit and inputs"),
  )
    .argument("<id>", "the id, or its beginning", idBeginning)
    .addOption(quietly(NEW_ID_ALONE))
    .option("--json", "print JSON")
    .action(withId("pipelines", (id, options: ApiOptions) => startAgain("copy", id, options)));
  apiOptions(
    command.command("retry").description(
      "Run again what of a pipeline has not completed, as a new pipeline",
    ),
  )
    .argument("<id>", "the id, or its beginning", idBeginning)
    .addOption(quietly(NEW_ID_ALONE))
    .option("--json", "print JSON")
    .action(withId("pipelines", (id, options: ApiOptions) => startAgain("retry", id, options)));
  apiOptions(command.command("approve").description("Let nodes continue that wait for approval"))
    .argument("<id>", "the id, or its beginning", idBeginning)
    .option("--node <name>", "the node to approve; every node that waits, when left out")
    .option("--json", "print JSON")
    .action(withId("pipelines", approve));
}

async function list(options: ApiOptions & OriginOptions & { dead?: boolean }): Promise<void> {
  const { url, json = false, quiet = false, limit, ...query } = options;
  const { project, trigger, status } = query;
  const dead = query.dead === true ? "true" : undefined;
  const pipelines = await clientOf(url).list<ShownPipeline>("pipelines/", {
    limit,
    query: { project, trigger, status, dead },
  });
  if (quiet) return printIds(pipelines);
  printList(pipelines, [
    ["id", ({ id }) => id],
    ["status", (pipeline) => pipeline.status],
    ["trigger", ({ trigger, trigger_id }) => trigger ?? trigger_id],
    ["project", (pipeline) => pipeline.project],
    ["name", ({ name }) => name],
    ["nodes", ({ nodes }) => summary(nodes)],
    ["created", ({ created_at }) => created_at],
    ["by", launcherText],
    ["reason", ({ reason }) => reason],
    ["title", ({ title }) => title, "wide"],
    ["commit", ({ commit }) => commit, "wide"],
    ["ended", ({ ended_at }) => ended_at, "wide"],
    ["copy of", ({ copy_of }) => copy_of, "wide"],
    ["run", ({ run_id }) => run_id, "wide"],
    ["trigger id", ({ trigger_id }) => trigger_id, "wide"],
  ], { json });
}

async function show(
  id: string,
  { url, json = false, wait = false }: ApiOptions & { wait?: boolean },
): Promise<void> {
  const api = clientOf(url);
  if (!wait) return print(await read(api, id), json);
  const pipeline = await untilEnded({
    read: () => read(api, id),
    hasEnded: ({ status }) => hasPipelineEnded(status),
    // Changes go to standard error: they are not part of the result.
    onRead(now, before) {
      for (const change of changes(before, now)) console.error(change);
    },
  });
  Deno.exitCode = exitCodeOf(pipeline.status);
  print(pipeline, json);
}

async function stop(id: string, { url, json = false }: ApiOptions): Promise<void> {
  print(await clientOf(url).request("POST", `pipelines/${id}/stop/`), json);
}

async function startAgain(
  how: "copy" | "retry",
  id: string,
  { url, json = false, quiet = false }: ApiOptions,
): Promise<void> {
  const made: ShownPipeline = await clientOf(url).request("POST", `pipelines/${id}/${how}/`);
  if (quiet) printIds([made]);
  else print(made, json);
}

async function approve(
  id: string,
  { url, json = false, node }: ApiOptions & { node?: string },
): Promise<void> {
  const body = node === undefined ? {} : { node };
  print(await clientOf(url).request("POST", `pipelines/${id}/approve/`, body), json);
}

/** Describes the changes of the nodes and of the pipeline; all states, at first. */
function changes(before: ShownPipeline | undefined, now: ShownPipeline): string[] {
  const lines = now.nodes.flatMap((node) => {
    const old = before?.nodes.find(({ name }) => name === node.name);
    if (old?.status === node.status && old.execution_id === node.execution_id) return [];
    const { name, status, execution_id, reason } = node;
    const more = [execution_id && `execution ${execution_id}`, reason].filter(Boolean);
    return [[`node ${name}: ${status}`, ...more].join(", ")];
  });
  if (before?.status !== now.status) lines.push(`pipeline: ${now.status}`);
  return lines.map(harmless);
}

function print(pipeline: ShownPipeline, json: boolean): void {
  if (json) return printJson(pipeline);
  const { id, name, title, status, reason, project, commit, run_id, copy_of } = pipeline;
  const { created_at, ended_at, nodes, trigger, trigger_id } = pipeline;
  const fields = { id, name, title, trigger, trigger_id, status, reason, project, commit };
  const launched_by = launcherText(pipeline);
  printFields({ ...fields, run_id, copy_of, created_at, ended_at, launched_by });
  console.log("");
  printList(nodes, [
    ["node", (node) => node.name],
    ["step", ({ step }) => step],
    ["status", (node) => node.status],
    ["execution", ({ execution_id, reused }) => reused ? `${execution_id} (reused)` : execution_id],
    ["reason", (node) => node.reason],
  ]);
}

/** Counts nodes by status, such as `2 complete, 1 started`. */
function summary(nodes: readonly NodeState[]): string {
  const counts = new Map<string, number>();
  for (const { status } of nodes) counts.set(status, (counts.get(status) ?? 0) + 1);
  return [...counts].map(([status, count]) => `${count} ${status}`).join(", ");
}

function read(api: ApiClient, id: string): Promise<ShownPipeline> {
  return api.request("GET", `pipelines/${id}/`);
}
