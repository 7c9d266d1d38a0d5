/**
 * `/api/v0/projects/`: reading and changing projects, and fetching their repositories.
 *
 * @module
 */
import { STATUS_CODE } from "@std/http/status";
import { z } from "zod";
import { namesEngine, parseProject, projectSchema } from "../../config/project.ts";
import {
  ActionError,
  ChangedError,
  ConflictError,
  InvalidInputError,
  NotFoundError,
  type Problem,
} from "../../platform/errors.ts";
import { isObject } from "../../platform/objects.ts";
import { differencesOf } from "../../platform/schema/differences.ts";
import { nameSchema } from "../../projects/name_schema.ts";
import type { FetchResult } from "../../projects/configured_code.ts";
import {
  deleteProject,
  getProject,
  listProjects,
  nextProject,
  type Project,
  projectSettings,
  putProject,
  revisionOf,
} from "../../store/records/projects.ts";
import type { Store } from "../../store/store.ts";
import { savedProjectWarnings } from "../../triggers/save_warnings.ts";
import { answer, count, input, page, problem, text } from "./answer.ts";
import { operation } from "./operation.ts";
import type { Operator } from "./operator.ts";
import { wholeListAnswer } from "./page_answer.ts";
import { projectQuery, saveQuery } from "./queries.ts";
import {
  expectedRevisions,
  IF_MATCH,
  logWarnings,
  REVISION_HEADER,
  revisionHeader,
} from "./revisions.ts";

const project = answer<ShownProject>()(
  "Project",
  z.strictObject({
    ...projectSchema.shape,
    revision: count.describe("The number of times that it was saved"),
    warnings: z.array(problem).exactOptional().describe(
      "In answers to a save: what is not there, such as its folder or its configuration file",
    ),
  }),
);

const fetchResult = answer<FetchResult>()(
  "FetchResult",
  z.object({
    branches: z.record(text, text).describe("The commit at the tip of each branch"),
  }),
);

/** JSON Schema of a rule that the schema checks in code. */
const ONE_SOURCE = {
  // null stands for an absent field.
  oneOf: [
    { required: ["repository"], properties: { repository: { type: "string" } } },
    { required: ["directory"], properties: { directory: { type: "string" } } },
    {
      required: ["config"],
      // Beside a repository it stands in for its file.
      properties: { config: { type: "string" }, repository: { type: "null" } },
    },
  ],
};

const projectInput = {
  schema: input("ProjectInput", projectSchema.meta(ONE_SOURCE)),
  examples: {
    "A git repository": { name: "digits", repository: "https://git.example.com/digits.git" },
    "A folder": { name: "local", directory: "/srv/project" },
  },
};

const namedProjectInput = {
  schema: input(
    "NamedProjectInput",
    z.strictObject({
      ...projectSchema.shape,
      name: nameSchema.optional().describe("The name in the path; it can be left out"),
    }).meta(ONE_SOURCE),
  ),
  examples: { "A folder": { directory: "/srv/project" } },
};

