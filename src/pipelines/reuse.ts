/**
 * Taking an earlier execution in place of a new one: two executions of a project do the same when
 * everything that decides what they do is the same.
 *
 * @module
 */
import { hash } from "node:crypto";
import type { Write } from "../store/committer.ts";
import { type Execution, getExecution, type InputFile } from "../store/executions.ts";
import { keys } from "../store/keys.ts";
import type { Store } from "../store/store.ts";

/** What decides what an execution does. */
type Deciding = Pick<
  Execution,
  "commit" | "step" | "image" | "command" | "inputs" | "parameters" | "environment_variables"
>;

/** A hash of everything that decides what an execution does. */
function fingerprint(execution: Deciding): string {
  const { commit, step, image, command, inputs, parameters, environment_variables } = execution;
  const files = Object.entries(inputs).map(([name, all]) => [name, all.map(identityOf)]);
  const variables = Object.entries(environment_variables).sort();
  const deciding = [commit, step, image, command, files, Object.entries(parameters), variables];
  return hash("sha256", JSON.stringify(deciding));
}

/** The complete execution that did the same before; undefined when there is none any more. */
export async function findReusable(
  store: Store,
  project: string,
  deciding: Deciding,
): Promise<Execution | undefined> {
  const { value } = await store.kv.get<string>(keys.reusable(project, fingerprint(deciding)));
  const execution = value === null ? undefined : await getExecution(store, value);
  return execution?.status === "complete" ? execution : undefined;
}

/** The write by which a complete execution is found again. */
export function reusableWrite(execution: Execution): Write {
  return { key: keys.reusable(execution.project, fingerprint(execution)), value: execution.id };
}

/** The bytes of a file where they are known, or else where it comes from. */
function identityOf(file: InputFile): string[] {
  if ("output_of" in file) return [file.name, file.sha256];
  if ("url" in file) return [file.name, file.url];
  return [file.name, file.sha256 ?? file.payload_of];
}

/** Forgets a complete execution, so that no pipeline takes it any more. */
export async function forgetReusable(store: Store, execution: Execution): Promise<void> {
  if (execution.pipeline_id === undefined) return;
  const { key } = reusableWrite(execution);
  // A later execution may have taken its place.
  if ((await store.kv.get<string>(key)).value === execution.id) {
    await store.committer.write([{ key }]);
  }
}
