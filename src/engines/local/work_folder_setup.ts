/**
 * Creates the work folder of an execution, with everything that the command finds when it starts.
 *
 * @module
 */
import { dirname, join } from "node:path";
import { ignoreMissing } from "../../platform/files/missing_file.ts";
import { removeTree } from "../../platform/files/remove_tree.ts";
import { settleAll } from "../../platform/waiting/promises.ts";
import type { Execution } from "../../store/records/executions.ts";
import {
  configFiles,
  inputConfigFiles,
  launchedRun,
  payloadPath,
  requestConfigFile,
} from "../shared/config_files.ts";
import { commandEnvironment, exportScript } from "../shared/environment.ts";
import type { SecretsOfSteps } from "../engine.ts";
import type { StoredLine } from "../shared/log_format.ts";
import { appendToLog } from "../shared/log_writer.ts";
import { DiskInputs } from "../shared/inputs/disk_inputs.ts";
import { stageInputs } from "../shared/inputs/mod.ts";
import { commandSecrets, SECRETS_FOLDER } from "../shared/step_secrets.ts";
import type { Sources } from "../shared/inputs/source.ts";
import { removeTrees, type WorkFolder } from "./work_folder.ts";

export interface SetupContext {
  sources: Sources;
  secrets?: SecretsOfSteps | undefined;
  checkout(projectName: string, commit: string, destination: string): Promise<void>;
}

/** Creates the work folder. Removes one that an earlier service has prepared and not used. */
export async function setUpFolder(
  folder: WorkFolder,
  execution: Execution,
  context: SetupContext,
): Promise<void> {
  await removeTrees([folder.temporary, folder.path]);
  await fill(folder, execution, context);
  Deno.renameSync(folder.temporary, folder.path);
}

/**
 * Replaces a used work folder by a new one. Keeps the log and adds a line to it.
 *
 * @param logBytesMax the size limit of the log
 */
export async function renewFolder(
  folder: WorkFolder,
  execution: Execution,
  context: SetupContext,
  { line, logBytesMax }: { line: StoredLine; logBytesMax: number },
): Promise<void> {
  await removeTrees([folder.temporary, folder.replaced]);
  await fill(folder, execution, context, async () => {
    await Deno.copyFile(folder.record("log"), folder.preparationLog).catch(ignoreMissing);
    await appendToLog(folder.preparationLog, logBytesMax, line);
    // The outputs of the earlier run must not become those of this one, even if the renewal fails.
    await removeTree(folder.outputs);
  });
  await Deno.rename(folder.path, folder.replaced).catch(ignoreMissing);
  await Deno.rename(folder.temporary, folder.path);
  await removeTree(folder.replaced);
}

/**
 * Fills the folder under its temporary name.
 *
 * @param keep copies what is kept of the earlier folder
 */
async function fill(
  folder: WorkFolder,
  execution: Execution,
  { sources, checkout, secrets: source }: SetupContext,
  keep?: () => Promise<void>,
): Promise<void> {
  const { temporary, layout } = folder;
  try {
    makeFolders(folder);
    writeFiles(folder, "config", configFiles(execution, layout.runner));
    if (keep) await keep();
    const seenAs = layout.seenAs(folder.path);
    const [, inputs, run, secrets] = await settleAll([
      checkout(execution.project, execution.commit, join(temporary, "repository")),
      stageInputs(execution, new DiskInputs(join(temporary, "inputs")), sources),
      launchedRun(sources.store, execution.run_id),
      commandSecrets(execution, seenAs, source),
    ]);
    writeFiles(folder, "config", inputConfigFiles(inputs, seenAs));
    writeFiles(folder, "config", requestConfigFile(run));
    const environment = commandEnvironment(execution, {
      folder: seenAs,
      payload: payloadPath(inputs),
      secrets: secrets.variables,
    });
    writeFiles(folder, layout.wrapperFolder, controlFiles(execution, environment));
    if (secrets.files.size > 0) {
      const path = join(layout.wrapperFolder, SECRETS_FOLDER);
      Deno.mkdirSync(join(temporary, path), { mode: 0o700 });
      writeFiles(folder, path, secrets.files);
    }
  } catch (error) {
    await removeAllButLog(folder);
    throw error;
  }
}

/** Removes what was prepared. The log stays: it says why. */
async function removeAllButLog({ temporary, preparationLog }: WorkFolder): Promise<void> {
  const log = await Deno.readFile(preparationLog).catch(() => undefined);
  await removeTree(temporary);
  if (log === undefined) return;
  await Deno.mkdir(dirname(preparationLog), { recursive: true, mode: 0o700 });
  await Deno.writeFile(preparationLog, log, { mode: 0o600 });
}

/** Synchronous, as {@linkcode writeFiles}, because awaiting takes several times as long. */
function makeFolders({ temporary, layout: { wrapperFolder } }: WorkFolder): void {
  Deno.mkdirSync(temporary, { recursive: true, mode: 0o700 });
  for (const name of ["config", "control", "home", "inputs", "outputs", "tmp"]) {
    Deno.mkdirSync(join(temporary, name), { mode: 0o700 });
  }
  // Its parent admits only the service's user, so the command may give this one to another user.
  if (wrapperFolder !== "control") Deno.mkdirSync(join(temporary, wrapperFolder), { mode: 0o755 });
}

function writeFiles({ temporary }: WorkFolder, name: string, files: Map<string, string>): void {
  for (const [file, text] of files) {
    const mode = file === "command" ? 0o700 : 0o600;
    Deno.writeTextFileSync(join(temporary, name, file), text, { mode });
  }
}

function controlFiles(
  { command, secrets }: Execution,
  environment: Record<string, string>,
): Map<string, string> {
  const script = exportScript(environment, { isSecret: secrets !== undefined });
  return new Map([["command", `${command}\n`], ["environment", script]]);
}
