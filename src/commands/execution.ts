/**
 * `hooklaunch execution`: the executions of a running service, their logs and outputs.
 *
 * @module
 */
import { type Command, InvalidArgumentError } from "commander";
import type { ShownExecution } from "../http/api/executions.ts";
import type { Attempt } from "../store/records/execution_record.ts";
import { EXECUTION_STATUSES, hasEnded } from "../store/records/executions.ts";
import type { ApiClient } from "./api/client.ts";
import { downloadOutputs } from "./api/download.ts";
import { exitCodeOf, exitCodesHelp } from "./console/exit_code.ts";
import { idBeginning, wholeId, withId } from "./api/whole_id.ts";
import { EVENT_PREFIX, printAll, printAsJson, printFollowed, printLines } from "./api/print_log.ts";
import { untilEnded } from "./api/until_ended.ts";
import { type ApiOptions, apiOptions, clientOf } from "./api/options.ts";
import { listLimit, quietly } from "./input/options.ts";
import { launcherText, type OriginOptions, originOptions } from "./console/words.ts";
import { ignoreBrokenPipe } from "./console/terminal.ts";
import { harmless, printFields, printIds, printJson, printList } from "./console/table.ts";

interface ListOptions extends ApiOptions, OriginOptions {
  pipeline?: string;
  dead?: boolean;
}

interface AttemptOptions extends ApiOptions {
  attempt?: number;
}

const ATTEMPT = [
  "--attempt <number>",
  "that of this attempt; of the last one when absent",
] as const;

/** Defines the command. */
export function defineExecution(command: Command): void {
  originOptions(
    apiOptions(command.command("list").description("List the executions, newest first")),
    EXECUTION_STATUSES,
  )
    .option("--pipeline <id>", "only those of this pipeline", idBeginning)
    .option("--dead", "only those that have failed, and that nothing tries again")
    .addOption(listLimit())
    .addOption(quietly())
    .option("--json", "print JSON")
    .action(list);
  apiOptions(command.command("show").description("Show an execution, and its attempts"))
    .argument("<id>", "the id, or its beginning", idBeginning)
    .option("--attempt <number>", "show this attempt; the last one when absent", attemptNumber)
    .option("--json", "print JSON")
    .action(withId("executions", show));
  apiOptions(
    command.command("log").summary("Print the log of an execution").description(
      "Print the log of an execution: its standard output to standard output, its standard error " +
        `to standard error, and there, after "${EVENT_PREFIX}", the events of Hooklaunch. ` +
        "A terminal gets no control characters except tabs and colours; a file or another program " +
        "gets everything unchanged.",
    ),
  )
    .argument("<id>", "the id, or its beginning", idBeginning)
    .option(
      "-f, --follow",
      "follow the log until the execution has ended, also after a lost connection",
    )
    .option(...ATTEMPT, attemptNumber)
    .option("--json", "print each line as a JSON object to standard output")
    .addHelpText("after", exitCodesHelp("with --follow", "execution"))
    .action(withId("executions", showLog));
  apiOptions(
    command.command("wait").summary("Wait until an execution has ended").description(
      "Wait until an execution has ended, and print its status. The exit code says how it ended.",
    ),
  )
    .argument("<id>", "the id, or its beginning", idBeginning)
    .option("--json", "print the ended execution as JSON")
    .addHelpText("after", exitCodesHelp("", "execution"))
    .action(withId("executions", wait));
  apiOptions(command.command("outputs").description("List the files that an execution saved"))
    .argument("<id>", "the id, or its beginning", idBeginning)
    .option(...ATTEMPT, attemptNumber)
    .option("--download <folder>", "download the files into a folder, and check their checksums")
    .option("--force", "replace existing files")
    .option("--json", "print JSON")
    .action(withId("executions", showOutputs));
  apiOptions(command.command("stop").description("Stop an execution"))
    .argument("<id>", "the id, or its beginning", idBeginning)
    .option("--json", "print JSON")
    .action(withId("executions", stop));
}

async function list(options: ListOptions): Promise<void> {
  const { url, json = false, quiet = false, limit, ...query } = options;
  const { project, trigger, status } = query;
  const dead = query.dead === true ? "true" : undefined;
  const api = clientOf(url);
  const pipeline = query.pipeline && await wholeId(api, "pipelines", query.pipeline);
  const listed = await api.list<ShownExecution>("executions/", {
    ...(pipeline === undefined ? { limit } : {}),
    query: { project, trigger, status, pipeline, dead },
  });
  // The service sorts by ids, and the ids of a pipeline's executions all carry the time of the pipeline.
  if (pipeline !== undefined) {
    listed.sort((one, other) => Date.parse(other.created_at) - Date.parse(one.created_at));
  }
  const shown = listed.slice(0, limit);
  if (quiet) return printIds(shown);
  printList(shown, [
    ["id", ({ id }) => id],
    ["status", (execution) => execution.status],
    ["trigger", ({ trigger, trigger_id }) => trigger ?? trigger_id],
    ["project", (execution) => execution.project],
    ["step", ({ step }) => step],
    ["created", ({ created_at }) => created_at],
    ["duration", ({ duration }) => duration === undefined ? undefined : `${duration} s`],
    ["by", launcherText],
    ["reason", ({ reason }) => reason],
    ["title", ({ title }) => title, "wide"],
    ["commit", ({ commit }) => commit, "wide"],
    ["engine", ({ engine }) => engine.type, "wide"],
    ["machine", ({ machine }) => machine, "wide"],
    ["exit code", ({ exit_code }) => exit_code, "wide"],
    ["node", ({ node }) => node, "wide"],
    ["pipeline", ({ pipeline_id }) => pipeline_id, "wide"],
    ["run", ({ run_id }) => run_id, "wide"],
    ["trigger id", ({ trigger_id }) => trigger_id, "wide"],
  ], { json });
}

