/**
 * The operators' endpoints, below `/api/v0`.
 *
 * @module
 */
import { Hono } from "@hono/hono";
import { methodNotAllowed as refuseOtherMethods } from "@hono/hono/method-not-allowed";
import { NotFoundError } from "../../platform/errors.ts";
import { methodNotAllowed } from "../problem.ts";
import type { TokenCheck } from "./auth.ts";
import { executionRoutes } from "./executions.ts";
import type { Operator } from "./operator.ts";
import { pipelineRoutes } from "./pipelines.ts";
import { projectRoutes } from "./projects.ts";
import { runRoutes } from "./runs.ts";
import { tokenRoutes } from "./tokens.ts";
import { triggerRoutes } from "./triggers.ts";

/** All ids and names are shorter, and the database refuses to look for much longer ones. */
const NAME_LENGTH_MAX = 256;

/** What the endpoints are told. */
export interface ApiOptions {
  /** Aborted when the service begins to stop: ends what is being followed. */
  closing: AbortSignal;
  /** Whether `HOOKLAUNCH_ADMIN_TOKEN` is set. */
  hasEnvironmentToken: boolean;
  /** Whether a token is known: one that somebody came with may have been revoked since. */
  isKnownToken: TokenCheck;
}

/** The routes that need an operator's token. */
export function operatorRoutes(
  operator: Operator,
  { closing, hasEnvironmentToken, isKnownToken }: ApiOptions,
): Hono {
  const api = new Hono({ strict: false });
  return api
    .use(refuseOtherMethods({
      app: api,
      onMethodNotAllowed: (_context, methods) => methodNotAllowed(methods.join(", ")),
    }))
    .use("/:kind/:name/*", async function refuseLongNames(context, next) {
      const { length } = context.req.param("name");
      if (length <= NAME_LENGTH_MAX) return await next();
      throw new NotFoundError(`There is nothing of a name or an id of ${length} characters`);
    })
    .route("/triggers", triggerRoutes(operator))
    .route("/runs", runRoutes(operator))
    .route("/projects", projectRoutes(operator))
    .route("/executions", executionRoutes(operator, { closing, isKnownToken }))
    .route("/pipelines", pipelineRoutes(operator))
    .route("/tokens", tokenRoutes(operator, hasEnvironmentToken));
}
