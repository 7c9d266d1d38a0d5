/**
 * `hooklaunch project`: the projects of a running service, and the check of a project configuration file,
 * which needs no service.
 *
 * @module
 */
import type { Command } from "commander";
import { InvalidInputError } from "../platform/errors.ts";
import type { Project } from "../store/records/projects.ts";
import { type ApiClient, ApiError } from "./api/client.ts";
import { type ApiOptions, apiOptions, clientOf } from "./api/options.ts";
import { isStandardInput, quietly, readInput } from "./input/options.ts";
import {
  counted,
  type Finding,
  findingOf,
  findingsOptions,
  printFindings,
} from "./console/findings.ts";
import { confirm } from "./console/confirm.ts";
import { defineProjectSecret, partOf } from "./project_secret.ts";
import { harmless, printFields, printIds, printJson, printList } from "./console/table.ts";

const CONFIG_FILE = "valohai.yaml";
/** Longer than the service lets a fetch take. */
const FETCH_TIMEOUT_MS = 15 * 60_000;
/** A request that failed sooner failed for another reason than the client's timeout. */
const REQUEST_MIN_MS = 20_000;

/** The content and the flaws of a project configuration file. */
interface Check {
  file: string;
  /** The declared names; none when the file has errors. */
  steps: readonly string[];
  pipelines: readonly string[];
  endpoints: readonly string[];
  tasks: readonly string[];
  errors: readonly Finding[];
  warnings: readonly Finding[];
}

/** Defines the command. */
export function defineProject(command: Command): void {
  apiOptions(command.command("list").description("List the projects"))
    .addOption(quietly("print names alone, one a line"))
    .option("--json", "print JSON")
    .action(list);
  apiOptions(command.command("show").description("Show a project's settings"))
    .argument("<name>", "the name of the project")
    .option("--json", "print JSON")
    .action(show);
  apiOptions(
    command.command("fetch").description("Fetch a project's repository, and list its branches"),
  )
    .argument("<name>", "the name of the project")
    .option("--json", "print JSON")
    .action(fetchRepository);
  apiOptions(
    command.command("delete").description(
      "Delete a project. Its executions and their logs stay until their retention is over",
    ),
  )
    .argument("<name>", "the name of the project")
    .option("--yes", "do not ask")
    .option("--json", "print JSON")
    .action(remove);
  defineProjectSecret(
    command.command("secret").description("Set, list and remove the secrets that steps may name"),
  );
  findingsOptions(
    command.command("check")
      .description("Check a project configuration file; needs no service")
      .argument("[file]", "the file; - reads standard input", CONFIG_FILE),
  ).action(check);
}

async function list({ url, json = false, quiet = false }: ApiOptions): Promise<void> {
  const projects = await clientOf(url).list<Project>("projects/");
  if (quiet) return printIds(projects);
  printList(projects, [
    ["name", ({ name }) => name],
    ["code", ({ repository, directory }) => repository ?? directory ?? "none"],
    ["configuration file", ({ config_file }) => config_file],
    ["engine", ({ engine }) => engine.type],
  ], { json });
}

async function show(name: string, { url, json = false }: ApiOptions): Promise<void> {
  const project = await clientOf(url).request<Project>("GET", pathOf(name));
  if (json) return printJson(project);
  const { engine: { type, ...settings }, secrets, ...fields } = project;
  const ofEngine = Object.entries(settings).map(([setting, value]) => [
    `engine.${setting}`,
    typeof value === "string" ? value : JSON.stringify(value),
  ]);
  printFields({
    ...fields,
    engine: type,
    ...Object.fromEntries(ofEngine),
    secrets: secrets?.map(({ name }) => name).join(" "),
  });
}

async function fetchRepository(name: string, { url, json = false }: ApiOptions): Promise<void> {
  const fetched = await waitForFetch(clientOf(url), `${pathOf(name)}fetch/`);
  if (json) return printJson(fetched);
  const branches = Object.entries(fetched.branches);
  if (branches.length === 0) {
    return console.log(
      "There are no branches. A plain folder and a project without code need no fetch",
    );
  }
  printList(branches, [["branch", ([branch]) => branch], ["commit", ([, commit]) => commit]]);
}

async function remove(
  name: string,
  { url, json = false, yes = false }: ApiOptions & { yes?: boolean },
): Promise<void> {
  const api = clientOf(url);
  const { revision } = await api.request<Project>("GET", pathOf(name));
  if (!yes) confirm(`Delete project ${name}?`);
  await api.request("DELETE", pathOf(name), undefined, revision === undefined ? {} : { revision });
  if (json) printJson({ name });
  else console.log(harmless(`Project ${name} is deleted`));
}

/** Repeats a request that timed out: a first fetch may take longer than a request, and continues meanwhile. */
async function waitForFetch(
  api: ApiClient,
  path: string,
): Promise<{ branches: Record<string, string> }> {
  const until_ms = performance.now() + FETCH_TIMEOUT_MS;
  for (;;) {
    const asked_ms = performance.now();
    try {
      return await api.request("POST", path);
    } catch (error) {
      const isLate = error instanceof ApiError && error.status === undefined &&
        performance.now() - asked_ms > REQUEST_MIN_MS;
      if (!isLate || performance.now() > until_ms) throw error;
    }
  }
}

async function check(
  path: string,
  { strict = false, json = false }: { strict?: boolean; json?: boolean },
): Promise<void> {
  const file = isStandardInput(path) ? "standard input" : path;
  const checked = await checkFile(file, await readInput(path, "the project configuration file"));
  const failing = strict ? [...checked.errors, ...checked.warnings] : checked.errors;
  if (failing.length > 0) Deno.exitCode = 1;
  if (json) return printJson(checked);
  printFindings(file, checked);
  console.log(summary(checked));
}

async function checkFile(file: string, bytes: Uint8Array): Promise<Check> {
  // The commands that use a service do not need this.
  const { readConfigFile } = await import("../projects/mod.ts");
  try {
    const { steps, pipelines, endpoints, tasks, warnings } = readConfigFile(bytes, file);
    return {
      file,
      steps: [...steps.keys()],
      pipelines: [...pipelines.keys()],
      endpoints: [...endpoints.keys()],
      tasks: [...tasks.keys()],
      errors: [],
      warnings: warnings.map(findingOf),
    };
  } catch (error) {
    if (!(error instanceof InvalidInputError)) throw error;
    const errors = error.problems.map(findingOf);
    return { file, steps: [], pipelines: [], endpoints: [], tasks: [], errors, warnings: [] };
  }
}

/** Counts the findings, such as `3 steps, 1 pipeline: no errors, 2 warnings`. */
function summary({ file, steps, pipelines, endpoints, tasks, errors, warnings }: Check): string {
  // Reading ends at errors, before warnings are found.
  if (errors.length > 0) return `${harmless(file)}: ${counted(errors.length, "error")}`;
  const others = Object.entries({ pipeline: pipelines, endpoint: endpoints, task: tasks })
    .filter(([, names]) => names.length > 0)
    .map(([kind, names]) => counted(names.length, kind));
  const found = [counted(steps.length, "step"), ...others].join(", ");
  return `${found}: no errors, ${counted(warnings.length, "warning")}`;
}

function pathOf(name: string): string {
  return `projects/${partOf(name, "project")}/`;
}
