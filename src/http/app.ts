/**
 * Every route of the service, on one page.
 *
 * @module
 */
import { type Context, Hono } from "@hono/hono";
import { STATUS_CODE } from "@std/http/status";
import type { Metrics } from "../metrics.ts";
import { requireToken } from "./api/auth.ts";
import { DOCS_HEADERS, docsPage } from "./api/docs.ts";
import { executionRoutes } from "./api/executions.ts";
import { openApiDocument } from "./api/openapi.ts";
import type { Operator } from "./api/operator.ts";
import { pipelineRoutes } from "./api/pipelines.ts";
import { projectRoutes } from "./api/projects.ts";
import { runRoutes } from "./api/runs.ts";
import { tokenRoutes } from "./api/tokens.ts";
import { triggerRoutes } from "./api/triggers.ts";
import type { Door } from "./door.ts";
import { launchHandler } from "./launch.ts";
import { problem, problemOfError, unavailable } from "./problem.ts";
import { runInfoHandler } from "./run_info.ts";

/** What the routes work with. */
export interface AppParts {
  door: Door;
  operator: Operator;
  /** `HOOKLAUNCH_ADMIN_TOKEN`, if set. */
  adminToken: string | undefined;
  metrics: Pick<Metrics, "text">;
  /** Whether a launch could be accepted now. */
  isReady(): Promise<boolean>;
}

/** Makes the application. Every path answers with or without a slash at its end, never by redirect. */
export function createApp(parts: AppParts): Hono {
  const { door, operator, adminToken, metrics, isReady } = parts;
  const app = new Hono({ strict: false });

  app.all("/api/v0/launch/:trigger_id", launchHandler(door));
  app.all("/api/v0/launch/:trigger_id/run", runInfoHandler(door));

  app.get("/healthz", (context) => context.text("ok\n"));
  app.use(async function requireHttps(context, next) {
    if (door.peerOf(context).secure) return await next();
    return httpsRequired();
  });
  app.all("/api/v0/launch/*", () => problem(STATUS_CODE.NotFound));
  app.get("/readyz", async (context) => await isReady() ? context.text("ready\n") : unavailable(5));
  app.get("/api/v0/openapi.json", (context) => context.json(openApiDocument(operator.baseUrl())));
  app.get(
    "/api/v0/docs",
    (context) => context.html(docsPage(operator.baseUrl()), 200, DOCS_HEADERS),
  );

  const token = requireToken(operator.store, adminToken);
  app.get("/metrics", token, async (context) => {
    const { body, contentType } = await metrics.text();
    return context.body(body, 200, { "content-type": contentType });
  });
  app.use("/api/v0/*", token);
  app.route("/api/v0/triggers", triggerRoutes(operator));
  app.route("/api/v0/runs", runRoutes(operator));
  app.route("/api/v0/projects", projectRoutes(operator));
  app.route("/api/v0/executions", executionRoutes(operator, { closing: door.closing }));
  app.route("/api/v0/pipelines", pipelineRoutes(operator));
  app.route("/api/v0/tokens", tokenRoutes(operator, adminToken !== undefined));

  app.notFound(() => problem(STATUS_CODE.NotFound));
  app.onError((error: Error, _context: Context) => problemOfError(error));
  return app;
}

function httpsRequired(): Response {
  return problem(STATUS_CODE.Forbidden, {
    detail:
      "HTTPS is required: serve TLS with --tls-cert and --tls-key, name the proxy that does " +
      "with --trusted-proxy, or use --dev to try things out on this machine",
  });
}
