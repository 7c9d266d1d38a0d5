/**
 * The secrets that executions get. They are read when an execution is prepared, and kept encrypted until it has ended.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import type { SecretsOfSteps } from "../engines/engine.ts";
import { ActionError } from "../platform/errors.ts";
import { quotedList } from "../platform/text/display.ts";
import type { CommitBranches } from "../projects/code/source.ts";
import type { ProjectCode } from "../projects/project_code.ts";
import type { Execution } from "../store/records/executions.ts";
import {
  getGivenSecrets,
  GIVEN_BYTES_MAX,
  givenSecretsWrites,
} from "../store/records/given_secrets.ts";
import { getProject, type Project, type ProjectSecret } from "../store/records/projects.ts";
import type { Store } from "../store/store.ts";
import { tryOpen } from "../triggers/secrets.ts";
import { missingSecret } from "../projects/missing_secrets.ts";
import { ProjectSecrets, type SecretParts } from "./settings.ts";

/** Stands between the secrets of an execution: none of them has it. */
const SEPARATOR = "\0";

/** The parts of a service that the secrets of steps need. */
export interface StepSecretParts extends SecretParts {
  store: Store;
  projects: Pick<ProjectCode, "branchesWith">;
}

/** The secrets of executions. */
export class StepSecrets implements SecretsOfSteps {
  readonly #parts: StepSecretParts;
  readonly #settings: ProjectSecrets;

  constructor(parts: StepSecretParts) {
    this.#parts = parts;
    this.#settings = new ProjectSecrets(parts);
  }

  async give(execution: Execution): Promise<ReadonlyMap<string, string>> {
    const { id, secrets: named = {}, project: projectName } = execution;
    const { store, box } = this.#parts;
    const project = await getProject(store, projectName);
    if (project === undefined) throw new ActionError(`The project "${projectName}" was deleted`);
    const problems = new Set<string>();
    const values = new Map<string, string>();
    let branches: CommitBranches | undefined;
    for (const [variable, { name }] of Object.entries(named)) {
      const secret = project.secrets?.find((each) => each.name === name);
      if (secret === undefined) {
        problems.add(missingSecret(project, { name, variable }));
        continue;
      }
      if (hasBranches(project, execution)) {
        const { projects } = this.#parts;
        const isWanted = (branch: string) => isNamed(branch, project, named);
        branches ??= await projects.branchesWith(project, execution.commit, isWanted);
        const refusal = refusalOf(secret, branches);
        if (refusal !== undefined) problems.add(refusal);
      }
      const read = this.#settings.read(secret, projectName);
      if ("text" in read) values.set(name, read.text);
      else problems.add(read.problem);
    }
    const given = [...values.values()].join(SEPARATOR);
    const bytes = Buffer.byteLength(given);
    if (bytes > GIVEN_BYTES_MAX) {
      problems.add(`Its secrets have ${bytes} bytes, and at most ${GIVEN_BYTES_MAX} are given`);
    }
    if (problems.size > 0) throw new ActionError([...problems].join("; "));
    const writes = givenSecretsWrites(id, box.seal(given, id));
    // Another instance than the leader may prepare it.
    await store.intake.commit({ writes: () => writes });
    return values;
  }

  async given({ id, project: name, secrets = {} }: Execution): Promise<readonly string[]> {
    const sealed = await getGivenSecrets(this.#parts.store, id);
    const given = sealed && tryOpen(sealed, this.#parts.box, id);
    if (given) return given.split(SEPARATOR);
    // The record is damaged, or the key is another one: most secrets are still the same.
    const project = await getProject(this.#parts.store, name);
    return Object.values(secrets).flatMap((named) => {
      const secret = project?.secrets?.find((each) => each.name === named.name);
      const read = secret && this.#settings.read(secret, name);
      return read !== undefined && "text" in read ? [read.text] : [];
    });
  }
}

/** Returns false where the code has no branches: a folder, or a configuration, is as its owner has made it. */
function hasBranches({ repository }: Project, { commit }: Execution): boolean {
  return repository !== undefined && !/^[~=]/.test(commit);
}

/** Returns true for a branch that one of the named secrets names. */
function isNamed(
  branch: string,
  { secrets = [] }: Project,
  named: NonNullable<Execution["secrets"]>,
): boolean {
  const names = new Set(Object.values(named).map(({ name }) => name));
  return secrets.some(({ name, branches = [] }) =>
    names.has(name) && branches.some((pattern) => matches(branch, pattern))
  );
}

/** Says why a commit does not get a secret; undefined where it does. */
function refusalOf(
  { name, branches: patterns }: ProjectSecret,
  { branches, isOnDefault }: CommitBranches,
): string | undefined {
  const isAllowed = patterns === undefined
    ? isOnDefault
    : branches.some((branch) => patterns.some((pattern) => matches(branch, pattern)));
  if (isAllowed) return undefined;
  const expected = patterns === undefined
    ? "commits of the default branch alone get it"
    : `commits of these branches alone get it: ${patterns.join(", ")}`;
  const found = branches.length === 0 ? "no branch" : quotedList(branches.slice(0, 10));
  return `The secret "${name}" is not given: ${expected}, and this commit is on ${found}`;
}

function matches(branch: string, pattern: string): boolean {
  const parts = pattern.split("*");
  const [first = "", ...others] = parts;
  if (others.length === 0) return branch === pattern;
  const last = others.pop() ?? "";
  if (!branch.startsWith(first) || branch.length < first.length + last.length) return false;
  if (!branch.endsWith(last)) return false;
  let at = first.length;
  for (const part of others) {
    const found = branch.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return at <= branch.length - last.length;
}