async function show(id: string, { url, json = false, attempt }: AttemptOptions): Promise<void> {
  const execution = await read(clientOf(url), id, attempt);
  if (json) return printJson(execution);
  const {
    command,
    inputs,
    parameters,
    environment_variables,
    secrets,
    metadata,
    outputs,
    ...fields
  } = execution;
  const { engine, resources, mounts, pipeline_id, node, duration, time_limit, ...rest } = fields;
  const { id: _id, trigger, trigger_id, retry, attempts, dead, ...others } = rest;
  const seconds = (value: number | undefined) => value === undefined ? undefined : `${value} s`;
  printFields({
    id,
    trigger,
    trigger_id,
    ...others,
    engine: engine.type,
    launched_by: launcherText(execution),
    retry: retry && JSON.stringify(retry),
    ...Object.fromEntries(
      (attempts ?? []).map((each) => [`attempt ${each.attempt}`, attemptText(each)]),
    ),
    dead: dead && "nothing tries it again",
    resources: resources && JSON.stringify(resources),
    mounts: mounts && JSON.stringify(mounts),
    duration: seconds(duration),
    time_limit: seconds(time_limit),
    pipeline: pipeline_id,
    node,
    environment: Object.keys(environment_variables).join(" ") || undefined,
    secrets: secrets && Object.keys(secrets).join(" "),
    ...fieldsOf("parameter", parameters, (value) => JSON.stringify(value)),
    ...fieldsOf("input", inputs, (files) => files.map((file) => file.name).join(" ")),
    ...fieldsOf("metadata", metadata, (value) => JSON.stringify(value)),
    outputs: outputs.length > 0 ? outputs.length : undefined,
    command,
  });
}

/** Describes an attempt, such as `error, exit code 75`. */
function attemptText({ status, exit_code, started_at }: Attempt): string {
  const code = exit_code === undefined ? undefined : `exit code ${exit_code}`;
  return [status, code, started_at].filter(Boolean).join(", ");
}

/** Makes a field of each value, such as `parameter epochs`. */
function fieldsOf<T>(
  kind: string,
  values: Readonly<Record<string, T>>,
  show: (value: T) => string,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [`${kind} ${name}`, show(value)]),
  );
}

async function showLog(
  id: string,
  { url, json = false, follow = false, attempt }: AttemptOptions & { follow?: boolean },
): Promise<void> {
  const api = clientOf(url);
  const print = json ? printAsJson : printLines;
  try {
    if (follow) Deno.exitCode = await printFollowed(api, id, print, attempt);
    else await printAll(api, id, print, attempt);
  } catch (error) {
    ignoreBrokenPipe(error);
  }
}

async function wait(id: string, { url, json = false }: ApiOptions): Promise<void> {
  const api = clientOf(url);
  const execution = await untilEnded({
    read: () => read(api, id),
    hasEnded: ({ status }) => hasEnded(status),
  });
  Deno.exitCode = exitCodeOf(execution.status);
  if (json) return printJson(execution);
  const { status, reason } = execution;
  console.log(harmless([status, reason].filter(Boolean).join(": ")));
}

async function showOutputs(
  id: string,
  { url, json = false, download, force = false, attempt }: AttemptOptions & {
    download?: string;
    force?: boolean;
  },
): Promise<void> {
  const api = clientOf(url);
  const { outputs } = await read(api, id, attempt);
  if (download !== undefined) {
    await downloadOutputs(
      api,
      { id, outputs, attempt },
      { folder: download, force },
      ({ path }) => {
        console.error(`Downloaded ${JSON.stringify(path)}`);
      },
    );
  }
  printList(outputs, [
    ["path", ({ path }) => path],
    ["size", ({ size }) => size],
    ["sha256", ({ sha256 }) => sha256],
  ], { json });
}

async function stop(id: string, { url, json = false }: ApiOptions): Promise<void> {
  const execution: ShownExecution = await clientOf(url).request("POST", `executions/${id}/stop/`);
  if (json) printJson(execution);
  else console.log(`Execution ${id} is ${execution.status}`);
}

function read(api: ApiClient, id: string, attempt?: number): Promise<ShownExecution> {
  return api.request(
    "GET",
    `executions/${id}/${attempt === undefined ? "" : `?attempt=${attempt}`}`,
  );
}

function attemptNumber(text: string): number {
  if (/^[1-9]\d?$/.test(text)) return Number(text);
  throw new InvalidArgumentError("Expected the number of an attempt, from 1.");
}
