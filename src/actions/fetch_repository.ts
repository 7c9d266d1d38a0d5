/**
 * The action `fetch_repository`: fetches the project's repository, so that later actions of the
 * same run have the newest commits. It makes no object.
 *
 * @module
 */
import { z } from "zod";
import type { ActionContext, ActionKind } from "./action.ts";
import { commonFields } from "./values.ts";

const schema = z.strictObject({ type: z.literal("fetch_repository"), ...commonFields });

/** The kind `fetch_repository`. */
export const fetchRepository = {
  type: "fetch_repository",
  schema,
  async perform(_settings: unknown, { project, projects, signal }: ActionContext) {
    await projects.fetch(project, signal, { lists: false });
    return undefined;
  },
} satisfies ActionKind<z.infer<typeof schema>>;
