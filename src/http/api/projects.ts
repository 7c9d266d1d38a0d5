/**
 * `/api/v0/projects/`: reading and changing projects, and fetching their repositories.
 *
 * @module
 */
import { STATUS_CODE } from "@std/http/status";
import { z } from "zod";
import { parseProject, projectSchema } from "../../config/project.ts";
import { ConflictError, InvalidInputError, NotFoundError } from "../../platform/errors.ts";
import { nameSchema } from "../../projects/name_schema.ts";
import type { FetchResult } from "../../projects/projects.ts";
import {
  deleteProject,
  getProject,
  listProjects,
  type Project,
  putProject,
} from "../../store/records/projects.ts";
import type { Store } from "../../store/store.ts";
import { answer, input, page, text } from "./answer.ts";
import { operation } from "./operation.ts";
import type { Operator } from "./operator.ts";
import { wholeListAnswer } from "./page_answer.ts";
import { projectQuery } from "./queries.ts";

// A stored project is what its schema let through.
const project = answer<z.output<typeof projectSchema>>()("Project", projectSchema.clone());

const fetchResult = answer<FetchResult>()(
  "FetchResult",
  z.object({
    branches: z.record(text, text).describe("The commit at the tip of each branch"),
  }),
);

/** JSON Schema of a rule that the schema checks in code. */
const ONE_SOURCE = { oneOf: [{ required: ["repository"] }, { required: ["directory"] }] };

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
      const keyOf = ({ name }: Project) => name;
      const all = await listProjects(api.store);
      return wholeListAnswer(context, api.baseUrl(), all, { ...query, keyOf });
    },
  }),
  operation({
    id: "createProject",
    method: "post",
    path: "/projects/",
    summary: "Create a project",
    body: projectInput,
    answers: {
      201: { schema: project, headers: { Location: "The address of the new project" } },
    },
    async perform({ api: { store, triggers, baseUrl }, context, body }) {
      const made = parseProject(body);
      await triggers.between(async () => {
        if (await getProject(store, made.name)) {
          throw new ConflictError(`Cannot create the project: another is named "${made.name}"`);
        }
        await putProject(store, made);
      });
      return context.json(made, STATUS_CODE.Created, {
        location: `${baseUrl()}/api/v0/projects/${made.name}/`,
      });
    },
  }),
  operation({
    id: "getProject",
    method: "get",
    path: "/projects/{name}/",
    summary: "Read a project",
    answers: { 200: { schema: project } },
    async perform({ api, context, params: { name } }) {
      return context.json(await existing(api.store, name));
    },
  }),
  operation({
    id: "putProject",
    method: "put",
    path: "/projects/{name}/",
    summary: "Create or replace a project",
    body: namedProjectInput,
    answers: { 200: { schema: project }, 201: { description: "Created", schema: project } },
    async perform({ api: { store, triggers }, context, params: { name }, body }) {
      const made = parseProject(
        isObject(body) ? { ...body, name: body.name ?? name } : body,
      );
      if (made.name !== name) {
        throw new InvalidInputError("the project", [{
          pointer: "/name",
          detail: `Expected "${name}", found "${made.name}": a project keeps its name`,
        }]);
      }
      const isNew = await triggers.between(async () => {
        const before = await getProject(store, name);
        await putProject(store, made);
        return before === undefined;
      });
      return context.json(made, isNew ? STATUS_CODE.Created : STATUS_CODE.OK);
    },
  }),
  operation({
    id: "deleteProject",
    method: "delete",
    path: "/projects/{name}/",
    summary: "Delete a project",
    answers: { 204: {} },
    async perform({ api, context, params: { name } }) {
      await existing(api.store, name);
      // Between changes of triggers: none can begin to use the project before it is removed.
      const removeFiles = await api.triggers.between(async () => {
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
    answers: { 201: { schema: fetchResult } },
    async perform({ api, context, params: { name } }) {
      const project = await existing(api.store, name);
      return context.json(await api.projects.fetch(project), STATUS_CODE.Created);
    },
  }),
];

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

async function existing(store: Store, name: string): Promise<Project> {
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
