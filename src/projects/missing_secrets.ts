/**
 * The secrets that steps name and that their project does not have.
 *
 * @module
 */
import type { Problem } from "../platform/errors.ts";
import { quotedList } from "../platform/text/display.ts";
import type { ProjectConfig } from "./format/config_file.ts";
import type { Execution } from "../store/records/executions.ts";
import type { Project } from "../store/records/projects.ts";

/** The project that should have a secret. */
type Owner = Pick<Project, "name" | "secrets">;

/** Says that a project does not have a secret, as a sentence without a full stop. */
export function missingSecret(
  { name: project, secrets = [] }: Owner,
  { name, variable }: { name: string; variable: string },
): string {
  return `The variable ${variable} names the secret "${name}", which project "${project}" does not have: ` +
    `set it (its secrets are ${quotedList(secrets.map((each) => each.name))})`;
}

/** Returns the secrets of a launch that its project does not have, each in words. */
export function missingOf({ secrets = {} }: Pick<Execution, "secrets">, project: Owner): string[] {
  return Object.entries(secrets).flatMap(([variable, { name }]) =>
    project.secrets?.some((each) => each.name === name)
      ? []
      : [missingSecret(project, { name, variable })]
  );
}

/** Returns warnings about the steps of a project that name secrets which it does not have. */
export function missingSecrets(project: Owner, { steps }: Pick<ProjectConfig, "steps">): Problem[] {
  return [...steps.values()].flatMap((step) => {
    const named = [...step.environmentVariables.values()].flatMap(({ name, secret }) =>
      secret === undefined ? [] : [[name, secret] as const]
    );
    return missingOf({ secrets: Object.fromEntries(named) }, project).map((detail) => {
      return { pointer: "/secrets", detail: `Step "${step.name}" cannot run. ${detail}` };
    });
  });
}
