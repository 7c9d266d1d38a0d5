/**
 * The inputs of an execution: its files are brought into its work folder before its command starts.
 *
 * @module
 */
import { join } from "node:path";
import type { Execution } from "../../../store/executions.ts";
import { readPayload } from "../../../store/payloads.ts";
import type { Store } from "../../../store/store.ts";

/** What inputs are brought with. */
export interface InputContext {
  store: Store;
}

/**
 * Writes the files of an execution's inputs.
 *
 * @param folder the execution's inputs folder, which exists; each input becomes a folder in it
 * @throws when a file cannot be had, with a message for the owner
 */
export async function writeInputs(
  execution: Execution,
  folder: string,
  { store }: InputContext,
): Promise<void> {
  checkNames(execution);
  for (const [input, files] of Object.entries(execution.inputs)) {
    await Deno.mkdir(join(folder, input), { mode: 0o700 });
    for (const file of files) {
      if (!("payload_of" in file)) throw new Error(`Cannot fetch ${file.name}`);
      using target = await Deno.open(join(folder, input, file.name), {
        createNew: true,
        write: true,
      });
      for await (const chunk of readPayload(store, file.payload_of, file.size)) {
        await writeAll(target, chunk);
      }
    }
  }
}

/** Refuses names that would lead out of the inputs folder. They were declared, but not for paths. */
function checkNames({ inputs }: Execution): void {
  for (const [input, files] of Object.entries(inputs)) {
    for (const name of [input, ...files.map((file) => file.name)]) {
      if (name === "" || name === "." || name === ".." || /[/\0]/.test(name)) {
        throw new Error(`The input or file name ${JSON.stringify(name)} cannot be used in a path`);
      }
    }
  }
}

async function writeAll(file: Deno.FsFile, bytes: Uint8Array): Promise<void> {
  for (let written = 0; written < bytes.length;) {
    written += await file.write(bytes.subarray(written));
  }
}
