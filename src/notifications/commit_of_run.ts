/**
 * The commit that a run is about, as the payload of its launch names it.
 *
 * @module
 */
import { sourcesIn } from "../conditions/values/compile.ts";
import type { EvaluateValues } from "../conditions/values/evaluate.ts";
import { fill } from "../conditions/values/fill.ts";
import type { JsonOrProblem } from "../conditions/values/json.ts";
import { isShortage, messageOf } from "../platform/errors.ts";
import { truncate } from "../platform/text/display.ts";
import type { CommitState, CommitStatus } from "../store/records/commit_statuses.ts";
import { codeHost, type StatusSettings } from "./targets/commit_statuses.ts";

/** SHA-1 or SHA-256. Zeros stand for no commit, such as that of a branch that was deleted. */
const SHA = /^(?!0+$)(?:[0-9a-f]{40}|[0-9a-f]{64})$/;
const CONTEXT_LENGTH_MAX = 100;
/** GitHub takes 140 characters: with the sign of what was cut off. */
const DESCRIPTION_LENGTH_MAX = 139;

/** A commit, and the name and the words of the status that it gets. */
type Commit = Pick<CommitStatus, "repository" | "sha" | "context" | "description">;

/** A field of a commit: its own template, or where a webhook has it. */
interface Field {
  name: "repository" | "sha" | "context";
  template: string | undefined;
  places: readonly string[];
  isValid(text: string): boolean;
  expected: string;
}

/**
 * Returns the commit that a run is about; undefined when it is about none, a text when that cannot be known.
 *
 * @throws a shortage, such as of the store that has the run's payload: it is read later
 */
export async function commitOf(
  settings: StatusSettings,
  { trigger, state }: { trigger: string; state: CommitState },
  evaluate: EvaluateValues,
): Promise<Commit | undefined | string> {
  const host = codeHost(settings.type);
  if (host === undefined) return `this version knows no ${settings.type}`;
  const { sha, repository, context } = settings;
  const description = settings.description?.[state];
  const fields: Field[] = [
    {
      name: "sha",
      template: sha,
      places: host.sha,
      isValid: (text) => SHA.test(text),
      expected: "40 or 64 hexadecimal digits",
    },
    {
      name: "repository",
      template: repository,
      places: host.repository,
      isValid: (text) => host.isRepository.test(text),
      expected: "a repository such as acme/digits",
    },
    {
      name: "context",
      template: context ?? `hooklaunch/${trigger}`.replaceAll("{", "{{"),
      places: [],
      isValid: (text) => text.length <= CONTEXT_LENGTH_MAX && !/\p{Cc}/u.test(text),
      expected: `at most ${CONTEXT_LENGTH_MAX} characters in one line`,
    },
  ];
  const sources = fields.map(({ template, places }) =>
    template === undefined ? [...places] : sourcesIn(template)
  );
  const described = description === undefined ? [] : sourcesIn(description);
  try {
    const { values, credentials: [credential] = [] } = await evaluate({
      sources: [...sources.flat(), ...described],
    });
    if (credential !== undefined) return `{${credential}} reads a credential, which is not told`;
    const found: Partial<Commit> = {};
    for (const [index, field] of fields.entries()) {
      const own = values.splice(0, sources[index]?.length ?? 0);
      const value = field.template === undefined ? firstOf(field, own) : filled(field, own);
      if (value === undefined || "problem" in value) return value?.problem;
      found[field.name] = value.text;
    }
    const { sha = "", repository = "", context = "" } = found;
    return { sha, repository, context, ...description !== undefined && words(description, values) };
  } catch (error) {
    if (isShortage(error)) throw error;
    return messageOf(error);
  }
}

/** Returns the first value that may be the field's; undefined when the payload has none. */
function firstOf(
  { isValid }: Field,
  values: readonly JsonOrProblem[],
): { text: string } | undefined {
  for (const value of values) {
    const text = "json" in value ? textOf(value.json) : undefined;
    if (text !== undefined && isValid(text)) return { text };
  }
  return undefined;
}

/** Returns the text of a template; undefined when it is empty. */
function filled(
  { name, template = "", isValid, expected }: Field,
  values: readonly JsonOrProblem[],
): { text: string } | { problem: string } | undefined {
  const { value, problems: [problem] } = fill(template, values);
  if (problem !== undefined) {
    return { problem: `${name}: ${problem.detail}. Where there is none, let it be empty` };
  }
  if (value === null || value === "") return undefined;
  const text = textOf(value);
  if (text !== undefined && isValid(text)) return { text };
  const shown = truncate(JSON.stringify(value), CONTEXT_LENGTH_MAX);
  return { problem: `${name}: expected ${expected}, found ${shown}` };
}

/** Returns the words of a status; the usual ones stand where they have no value: the state counts. */
function words(template: string, own: readonly JsonOrProblem[]): Pick<Commit, "description"> {
  const { value, problems } = fill(template, own);
  const text = textOf(value)?.replaceAll(/[\s\p{Cc}]+/gu, " ").trim() ?? "";
  if (problems.length > 0 || text === "") return {};
  return { description: truncate(text, DESCRIPTION_LENGTH_MAX) };
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" || typeof value === "number" ? String(value) : undefined;
}