/** The operations below `/projects/`. */
export const projectOperations = [
  operation({
    id: "listProjects",
    method: "get",
    path: "/projects/",
    summary: "List the projects",
    query: projectQuery,
    answers: { 200: { schema: page(project) } },
    async perform({ api, context, query }) {
      const keyOf = ({ name }: ShownProject) => name;
      const all = (await listProjects(api.store)).map((each) => shown(each, api));
      return wholeListAnswer(context, api.baseUrl(), all, { ...query, keyOf });
    },
  }),
  operation({
    id: "createProject",
    method: "post",
    path: "/projects/",
    limitedTokens: "refused",
    summary: "Create a project",
    query: saveQuery,
    body: projectInput,
    answers: {
      200: { description: "With dry_run: nothing is stored", schema: project },
      201: {
        schema: project,
        headers: { Location: "The address of the new project", ...REVISION_HEADER },
      },
    },
    async perform({ api, context, query: { dry_run: isDryRun }, body }) {
      const { store, triggers, baseUrl } = api;
      const made = parseProject(body);
      api.engines.expectUsable(made.engine, namesEngine(made));
      const stored = await triggers.between(async () => {
        if (await getProject(store, made.name)) {
          throw new ConflictError(`Cannot create the project: another is named "${made.name}"`);
        }
        const sealed = api.projectSecrets.sealed(made, undefined);
        return isDryRun
          ? await nextProject(store, undefined, sealed)
          : await putProject(store, sealed);
      });
      const answer = await saved(stored, api, isDryRun);
      if (isDryRun) return context.json(answer);
      return context.json(answer, STATUS_CODE.Created, {
        location: `${baseUrl()}/api/v0/projects/${made.name}/`,
        ...revisionHeader(answer),
      });
    },
  }),
  operation({
    id: "getProject",
    method: "get",
    path: "/projects/{name}/",
    summary: "Read a project",
    answers: { 200: { schema: project, headers: REVISION_HEADER } },
    async perform({ api, context, params: { name } }) {
      const answer = shown(await existingProject(api.store, name), api);
      return context.json(answer, 200, revisionHeader(answer));
    },
  }),
  operation({
    id: "putProject",
    method: "put",
    path: "/projects/{name}/",
    limitedTokens: "refused",
    summary: "Create or replace a project",
    query: saveQuery,
    headers: IF_MATCH,
    body: namedProjectInput,
    answers: {
      200: { schema: project, headers: REVISION_HEADER },
      201: { description: "Created", schema: project, headers: REVISION_HEADER },
    },
    async perform({ api, context, params: { name }, query: { dry_run: isDryRun }, body }) {
      const { store, triggers, projectSecrets } = api;
      const made = parseNamed(name, body);
      api.engines.expectUsable(made.engine, namesEngine(made));
      const expected = expectedRevisions(context);
      // Also `*` expects that there is one.
      const mustExist = context.req.header("if-match") !== undefined;
      const { before, stored } = await triggers.between(async () => {
        const before = await getProject(store, name);
        const sealed = projectSecrets.sealed(made, before);
        const written = projectSecrets.shown(sealed);
        const current = before && projectSecrets.shown(before);
        expectRevision(name, current, { expected, mustExist, written });
        return {
          before,
          stored: isDryRun
            ? await nextProject(store, before, sealed)
            : await putProject(store, sealed),
        };
      });
      const answer = await saved(stored, api, isDryRun);
      const status = before === undefined && !isDryRun ? STATUS_CODE.Created : STATUS_CODE.OK;
      return context.json(answer, status, revisionHeader(answer));
    },
  }),
  operation({
    id: "deleteProject",
    method: "delete",
    path: "/projects/{name}/",
    limitedTokens: "refused",
    summary: "Delete a project",
    headers: IF_MATCH,
    answers: { 204: {} },
    async perform({ api, context, params: { name } }) {
      // Between changes of triggers: none can begin to use the project before it is removed.
      const expected = expectedRevisions(context);
      const removeFiles = await api.triggers.between(async () => {
        expectRevision(name, await existingProject(api.store, name), { expected });
        const user = await userOf(api, name);
        if (user !== undefined) {
          throw new ConflictError(`Cannot delete the project "${name}": trigger "${user}" uses it`);
        }
        await deleteProject(api.store, name);
        return await api.projects.forget(name);
      });
      await removeFiles();
      return context.body(null, STATUS_CODE.NoContent);
    },
  }),
  operation({
    id: "fetchProject",
    method: "post",
    path: "/projects/{name}/fetch/",
    scope: "operate",
    summary: "Fetch a project's repository",
    description: "502 says that the repository cannot be reached or read.",
    answers: { 201: { schema: fetchResult } },
    async perform({ api, context, params: { name } }) {
      const project = await existingProject(api.store, name);
      const fetched = api.projects.fetch(project).catch((error) => {
        // A plain folder has no server that could be at fault.
        const isOwn = project.directory !== undefined && error instanceof ActionError;
        throw isOwn ? new ConflictError(error.message) : error;
      });
      return context.json(await fetched, STATUS_CODE.Created);
    },
  }),
];

/** A project as the API shows it. What is stored of it is what its schema let through. */
export type ShownProject = z.output<typeof projectSchema> & {
  revision: number;
  warnings?: Problem[];
};

function shown(
  project: Project,
  { projectSecrets }: Pick<Operator, "projectSecrets">,
): ShownProject {
  // The schema of the engine is that of its type.
  const masked = projectSecrets.shown(project) as z.output<typeof projectSchema>;
  return { ...masked, revision: revisionOf(project) };
}

/** Shows a project that was just saved, with what is not there, and logs that. */
async function saved(project: Project, api: Operator, isDryRun: boolean): Promise<ShownProject> {
  const warnings = await savedProjectWarnings(project, api);
  if (!isDryRun) logWarnings("project", project.name, warnings);
  return { ...shown(project, api), warnings };
}

/** Reads a project whose name is in the path, and may be in the body. */
function parseNamed(name: string, body: unknown): Project {
  const made = parseProject(isObject(body) ? { ...body, name: body.name ?? name } : body);
  if (made.name === name) return made;
  throw new InvalidInputError("the project", [{
    pointer: "/name",
    detail: `Expected "${name}", found "${made.name}": a project keeps its name`,
  }]);
}

/** @throws {ChangedError} when a project has none of the expected revisions */
function expectRevision(
  name: string,
  project: Project | undefined,
  { expected, mustExist = true, written }: {
    expected: readonly number[] | undefined;
    mustExist?: boolean;
    written?: Project;
  },
): void {
  if (project === undefined && !mustExist) return;
  if (project && (expected?.includes(revisionOf(project)) ?? true)) return;
  const found = project === undefined
    ? "does not exist"
    : `has revision ${revisionOf(project)} by now`;
  throw new ChangedError(
    `Cannot change project "${name}": it ${found}. Read it again, and repeat the change with its ETag`,
    project && written ? differencesOf(projectSettings(project), written) : [],
  );
}

/**
 * Reads a project.
 *
 * @throws {NotFoundError} when no project has this name
 */
export async function existingProject(store: Store, name: string): Promise<Project> {
  const project = await getProject(store, name);
  if (project === undefined) throw new NotFoundError(`There is no project "${name}"`);
  return project;
}

/** Returns the name of a trigger that uses a project. */
async function userOf({ triggers }: Operator, project: string): Promise<string | undefined> {
  for await (const trigger of triggers.all()) {
    if (trigger.project === project) return trigger.name;
  }
  return undefined;
}
