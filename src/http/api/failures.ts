/**
 * `/api/v0/failures/`: what fails now, whichever delivery comes: projects that cannot be fetched or read, and engines
 * that cannot be reached.
 *
 * @module
 */
import { z } from "zod";
import { answer, page, text, time } from "./answer.ts";
import { operation } from "./operation.ts";
import type { Operator } from "./operator.ts";
import { pageAnswer } from "./page_answer.ts";
import { failureQuery } from "./queries.ts";

/** A failure that lasts. */
export interface ShownFailure {
  kind: "fetch" | "file" | "engine";
  /** The project; absent for an engine. */
  project?: string;
  /** The type of the engine; absent for a project. */
  engine?: string;
  /** The projects whose executions run there. */
  projects?: string[];
  since: string;
  detail: string;
}

const failure = answer<ShownFailure>()(
  "Failure",
  z.object({
    kind: z.enum(["fetch", "file", "engine"]).describe(
      "`fetch`: the last fetch of a project failed; `file`: its configuration file at `HEAD` cannot be used; " +
        "`engine`: an engine cannot be reached, or does not start",
    ),
    project: text.exactOptional(),
    engine: text.exactOptional().describe("The type of the engine"),
    projects: z.array(text).exactOptional().describe("Those whose executions run on the engine"),
    since: time.describe("The first failure since it last succeeded"),
    detail: text.describe("The reason of the latest failure"),
  }),
);

/** The operations below `/failures/`. */
export const failureOperations = [
  operation({
    id: "listFailures",
    method: "get",
    answeredBy: "leader",
    path: "/failures/",
    summary: "List what fails now: projects and engines",
    description:
      "A project is here until its next fetch, or the next look at its file, succeeds. An engine is here while " +
      "it is asked about executions, and does not answer.",
    query: failureQuery,
    answers: { 200: { schema: page(failure) } },
    async perform({ api, context, query: { project } }) {
      const all = [...await projectFailures(api), ...engineFailures(api)];
      const found = all.filter((each) => project === undefined || each.project === project);
      return pageAnswer(context, api.baseUrl(), found, undefined);
    },
  }),
];

async function projectFailures({ projectFailures }: Operator): Promise<ShownFailure[]> {
  const all = await projectFailures.list();
  return all.map(({ what, ...failure }) => ({ kind: what, ...failure }));
}

function engineFailures({ engines }: Operator): ShownFailure[] {
  return engines.outages.map(({ engine, projects, since, detail }) => ({
    kind: "engine",
    engine,
    projects: [...projects],
    since,
    detail,
  }));
}
