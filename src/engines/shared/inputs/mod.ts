/**
 * Staging: the inputs of an execution are put into its work folder before its command starts.
 *
 * @module
 */
import { messageOf } from "../../../platform/errors.ts";
import type { Execution, InputFile } from "../../../store/records/executions.ts";
import type { StagedFile, StagedInputs } from "../config_files.ts";
import type { InputSettings } from "./settings.ts";
import { InputBudget } from "./budget.ts";
import { InputFolder, type InputKeeper } from "./input_folder.ts";
import { stageLocalFile } from "./local_file.ts";
import { checkNames } from "./names.ts";
import { stageRemote } from "./remote.ts";
import { StagingError } from "./errors.ts";
import { redactedUrl } from "../../../platform/network/urls.ts";
import type { Sources, StagingContext, UrlFile } from "./source.ts";
import { stageDatum, stageOutput, stagePayload } from "./stored_files.ts";

/** The sources of URLs, by scheme. */
const SCHEMES: ReadonlyMap<
  string,
  (file: UrlFile, url: URL, context: StagingContext) => Promise<StagedFile>
> = new Map([
  ["datum:", stageDatum],
  ["file:", stageLocalFile],
  ["http:", stageRemote],
  ["https:", stageRemote],
]);

/**
 * Writes the files of an execution's inputs, one after the other.
 *
 * @param keeper keeps them; each input becomes a folder there
 * @throws with a message for the owner, when a file cannot be staged
 */
export async function stageInputs(
  execution: Execution,
  keeper: InputKeeper,
  sources: Sources,
): Promise<StagedInputs> {
  checkNames(execution);
  // The schema checked them when the project was stored.
  const { inputs: settings = {} } = execution.engine as { inputs?: InputSettings };
  using budget = new InputBudget(settings, sources.signal);
  const staged = new Map<string, StagedFile[]>();
  for (const [input, files] of Object.entries(execution.inputs)) {
    const folder = new InputFolder(input, keeper);
    const context = { execution, settings, sources, budget, folder, keeper };
    const inFolder: StagedFile[] = [];
    staged.set(input, inFolder);
    for (const file of files) {
      inFolder.push(
        "payload_of" in file
          ? await stagePayload(file, context)
          : await stageFile(file, input, context),
      );
    }
  }
  return staged;
}

async function stageFile(
  file: Exclude<InputFile, { payload_of: string }>,
  input: string,
  context: StagingContext,
): Promise<StagedFile> {
  const url = "url" in file ? URL.parse(file.url) : undefined;
  try {
    if (!("url" in file)) return await stageOutput(file, context);
    // The message names the input: the URL may hold credentials, and the file's name says little.
    if (!url) throw new StagingError(`the URL of input ${JSON.stringify(input)} cannot be read`);
    const stageUrl = SCHEMES.get(url.protocol);
    if (stageUrl === undefined) {
      const known = [...SCHEMES.keys()].join(", ");
      throw new StagingError(`its scheme "${url.protocol}" is unknown: expected one of ${known}`);
    }
    return await stageUrl(file, url, context);
  } catch (error) {
    const from = url ? ` from ${redactedUrl(url)}` : "";
    throw new StagingError(`Cannot fetch ${file.name}${from}: ${messageOf(error)}`, {
      cause: error,
    });
  }
}
