/**
 * `hooklaunch run`: the runs of a running service, their payloads, and replays.
 *
 * @module
 */
import { type Command, Option } from "commander";
import type { ShownRun } from "../http/api/shown_run.ts";
import { ConflictError, InvalidInputError, messageOf } from "../platform/errors.ts";
import { WORK_STATES } from "../runs/work_state.ts";
import { type ActionOutcome, RUN_STATUSES } from "../store/records/runs.ts";
import { writeAll } from "../platform/files/bytes.ts";
import { ApiError } from "./api/client.ts";
import { type ApiOptions, apiOptions, clientOf } from "./api/options.ts";
import { listLimit, quietly } from "./input/options.ts";
import { printFields, printIds, printJson, printList } from "./console/table.ts";
import { leftOutNames } from "./console/left_out.ts";
import { launcherText, statusOption } from "./console/words.ts";
import { stateWord } from "../runs/state_word.ts";
import { turnText } from "./console/turn_text.ts";
import { workText } from "./console/work_text.ts";
import { ignoreBrokenPipe, writeLines } from "./console/terminal.ts";
import { defineTurns } from "./run_turn.ts";
import { idBeginning, withId } from "./api/whole_id.ts";
import { findTrigger } from "./api/find_trigger.ts";

/** Defines the command. */
export function defineRun(command: Command): void {
  defineRuns(command.command("list"));
  apiOptions(command.command("show").description("Show a run and how each of its actions ended"))
    .argument("<id>", "the id, or its beginning", idBeginning)
    .option("--json", "print JSON")
    .action(withId("runs", show));
  apiOptions(
    command.command("payload").summary("Print a run's payload").description(
      "Print a run's payload. A terminal gets no control characters except tabs and colours; a file " +
        "or another program gets it unchanged.",
    ),
  )
    .argument("<id>", "the id, or its beginning", idBeginning)
    .option("--output <file>", "write the payload to a new file")
    .action(withId("runs", payload));
  apiOptions(command.command("replay").description("Launch a run's payload again, as a new run"))
    .argument("<id>", "the id, or its beginning", idBeginning)
    .addOption(quietly("print the id of the new run alone"))
    .option("--json", "print JSON")
    .action(withId("runs", replay));
  defineTurns(command);
}

/** Defines `hooklaunch runs`, which is the same as `hooklaunch run list`. */
export function defineRuns(command: Command): void {
  apiOptions(command.description("List the runs of all triggers, or of one, newest first"))
    .argument("[trigger]", "name or id; the same as --trigger")
    .option("--project <name>", "only those of this project")
    .option("--trigger <trigger>", "only those of this trigger, by its name or id")
    .addOption(statusOption(RUN_STATUSES))
    .addOption(
      new Option("--work <state>", "only those whose executions and pipelines are in this state")
        .choices(WORK_STATES),
    )
    .option("--dead", "only those of which something has failed, and nothing tries it again")
    .addOption(listLimit())
    .addOption(quietly())
    .option("--json", "print JSON")
    .action(list);
}

interface ListOptions extends ApiOptions {
  project?: string;
  trigger?: string;
  status?: string;
  work?: string;
  dead?: boolean;
  limit: number;
}

async function list(
  nameOrId: string | undefined,
  options: ListOptions,
): Promise<void> {
  const { url, json = false, quiet = false, limit, trigger: ofOption, ...filter } = options;
  if (nameOrId !== undefined && ofOption !== undefined) {
    throw new InvalidInputError("--trigger", "Expected one trigger, found two");
  }
  const api = clientOf(url);
  const trigger = nameOrId === undefined ? ofOption : (await findTrigger(api, nameOrId)).id;
  const { project, status, work } = filter;
  const dead = filter.dead === true ? "true" : undefined;
  const query = { trigger, project, status, work, dead };
  const runs = await api.list<ShownRun>("runs/", { limit, query });
  if (quiet) return printIds(runs);
  printList(runs, [
    ["id", (run) => run.id],
    ["trigger", ({ trigger, trigger_id }) => trigger ?? trigger_id],
    ["status", ({ status }) => stateWord(status)],
    ["created", ({ created_at }) => created_at],
    ["by", launcherText],
    ["from", ({ remote_ip }) => remote_ip],
    ["bytes", (run) => run.payload.size],
    ["work", workText],
    ["actions", ({ actions }) => actions.map(describe).join("; ")],
    ["project", (run) => run.project, "wide"],
    ["ended", ({ ended_at }) => ended_at, "wide"],
    ["delivery id", ({ delivery_id }) => delivery_id, "wide"],
    ["replay of", ({ replay_of }) => replay_of, "wide"],
    ["sha256", (run) => run.payload.sha256, "wide"],
    ["trigger id", ({ trigger_id }) => trigger_id, "wide"],
  ], { json });
}

