/**
 * The inputs of an execution: its files are brought into its work folder before its command starts.
 *
 * @module
 */
import { join } from "node:path";
import { messageOf } from "../../../platform/errors.ts";
import type { Execution, InputFile } from "../../../store/records/executions.ts";
import type { LocalSettings } from "../settings.ts";
import { Allowance } from "./budget.ts";
import type { Bringing, BroughtFile, BroughtInputs, UrlFile } from "./source.ts";
import { InputFolder } from "./input_folder.ts";
import { bringLocalFile } from "./local_file.ts";
import { checkNames } from "./names.ts";
import { bringDatum, bringOutput } from "./output.ts";
import { bringPayload } from "./payload.ts";
import { bringRemote } from "./remote.ts";
import { shownUrl } from "./redacted_url.ts";

export type { BroughtFile, BroughtInputs } from "./source.ts";
export { PreparationLog } from "./preparation_log.ts";
export { RemoteFiles } from "./remote_files.ts";

/** What inputs are brought with. */
export type InputContext = Pick<Bringing, "store" | "sources">;

/** The schemes of URLs. */
const SCHEMES: ReadonlyMap<
  string,
  (file: UrlFile, url: URL, bringing: Bringing) => Promise<BroughtFile>
> = new Map([
  ["datum:", bringDatum],
  ["file:", bringLocalFile],
  ["http:", bringRemote],
  ["https:", bringRemote],
]);

/**
 * Writes the files of an execution's inputs, one after the other.
 *
 * @param folder the execution's inputs folder, which exists; each input becomes a folder in it
 * @returns what was brought
 * @throws when a file cannot be had, with a message for the owner
 */
export async function writeInputs(
  execution: Execution,
  folder: string,
  { store, sources }: InputContext,
): Promise<BroughtInputs> {
  checkNames(execution);
  // The schema has checked them when the project was stored.
  const { inputs: settings = {} } = execution.engine as LocalSettings;
  using allowance = new Allowance(settings, sources.signal);
  const brought = new Map<string, BroughtFile[]>();
  for (const [input, files] of Object.entries(execution.inputs)) {
    const path = join(folder, input);
    Deno.mkdirSync(path, { mode: 0o700 });
    const bringing = {
      execution,
      settings,
      store,
      sources,
      allowance,
      folder: new InputFolder(path),
    };
    const there: BroughtFile[] = [];
    brought.set(input, there);
    for (const file of files) {
      if ("payload_of" in file) {
        allowance.take(file.size);
        there.push(await bringPayload(file, bringing));
      } else {
        there.push(await bring(file, input, bringing));
      }
    }
  }
  return brought;
}

async function bring(
  file: Exclude<InputFile, { payload_of: string }>,
  input: string,
  bringing: Bringing,
): Promise<BroughtFile> {
  const url = "url" in file ? URL.parse(file.url) : undefined;
  try {
    if (!("url" in file)) return await bringOutput(file, bringing);
    // As the URL is not shown, which may hold credentials, and seldom gave the file a name, the input has to
    // tell which one it is.
    if (!url) throw new Error(`the URL of input ${JSON.stringify(input)} cannot be read`);
    const bringUrl = SCHEMES.get(url.protocol);
    if (bringUrl === undefined) {
      throw new Error(
        `"${url.protocol}" is none of the schemes that there are: ${
          [...SCHEMES.keys()].join(", ")
        }`,
      );
    }
    return await bringUrl(file, url, bringing);
  } catch (error) {
    const from = url ? ` from ${shownUrl(url)}` : "";
    throw new Error(`Cannot fetch ${file.name}${from}: ${messageOf(error)}`, { cause: error });
  }
}
