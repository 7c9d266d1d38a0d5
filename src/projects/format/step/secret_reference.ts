/**
 * References in the defaults of a step: `{secret:NAME}` and `{secret-file:NAME}` name a secret of the project. Those
 * to variables and files of the service have no meaning in a project configuration file.
 *
 * @module
 */
import type { Problem } from "../../../platform/errors.ts";
import type { ExecutionSecret } from "../../../store/records/executions.ts";
import { EXPECTED_NAME, NAME } from "../../name.ts";

const SECRET = /^\{(secret|secret-file):([^{}]*)\}$/;
const ELSEWHERE = /^\{(?:env|file):[^{}]*\}$/;

/** Reads a reference to a secret; undefined for any other text. */
export function secretReference(text: string): ExecutionSecret | undefined {
  const [, kind, name] = SECRET.exec(text) ?? [];
  if (name === undefined) return undefined;
  return { name, ...(kind === "secret-file" && { file: true }) };
}

/** Says what is wrong with a reference to a secret; undefined where nothing is. */
export function referenceProblem(text: string): string | undefined {
  const reference = secretReference(text);
  if (reference === undefined || NAME.test(reference.name)) return undefined;
  return `Expected the name of a secret in ${text}. ${EXPECTED_NAME}`;
}

/** Returns the default of a variable or a parameter, if it is one: a reference is no text for a command. */
export function plainDefault<T>(written: T): T | undefined {
  const isText = typeof written === "string";
  return isText && (ELSEWHERE.test(written) || SECRET.test(written)) ? undefined : written;
}

/**
 * Returns warnings about the default of a variable or a parameter that is left out, with pointers into the item.
 *
 * @param list the list that has the item
 */
export function defaultWarnings(list: string, written: unknown): Problem[] {
  const warn = (detail: string) => [{ pointer: "/default", detail }];
  if (typeof written !== "string") return [];
  if (ELSEWHERE.test(written)) {
    return warn(
      `Left out, so there is no default: ${written} is not read here. A secret of the project is ` +
        "{secret:NAME}, in the default of an environment variable",
    );
  }
  if (list !== "environment-variables" && SECRET.test(written)) {
    return warn(
      `Left out, so there is no default: ${written} belongs in an environment variable`,
    );
  }
  if (/\{(?:secret|secret-file):[^{}]*\}/.test(written) && !SECRET.test(written)) {
    return warn("Stays as it is: a reference to a secret must be all of the default");
  }
  return [];
}
