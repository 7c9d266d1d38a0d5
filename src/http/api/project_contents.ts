/**
 * `/api/v0/projects/<name>/contents/`: the steps and pipelines that a project declares now, and the problems of its
 * configuration file.
 *
 * @module
 */
import { z } from "zod";
import {
  ActionError,
  InvalidInputError,
  NotFoundError,
  type Problem,
} from "../../platform/errors.ts";
import { engineLeavesOut } from "../../engines/mod.ts";
import { missingSecrets } from "../../projects/missing_secrets.ts";
import type { ProjectConfig } from "../../projects/mod.ts";
import { getProject, type Project } from "../../store/records/projects.ts";
import { answer, problem, text } from "./answer.ts";
import { operation } from "./operation.ts";

/** The content of a project's configuration file. */
export interface ProjectContents {
  /** The commit that was read; absent when the repository was never fetched, or cannot be read. */
  commit?: string;
  steps: { name: string; inputs: string[]; parameters: string[] }[];
  pipelines: { name: string; nodes: string[] }[];
  /** The reasons why it cannot be used. */
  problems: readonly Problem[];
  warnings: readonly Problem[];
}

const contents = answer<ProjectContents>()(
  "ProjectContents",
  z.object({
    commit: text.exactOptional().describe(
      "Absent when the repository was never fetched, or cannot be read",
    ),
    steps: z.array(z.object({ name: text, inputs: z.array(text), parameters: z.array(text) })),
    pipelines: z.array(z.object({ name: text, nodes: z.array(text) })),
    problems: z.array(problem).describe("The reasons why the file cannot be used, with lines"),
    warnings: z.array(problem),
  }),
);

/** The operation that lists what a project declares. */
export const projectContentsOperations = [
  operation({
    id: "getProjectContents",
    method: "get",
    answeredBy: "leader",
    path: "/projects/{name}/contents/",
    summary: "List the steps and pipelines of a project, and the problems of its file",
    description: "At the commit of the last fetch, or as the folder is now.",
    answers: { 200: { schema: contents } },
    async perform({ api: { store, projects }, context, params: { name } }) {
      const project = await getProject(store, name);
      if (project === undefined) throw new NotFoundError(`There is no project "${name}"`);
      try {
        const kept = await projects.resolveKept(project, "HEAD");
        return context.json(kept ? shown(kept, project) : withProblems([]));
      } catch (error) {
        if (error instanceof InvalidInputError) return context.json(withProblems(error.problems));
        if (!(error instanceof ActionError)) throw error;
        return context.json(withProblems([{ pointer: "", detail: error.message }]));
      }
    },
  }),
];

function shown(
  { commit, config }: { commit: string; config: ProjectConfig },
  project: Project,
): ProjectContents {
  const { steps, pipelines, warnings } = config;
  return {
    commit,
    steps: Array.from(steps.values(), ({ name, inputs, parameters }) => ({
      name,
      inputs: [...inputs.keys()],
      parameters: [...parameters.keys()],
    })),
    pipelines: Array.from(pipelines.values(), ({ name, nodes }) => ({
      name,
      nodes: [...nodes.keys()],
    })),
    problems: [],
    warnings: [
      ...warnings.map(plain),
      ...steps.size === 0 ? [] : leftOut(project.engine),
      ...missingSecrets(project, config),
    ],
  };
}

/** Returns what the engine does not use: once, and not for each step. */
function leftOut(engine: Project["engine"]): Problem[] {
  return engineLeavesOut(engine).map((detail) => ({ pointer: "", detail }));
}

function withProblems(problems: readonly Problem[]): ProjectContents {
  return { steps: [], pipelines: [], problems: problems.map(plain), warnings: [] };
}

/** Leaves out line and column, which the detail begins with. */
function plain({ pointer, detail }: Problem): Problem {
  return { pointer, detail };
}
