/**
 * Finds an earlier execution to reuse in place of a new one: two executions of a project do the same when
 * all their deciding fields are equal.
 *
 * @module
 */
import { hash } from "node:crypto";
import type { Write } from "../commit/change.ts";
import { type Execution, getExecution, type InputFile } from "./executions.ts";
import { keys } from "../keys.ts";
import type { Store } from "../store.ts";
import type { WrittenKeys } from "../commit/written_keys.ts";

/** The fields that decide what an execution does. */
export type Deciding = Pick<
  Execution,
  | "commit"
  | "step"
  | "image"
  | "command"
  | "inputs"
  | "parameters"
  | "environment_variables"
  | "secrets"
  | "mounts"
>;

/** A hash of everything that decides what an execution does. */
function fingerprint(execution: Deciding): string {
  const { commit, step, image, command, inputs, parameters, environment_variables } = execution;
  const { secrets, mounts } = execution;
  const files = Object.entries(inputs).map(([name, all]) => [name, all.map(identityOf)]);
  const variables = Object.entries(environment_variables).sort();
  const deciding = [commit, step, image, command, files, Object.entries(parameters), variables];
  if (secrets !== undefined) deciding.push(Object.entries(secrets).sort());
  if (mounts !== undefined) deciding.push([["mounts", JSON.stringify(mounts)]]);
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

/** The execution of an id, if it is complete and did the same. */
export async function findSame(
  store: Store,
  id: string,
  deciding: Deciding,
): Promise<Execution | undefined> {
  const execution = await getExecution(store, id);
  if (execution?.status !== "complete") return undefined;
  return fingerprint(execution) === fingerprint(deciding) ? execution : undefined;
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

/** Begins to record which executions are taken, found again or withdrawn from now on. */
export function watchReusable({ committer }: Store): WrittenKeys {
  return committer.watch("reusable");
}

/**
 * Takes an execution for a pipeline, unless it was withdrawn, or another has taken its place, meanwhile.
 *
 * @param written what was written since it was found
 * @param writes what is stored with that
 * @returns whether it is taken
 */
export async function takeReusable(
  store: Store,
  execution: Execution,
  { written, writes }: { written: WrittenKeys; writes: readonly Write[] },
): Promise<boolean> {
  // Who is about to forget it sees it written.
  const reusable = reusableWrite(execution);
  const isTooLate = () => written.has(reusable.key) || written.has(withdrawal(execution));
  return await storeUnless(store, isTooLate, [reusable, ...writes]);
}

/** A key that has never a value: its removal tells whoever is about to take an execution that it is withdrawn. */
function withdrawal({ project, id }: Execution): Deno.KvKey {
  return keys.reusable(project, id);
}

/**
 * Withdraws a complete execution, so that no pipeline takes it any more.
 *
 * @param written what was written since it was known that nothing needs it
 * @returns false when a pipeline may have taken it since then
 */
export async function withdrawReusable(
  store: Store,
  execution: Execution,
  written: WrittenKeys,
): Promise<boolean> {
  if (execution.pipeline_id === undefined) return true;
  const { key } = reusableWrite(execution);
  // A later execution may have taken its place.
  const isFound = (await store.kv.get<string>(key)).value === execution.id;
  const withdrawn = { key: withdrawal(execution) };
  const writes = isFound ? [{ key }, withdrawn] : [withdrawn];
  return await storeUnless(store, () => written.has(key), writes);
}

/** Stores writes unless something holds at the moment of their commit; whether it did not. */
async function storeUnless(
  { committer }: Store,
  holds: () => boolean,
  writes: readonly Write[],
): Promise<boolean> {
  let isStored = false;
  await committer.commit({
    writes() {
      isStored = !holds();
      return isStored ? writes : [];
    },
  });
  return isStored;
}
