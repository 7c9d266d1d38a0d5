/**
 * `/api/v0/projects/`: the projects.
 *
 * @module
 */
import { type Context, Hono } from "@hono/hono";
import { STATUS_CODE } from "@std/http/status";
import { ConflictError, InvalidInputError, NotFoundError } from "../../platform/errors.ts";
import { parseProject } from "../../config/project.ts";
import {
  deleteProject,
  getProject,
  listProjects,
  type Project,
  putProject,
} from "../../store/records/projects.ts";
import { readJson } from "./input.ts";
import { wholeListAnswer } from "./page_answer.ts";
import type { Operator } from "./operator.ts";

/** The routes below `/api/v0/projects`. */
export function projectRoutes(operator: Operator): Hono {
  const { store, projects, triggers, baseUrl } = operator;
  const found = async (context: Context): Promise<Project> => {
    const name = context.req.param("name") ?? "";
    const project = await getProject(store, name);
    if (project === undefined) throw new NotFoundError(`There is no project "${name}"`);
    return project;
  };

  return new Hono({ strict: false })
    .get(
      "/",
      async (context) =>
        wholeListAnswer(context, baseUrl(), await listProjects(store), ({ name }) => name),
    )
    .post("/", async (context) => {
      const project = parseProject(await readJson(context, operator.bodies));
      await triggers.between(async () => {
        if (await getProject(store, project.name)) {
          throw new ConflictError(`Cannot create the project: another is named "${project.name}"`);
        }
        await putProject(store, project);
      });
      return context.json(project, STATUS_CODE.Created, {
        location: `${baseUrl()}/api/v0/projects/${project.name}/`,
      });
    })
    .get("/:name", async (context) => context.json(await found(context)))
    .put("/:name", async (context) => {
      const name = context.req.param("name");
      const project = parseProject(await readJson(context, operator.bodies));
      if (project.name !== name) {
        throw new InvalidInputError("the project", [{
          pointer: "/name",
          detail: `Expected "${name}", found "${project.name}": a project keeps its name`,
        }]);
      }
      const isNew = await triggers.between(async () => {
        const before = await getProject(store, name);
        await putProject(store, project);
        return before === undefined;
      });
      return context.json(project, isNew ? STATUS_CODE.Created : STATUS_CODE.OK);
    })
    .delete("/:name", async (context) => {
      const { name } = await found(context);
      // No trigger comes to use it between the look and the removal, and no project of its name is made.
      const remove = await triggers.between(async () => {
        const user = await userOf(operator, name);
        if (user !== undefined) {
          throw new ConflictError(`Cannot delete the project "${name}": trigger "${user}" uses it`);
        }
        await deleteProject(store, name);
        return await projects.forget(name);
      });
      await remove();
      return context.body(null, STATUS_CODE.NoContent);
    })
    .post("/:name/fetch", async (context) => {
      const project = await found(context);
      return context.json(await projects.fetch(project), STATUS_CODE.Created);
    });
}

/** The name of a trigger that uses a project. */
async function userOf({ triggers }: Operator, project: string): Promise<string | undefined> {
  for await (const trigger of triggers.all()) {
    if (trigger.project === project) return trigger.name;
  }
  return undefined;
}
