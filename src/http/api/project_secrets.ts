/**
 * `/api/v0/projects/<name>/secrets/`: the secrets that a project's steps may name.
 *
 * @module
 */
import { STATUS_CODE } from "@std/http/status";
import { z } from "zod";
import { parseProject } from "../../config/project.ts";
import { InvalidInputError, NotFoundError, type Problem } from "../../platform/errors.ts";
import { parseInput } from "../../platform/schema/nulls.ts";
import { branchesSchema, secretValueSchema } from "../../project_secrets/schema.ts";
import type { ShownSecret } from "../../project_secrets/settings.ts";
import { type Project, projectSettings, putProject } from "../../store/records/projects.ts";
import { savedSecretWarnings } from "../../triggers/save_warnings.ts";
import { answer, input, page, problem, text } from "./answer.ts";
import { operation } from "./operation.ts";
import type { Operator } from "./operator.ts";
import { wholeListAnswer } from "./page_answer.ts";
import { existingProject } from "./projects.ts";
import { projectQuery } from "./queries.ts";
import { logWarnings } from "./revisions.ts";

const secret = answer<ShownSecret & { warnings?: Problem[] }>()(
  "ProjectSecret",
  z.object({
    name: text,
    value: text.describe("{env:NAME} or {file:PATH}, or ******** for a literal"),
    branches: z.array(text).exactOptional().describe(
      "The branches whose commits get it; the default branch when absent",
    ),
    fingerprint: text.exactOptional().describe(
      "Tells a literal from others of the project; absent when it cannot be decrypted",
    ),
    warnings: z.array(problem).exactOptional().describe("In answers to a save"),
  }),
);

const secretSettings = z.strictObject({
  value: secretValueSchema,
  branches: branchesSchema.exactOptional(),
});

const secretInput = {
  schema: input("ProjectSecretInput", secretSettings),
  examples: {
    "A literal": { value: "hf_AbCdEfGhIjKlMnOp" },
    "In a file of the service, for releases, too": {
      value: "{file:/run/secrets/registry}",
      branches: ["main", "release/*"],
    },
  },
};

/** The operations on the secrets of projects. */
export const projectSecretOperations = [
  operation({
    id: "listProjectSecrets",
    method: "get",
    path: "/projects/{name}/secrets/",
    summary: "List a project's secrets, without their values",
    query: projectQuery,
    answers: { 200: { schema: page(secret) } },
    async perform({ api, context, params, query }) {
      const project = await existingProject(api.store, params.name);
      const { secrets = [] } = api.projectSecrets.shown(project);
      const keyOf = ({ name }: ShownSecret) => name;
      return wholeListAnswer(context, api.baseUrl(), secrets, { ...query, keyOf });
    },
  }),
  operation({
    id: "putProjectSecret",
    method: "put",
    path: "/projects/{name}/secrets/{secret}/",
    limitedTokens: "refused",
    summary: "Set a secret of a project",
    description:
      "Executions that start from then on get it. Those that run keep what they have got. It replaces the secret of " +
      "this name: without `branches`, it is for the default branch again.",
    body: secretInput,
    answers: {
      200: { schema: secret },
      201: { description: "Created", schema: secret },
    },
    async perform({ api, context, params: { name, secret: secretName }, body }) {
      const settings = parseSecret(body);
      const { before, after } = await change(api, name, (secrets) => [
        ...secrets.filter((each) => each.name !== secretName),
        { name: secretName, ...settings },
      ]);
      const shown = api.projectSecrets.shown(after).secrets?.find(isNamed(secretName));
      const index = after.secrets?.findIndex(isNamed(secretName)) ?? -1;
      const warnings = savedSecretWarnings(after, index, api);
      logWarnings("project", name, warnings);
      const isNew = before.secrets?.some(isNamed(secretName)) !== true;
      return context.json({ ...shown, warnings }, isNew ? STATUS_CODE.Created : STATUS_CODE.OK);
    },
  }),
  operation({
    id: "deleteProjectSecret",
    method: "delete",
    path: "/projects/{name}/secrets/{secret}/",
    limitedTokens: "refused",
    summary: "Remove a secret of a project",
    description:
      "Executions that name it fail from then on. Those that run keep what they have got.",
    answers: { 204: {} },
    async perform({ api, context, params: { name, secret: secretName } }) {
      await change(api, name, (secrets) => {
        const left = secrets.filter((each) => each.name !== secretName);
        if (left.length < secrets.length) return left;
        throw new NotFoundError(`There is no secret "${secretName}" in project "${name}"`);
      });
      return context.body(null, STATUS_CODE.NoContent);
    },
  }),
];

/** Reads a secret. It has the name that lets errors leave out what was found. */
function parseSecret(body: unknown): z.output<typeof secretSettings> {
  try {
    const named = z.strictObject({ secret: secretSettings });
    return parseInput(named, { secret: body }, "the secret").secret;
  } catch (error) {
    if (!(error instanceof InvalidInputError)) throw error;
    const problems = error.problems.map(({ pointer, detail }) => {
      return { pointer: pointer.replace(/^\/secret/, ""), detail };
    });
    throw new InvalidInputError("the secret", problems);
  }
}

/** Changes the secrets of a project, which the change sees masked. */
async function change(
  { store, triggers, projectSecrets }: Operator,
  name: string,
  edit: (secrets: readonly ShownSecret[]) => readonly ShownSecret[],
): Promise<{ before: Project; after: Project }> {
  return await triggers.between(async () => {
    const before = await existingProject(store, name);
    const { secrets = [], ...settings } = projectSettings(projectSecrets.shown(before));
    const made = parseProject({ ...settings, secrets: edit(secrets) });
    return { before, after: await putProject(store, projectSecrets.sealed(made, before)) };
  });
}

function isNamed(name: string): (secret: { name: string }) => boolean {
  return (secret) => secret.name === name;
}