async function show(id: string, { url, json = false }: ApiOptions): Promise<void> {
  print(await clientOf(url).request("GET", `runs/${id}/`), json);
}

async function payload(
  id: string,
  { url, output }: { url: string; output?: string },
): Promise<void> {
  const accept = "application/octet-stream";
  const { body } = await clientOf(url).open(`runs/${id}/payload/`, { accept });
  const bytes = bytesOf(id, body);
  if (output !== undefined) return await writeFile(output, bytes);
  if (Deno.stdout.isTerminal()) {
    const text = await new Response(ReadableStream.from(bytes)).text();
    return await writeLines(Deno.stdout, text.split("\n"));
  }
  try {
    for await (const chunk of bytes) await writeAll(Deno.stdout, chunk);
  } catch (error) {
    ignoreBrokenPipe(error);
  }
}

/** Reads a payload. Its errors differ from those of writing it. */
async function* bytesOf(
  id: string,
  body: ReadableStream<Uint8Array> | null,
): AsyncGenerator<Uint8Array> {
  try {
    yield* body ?? [];
  } catch (error) {
    throw new ApiError(`Cannot read the payload of run ${id}: ${messageOf(error)}`);
  }
}

async function writeFile(path: string, bytes: AsyncIterable<Uint8Array>): Promise<void> {
  const failure = (error: unknown) =>
    error instanceof ApiError
      ? error
      : new ConflictError(`Cannot write the payload to ${path}: ${messageOf(error)}`);
  using file = await Deno.open(path, { write: true, createNew: true }).catch((error) => {
    throw failure(error);
  });
  try {
    for await (const chunk of bytes) await writeAll(file, chunk);
  } catch (error) {
    await Deno.remove(path);
    throw failure(error);
  }
}

async function replay(
  id: string,
  { url, json = false, quiet = false }: ApiOptions,
): Promise<void> {
  const run: ShownRun = await clientOf(url).request("POST", `runs/${id}/replay/`);
  if (quiet) printIds([run]);
  else print(run, json);
}

function print(run: ShownRun, json: boolean): void {
  if (json) return printJson(run);
  const { payload: { size, sha256, content_type }, actions, request, status, ...others } = run;
  const { waiting, ...rest } = others;
  const { executions: _executions, pipelines: _pipelines, http_requests: _requests, ...more } =
    rest;
  const { id, trigger, trigger_id, ...fields } = more;
  printFields({
    id,
    trigger,
    trigger_id,
    status: stateWord(status),
    ...fields,
    launched_by: launcherText(run),
    waits: waiting && turnText(waiting),
    work: [run.work, workText(run)].filter(Boolean).join(": "),
    query: request?.query,
    ...Object.fromEntries(
      Object.entries(request?.headers ?? {}).map(([name, value]) => [`header ${name}`, value]),
    ),
    too_long: leftOutNames(request?.left_out).join(", ") || undefined,
    payload: `${size} bytes, sha256 ${sha256}`,
    content_type,
    ...Object.fromEntries(actions.map((outcome, index) => [`action ${index}`, describe(outcome)])),
  });
}

/** Describes an outcome, such as `run_execution: execution_id 0190…`. */
function describe({ action, created, error, skipped }: ActionOutcome): string {
  const said = skipped !== undefined
    ? `skipped: ${skipped}`
    : error === undefined
    ? Object.entries(created ?? {}).map(([name, value]) => `${name} ${value}`).join(" ")
    : `failed: ${error}`;
  return said === "" ? action : `${action}: ${said}`;
}
