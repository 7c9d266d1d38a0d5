/**
 * The secrets in a project's settings: encrypted where it is stored, and masked where it is shown, as a trigger's are.
 *
 * @module
 */
import { resolveSecret, SECRET_MASK } from "../conditions/secret.ts";
import { InvalidInputError, type Problem } from "../platform/errors.ts";
import { pointer } from "../platform/schema/pointer.ts";
import type { Project, ProjectSecret } from "../store/records/projects.ts";
import { RECORD_BYTES_MAX, recordBytes } from "../store/records/record_size.ts";
import { isReference, type SecretBox, tryOpen } from "../triggers/secrets.ts";
import { LENGTH_MIN, shortProblem } from "./length.ts";

/** A secret as the API shows it. */
export interface ShownSecret extends ProjectSecret {
  /** Of a literal that can be decrypted. */
  fingerprint?: string;
}

/** The parts of a service that secrets of projects need. */
export interface SecretParts {
  box: SecretBox;
  /** Reads an environment variable of the service. */
  env(name: string): string | undefined;
}

/** The secrets in the settings of projects. */
export class ProjectSecrets {
  readonly #parts: SecretParts;

  constructor(parts: SecretParts) {
    this.#parts = parts;
  }

  /**
   * Returns a project as it is to be stored. A mask stands for the stored secret of its name. Without a list of
   * secrets, the stored ones stay.
   *
   * @param made the project as its owner wrote it
   * @param before the stored project of its name
   * @throws {InvalidInputError} when a mask stands for nothing, or the secrets take too much room
   */
  sealed(made: Project, before: Project | undefined): Project {
    const { secrets: written, ...settings } = made;
    const stored = before?.secrets ?? [];
    const problems: Problem[] = [];
    const secrets = written?.map((secret, index) => {
      const known = stored.find(({ name }) => name === secret.name);
      const value = this.#valueOf(secret, { known, project: made.name });
      if (value === undefined) {
        const detail = `Expected a secret, found ${SECRET_MASK}, which stands for a stored one: ` +
          `none is named "${secret.name}". Send the secret itself`;
        problems.push({ pointer: pointer("secrets", index, "value"), detail });
      }
      const { name, branches } = secret;
      return { name, value: value ?? "", ...(branches && { branches }) };
    }).sort((one, other) => one.name < other.name ? -1 : 1) ?? stored;
    if (problems.length > 0) throw new InvalidInputError("the project", problems);
    const sealed = secrets.length === 0 ? settings : { ...settings, secrets };
    const bytes = recordBytes(sealed);
    if (bytes <= RECORD_BYTES_MAX) return sealed;
    const detail =
      `Expected at most ${RECORD_BYTES_MAX} bytes in all, encrypted, found ${bytes}: ` +
      "put long secrets into files, as {file:/absolute/path}";
    throw new InvalidInputError("the project", [{ pointer: "/secrets", detail }]);
  }

  /** Returns a stored project as the API shows it. */
  shown<T extends { name: string; secrets?: ProjectSecret[] }>(
    project: T,
  ): T & { secrets?: ShownSecret[] } {
    const { secrets } = project;
    return secrets === undefined
      ? project
      : { ...project, secrets: secrets.map((each) => this.#shownSecret(each, project.name)) };
  }

  /** Returns warnings about the secrets of a stored project, with pointers into it. */
  warnings({ name, secrets = [] }: Project): Problem[] {
    return secrets.flatMap((secret, index) => {
      const found = this.read(secret, name);
      if (!("problem" in found)) return [];
      return [{ pointer: pointer("secrets", index, "value"), detail: found.problem }];
    });
  }

  /** Reads a stored secret, or says why it cannot be given to a step. */
  read({ name, value }: ProjectSecret, project: string): { text: string } | { problem: string } {
    const isElsewhere = isReference(value);
    const text = isElsewhere
      ? resolveSecret(value, this.#parts.env)
      : tryOpen(value, this.#parts.box, ownerOf(project));
    if (text === undefined) {
      return {
        problem: isElsewhere
          ? `The secret "${name}" is not there: the service's ${value} cannot be read, or is empty`
          : `The secret "${name}" cannot be decrypted with this key: set it again`,
      };
    }
    if (text.includes("\0")) return { problem: `The secret "${name}" has a NUL: encode it` };
    return text.trim().length < LENGTH_MIN
      ? { problem: `The secret "${name}" is too short. ${shortProblem(text)}` }
      : { text };
  }

  #valueOf(
    { value }: ProjectSecret,
    { known, project }: { known: ProjectSecret | undefined; project: string },
  ): string | undefined {
    if (isReference(value)) return value;
    const { box } = this.#parts;
    const owner = ownerOf(project);
    const stored = known === undefined || isReference(known.value) ? undefined : known.value;
    if (value === SECRET_MASK) return known?.value;
    // The same secret stays as it is stored, so that nothing counts as changed.
    const isSame = stored !== undefined && tryOpen(stored, box, owner) === value;
    return isSame ? stored : box.seal(value, owner);
  }

  #shownSecret({ name, value, ...others }: ProjectSecret, project: string): ShownSecret {
    if (isReference(value)) return { name, value, ...others };
    const owner = ownerOf(project);
    const text = tryOpen(value, this.#parts.box, owner);
    const fingerprint = text === undefined ? undefined : this.#parts.box.mark(text, owner);
    return { name, ...(fingerprint && { fingerprint }), value: SECRET_MASK, ...others };
  }
}

/** Returns the owner of a project's secrets. No trigger has such an id. */
export function ownerOf(project: string): string {
  return `project ${project}`;
}
