/**
 * Checks a configuration file without a service: what saving it would refuse or warn of, with the steps of the
 * projects whose folders are here.
 *
 * @module
 */
import { join } from "node:path";
import { checkActions } from "../actions/mod.ts";
import { systemClock } from "../platform/clock.ts";
import {
  ActionError,
  InvalidInputError,
  messageOf,
  type Problem,
  problemText,
} from "../platform/errors.ts";
import { didYouMean } from "../platform/text/nearest.ts";
import { pointer } from "../platform/schema/pointer.ts";
import { type Projects, readConfigFile, type ResolvedCommit } from "../projects/mod.ts";
import type { Project } from "../store/records/projects.ts";
import { reviewSave, triggerWarnings } from "../triggers/review.ts";
import type { TriggerSettings } from "../triggers/trigger.ts";
import { missingVariables } from "../triggers/variables.ts";
import { loginWarnings } from "./apply_logins.ts";
import { type ConfigDocument, parseConfig } from "./document.ts";

/** The findings of a check. */
interface ConfigCheck {
  projects: string[];
  triggers: string[];
  errors: Problem[];
  warnings: Problem[];
  /** The parts that were not checked, and why. */
  left_out: string[];
}

/** The surroundings of a check. */
interface CheckOptions {
  /** The file, for errors. */
  path: string;
  /** The folder that relative paths in the file start at. */
  folder: string;
  /** The environment variables that secrets are looked up in. */
  env: Readonly<Record<string, string>>;
  /** The folders with the code of projects whose repositories are elsewhere, by the projects' names. */
  code?: ReadonlyMap<string, string>;
}

/** Checks a configuration file. */
export async function checkConfig(
  written: string | Uint8Array,
  { path, folder, env, code = new Map() }: CheckOptions,
): Promise<ConfigCheck> {
  const found: ConfigCheck = {
    projects: [],
    triggers: [],
    errors: [],
    warnings: [],
    left_out: [],
  };
  let document: ConfigDocument;
  try {
    document = parseConfig(written, path, folder);
  } catch (error) {
    if (!(error instanceof InvalidInputError)) throw error;
    return { ...found, errors: [...error.problems] };
  }
  const at = (list: string, index: number, problems: readonly Problem[]) =>
    document.place(pointer(list, index), problems);
  for (const [index, provider] of document.oidc.entries()) {
    const warnings = loginWarnings(provider, (name) => env[name]);
    found.warnings.push(...document.place(document.loginAt(index), warnings));
  }
  const usable = new Map<string, Project>();
  for (const [index, project] of document.projects.entries()) {
    found.projects.push(project.name);
    found.warnings.push(...at("projects", index, missingHere({ secrets: project.secrets }, env)));
    const directory = code.get(project.name) ?? project.directory;
    if (directory === undefined) {
      found.left_out.push(`the steps of project ${project.name}: its repository is not here`);
      continue;
    }
    const { errors, warnings } = await projectFindings(project, directory);
    found.errors.push(...at("projects", index, errors));
    found.warnings.push(...at("projects", index, warnings));
    if (errors.length === 0) usable.set(project.name, { ...project, directory });
  }
  for (const [index, trigger] of document.triggers.entries()) {
    found.triggers.push(trigger.name);
    const project = usable.get(trigger.project);
    if (!found.projects.includes(trigger.project)) {
      const why = `the file has no project ${trigger.project}`;
      found.left_out.push(`the steps of trigger ${trigger.name}: ${why}`);
    }
    const { errors, warnings } = await triggerFindings(trigger, project, env);
    found.errors.push(...at("triggers", index, errors));
    found.warnings.push(...at("triggers", index, warnings));
  }
  return found;
}

/** Reads the project configuration files of folders. */
const foldersHere: Pick<Projects, "resolve" | "resolveKept"> = {
  async resolve({ name, directory = "", config_file }, reference): Promise<ResolvedCommit> {
    // The folder is a checkout of it, at any commit.
    const bytes = await Deno.readFile(join(directory, config_file)).catch((error) => {
      throw new ActionError(
        `Cannot read ${config_file} of project "${name}" in ${directory}: ${messageOf(error)}`,
      );
    });
    return { commit: reference, config: readConfigFile(bytes, config_file) };
  },
  resolveKept: (project, reference) => foldersHere.resolve(project, reference),
};

async function projectFindings(
  project: Project,
  directory: string,
): Promise<{ errors: Problem[]; warnings: Problem[] }> {
  const ofFile = (detail: string): Problem => ({ pointer: "/config_file", detail });
  try {
    const { config } = await foldersHere.resolve({ ...project, directory }, "HEAD");
    const { config_file } = project;
    const warnings = config.warnings.map((each) => ofFile(`${config_file}: ${problemText(each)}`));
    return { errors: [], warnings };
  } catch (error) {
    if (error instanceof ActionError) return { errors: [ofFile(error.message)], warnings: [] };
    if (!(error instanceof InvalidInputError)) throw error;
    const detail = `${error.message}. See: hooklaunch project check ` +
      join(directory, project.config_file);
    return { errors: [ofFile(detail)], warnings: [] };
  }
}

async function triggerFindings(
  trigger: TriggerSettings,
  project: Project | undefined,
  env: CheckOptions["env"],
): Promise<{ errors: Problem[]; warnings: Problem[] }> {
  const read = (name: string) => env[name];
  const errors: Problem[] = [];
  const warnings: Problem[] = [];
  try {
    const parts = { env: read, now_ms: systemClock.now() };
    warnings.push(...reviewSave(trigger, undefined, parts));
  } catch (error) {
    if (!(error instanceof InvalidInputError)) throw error;
    errors.push(...error.problems);
  }
  if (project !== undefined) {
    const actions = await checkActions(trigger.actions, { project, projects: foldersHere });
    errors.push(...actions.map((each) => ({ ...each, pointer: `/actions${each.pointer}` })));
  }
  // A variable that is not set has a sentence of its own here: the service may have it.
  const missing = missingHere(trigger, env);
  const isMissing = (problem: Problem) =>
    missing.some(({ pointer }) => pointer === problem.pointer);
  warnings.push(...triggerWarnings(trigger, read).filter((problem) => !isMissing(problem)));
  return { errors, warnings: [...warnings, ...missing] };
}

/** Returns warnings about secrets whose variables are not set here, or whose files are not here. */
function missingHere(value: unknown, env: CheckOptions["env"]): Problem[] {
  return missingVariables(value, (name) => env[name]).map(({ pointer, variable }) => {
    const question = didYouMean(variable, Object.keys(env).filter((name) => name !== variable));
    const detail = `${variable} is not set here, or is empty${question}: the service needs it`;
    return { pointer, detail };
  });
}
