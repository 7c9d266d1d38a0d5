/**
 * Encrypting the secrets of projects with a new key.
 *
 * @module
 */
import type { Store } from "../store/store.ts";
import {
  executionsWithSecrets,
  getGivenSecrets,
  givenSecretsWrites,
} from "../store/records/given_secrets.ts";
import { listProjects, type Project, putProject } from "../store/records/projects.ts";
import { isReference, LockedSecretError, type SecretBox, tryOpen } from "../triggers/secrets.ts";
import { ownerOf } from "./settings.ts";

/**
 * Encrypts the secrets of all projects, and those that executions were given, with the current key. No service may use
 * the database meanwhile.
 *
 * @returns the number of projects with secrets
 * @throws {LockedSecretError} when a secret of a project cannot be decrypted with any of the keys
 */
export async function sealProjectsAgain(store: Store, box: SecretBox): Promise<number> {
  const projects = (await listProjects(store)).filter(({ secrets = [] }) => secrets.length > 0);
  for (const project of projects) {
    const secrets = project.secrets?.map(({ value, ...others }) => {
      return { ...others, value: sealedAgain(value, project, box) };
    });
    await putProject(store, { ...project, ...(secrets && { secrets }) });
  }
  for (const id of await Array.fromAsync(executionsWithSecrets(store))) {
    const given = await getGivenSecrets(store, id);
    const text = given && tryOpen(given, box, id);
    // What masks a log finds most secrets without it.
    if (text === undefined) continue;
    await store.committer.write(givenSecretsWrites(id, box.seal(text, id)));
  }
  return projects.length;
}

/** @throws {LockedSecretError} with the project's name, and what to do */
function sealedAgain(value: string, { name }: Project, box: SecretBox): string {
  if (isReference(value)) return value;
  try {
    return box.seal(box.open(value, ownerOf(name)), ownerOf(name));
  } catch (error) {
    if (!(error instanceof LockedSecretError)) throw error;
    throw new LockedSecretError(
      `Cannot encrypt the secrets of project "${name}" with the new key: ${error.message} ` +
        "Name the key that encrypted them too, set the secrets again, or remove them",
      { cause: error },
    );
  }
}
