/**
 * Every route of the service. The routes for operators are loaded when an operator asks for one.
 *
 * @module
 */
import { InvalidInputError } from "../platform/errors.ts";
import { pointer } from "../platform/schema/pointer.ts";
import { type Context, Hono, type MiddlewareHandler } from "@hono/hono";
import { STATUS_CODE } from "@std/http/status";
import type { ArtifactStore } from "../artifacts/store.ts";
import type { CallbackParts } from "./callbacks/routes.ts";
import type { JobRoutesParts } from "./jobs/routes.ts";
import type { LoginRoutesParts } from "./login/routes.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import { requireToken, tokenCheck } from "./api/auth.ts";
import type { ApiOptions } from "./api/mod.ts";
import { grantCheck } from "./api/grants.ts";
import type { Operator } from "./api/operator.ts";
import type { ConsoleParts } from "./console/parts.ts";
import { WrongTokens } from "./api/wrong_tokens.ts";
import type { Door } from "./door/door.ts";
import { launchHandler } from "./door/launch.ts";
import { Forwarding, type Leading, type SendToInstance } from "./forward.ts";
import type { Hops } from "./hops.ts";
import { refuseUrl } from "./host_header.ts";
import { isHttp2 } from "./http2.ts";
import { methodNotAllowed, problem, problemOfError, unavailable } from "./problem.ts";
import { runInfoHandler } from "./door/run_info.ts";

/** The parts of the service that routes use. */
interface AppParts {
  door: Door;
  operator: Operator;
  /** `HOOKLAUNCH_ADMIN_TOKEN`, if set. */
  adminToken: string | undefined;
  metrics: Pick<Metrics, "text">;
  jobs: Jobs;
  callbacks: CallbackParts;
  artifacts: Pick<ArtifactStore, "failure">;
  /** Set where several instances share the database. */
  forwarding?: { leading: Leading; hops: Hops; send?: SendToInstance };
  /** Returns whether a launch could be accepted now. */
  isReady(): Promise<boolean>;
  /** Gets what ends when the answer to an operator or an agent has been sent. */
  onAnswering(sent: unknown): void;
  /** Tells whether a request came over plain HTTP. */
  isPlainHttp(context: Context): boolean;
}

/** The first parts of the paths of the console: nothing else loads it. */
const CONSOLE_PATHS = [
  "access",
  "assets",
  "attention",
  "deliveries",
  "engines",
  "executions",
  "instances",
  "login",
  "logout",
  "notifications",
  "pipelines",
  "projects",
  "replays",
  "retention",
  "runs",
  "settings",
  "triggers",
].flatMap((name) => [`/${name}`, `/${name}/*`]);

/** The headers of answers of the API that have no others: no cache keeps them, and no browser guesses their type. */
const PRIVATE = { "cache-control": "no-store", "x-content-type-options": "nosniff" };
/** Browsers that were here once use HTTPS from then on (RFC 6797). */
const HSTS = "max-age=31536000";

/** The parts that the agents of jobs reach. */
export interface Jobs extends Omit<JobRoutesParts, "clock" | "closing"> {
  /** Jobs may use plain HTTP. */
  allowsHttp: boolean;
}

/** Makes the application. Every path answers with and without a slash at its end, never by redirect. */
export function createApp(parts: AppParts): Hono {
  const app = new Hono({ strict: false });
  const { door, operator } = parts;
  app.all("/api/v0/launch/:trigger_id", launchHandler(door));
  app.all("/api/v0/launch/:trigger_id/run", runInfoHandler(door));
  // Behind `notFound`: a path with one handler alone is answered without composing middleware.
  const rest = restRoutes(parts, (request, env) => app.fetch(request, env));
  app.notFound(async (context) => {
    const request = context.req.raw;
    // A download may go on for long after its head.
    // The service passes what Deno tells of a request; the console launches without.
    parts.onAnswering((context.env as Partial<Deno.ServeHandlerInfo> | undefined)?.completed);
    const answer = await rest.fetch(request, context.env);
    if (!request.bodyUsed && isHttp2(request.headers)) await operator.bodies.discard(request);
    return answer;
  });
  app.onError(problemOfError);
  return app;
}

/** Makes the routes that are not for senders. */
function restRoutes(parts: AppParts, launch: ConsoleParts["launch"]): Hono {
  const { door, operator, adminToken, metrics, jobs, artifacts, isReady } = parts;
  const app = new Hono({ strict: false });
  // Probes come from the machine or the cluster itself, and learn nothing but this.
  app.get("/healthz", (context) => context.text("ok\n")).all(onlyGet);
  app.get("/readyz", async (context) => {
    if (!await isReady()) return unavailable(5);
    // Launches with short payloads go on.
    const works = artifacts.failure === undefined;
    return context.text(works ? "ready\n" : "ready, but the artifact store cannot be used now\n");
  }).all(onlyGet);
  app.use(async function requireHttps(context, next) {
    const isOfJob = context.req.path.startsWith("/api/v0/jobs/");
    const { secure } = door.peerOf(context);
    if (!secure && !(isOfJob && jobs.allowsHttp)) return httpsRequired();
    await next();
    // With --dev, a request over plain HTTP counts as secure.
    if (secure && !parts.isPlainHttp(context)) {
      context.header("strict-transport-security", HSTS);
    }
  });
  app.use(async (context, next) => refuseUrl(context.req.raw) ?? await next());
  app.use("/api/v0/*", keepPrivate).use("/metrics", keepPrivate).use("/mcp", keepPrivate);
  const forwarding = forwardingOf(parts);
  const toAny = forwarding?.toAny ?? here;
  const toLeader = forwarding?.toLeader ?? here;
  let ofJobs: Promise<Hono> | undefined;
  app.all("/api/v0/jobs/*", toLeader, async (context) => {
    ofJobs ??= loadJobs({ ...jobs, clock: operator.clock, closing: door.closing });
    return (await ofJobs).fetch(context.req.raw, context.env);
  });
  let callback: Promise<(context: Context) => Promise<Response>> | undefined;
  app.all("/api/v0/callbacks/:id/:token", toLeader, async (context) => {
    callback ??= import("./callbacks/routes.ts").then(({ callbackHandler }) =>
      callbackHandler(parts.callbacks)
    );
    return await (await callback)(context);
  });
  app.all("/api/v0/callbacks/*", () => problem(STATUS_CODE.NotFound));
  app.all("/api/v0/launch/*", () => problem(STATUS_CODE.NotFound));
  const description = described(operator.baseUrl);
  app.get("/api/v0/openapi.json", async (context) => {
    const [name] = Object.keys(context.req.query());
    if (name !== undefined) {
      const detail = `Unknown field "${name}"`;
      throw new InvalidInputError("the query", [{ pointer: pointer(name), detail }]);
    }
    return context.body(await description(), 200, { "content-type": "application/json" });
  }).all(onlyGet);
  app.get("/api/v0/docs", async (context) => {
    const { DOCS_HEADERS, docsPage } = await import("./api/docs.ts");
    return context.html(docsPage(operator.baseUrl()), 200, DOCS_HEADERS);
  }).all(onlyGet);

  let docs: Promise<Hono> | undefined;
  app.all("/docs/*", async (context) => {
    docs ??= loadDocs(operator);
    return (await docs).fetch(context.req.raw, context.env);
  });

  const checkToken = tokenCheck(operator, adminToken);
  const wrongTokens = new WrongTokens(operator.clock);
  const ipOf = (context: Context) => door.peerOf(context).ip;
  const checkGrant = grantCheck(operator, checkToken);
  const token = requireToken({
    check: checkToken,
    checkGrant,
    wrong: wrongTokens,
    ipOf,
    grantOf: ({ req: { raw } }) => parts.forwarding?.hops.grantOf(raw),
  });
  app.get("/metrics", token, async (context) => {
    const { requireUnlimited } = await import("./api/access.ts");
    requireUnlimited(context.get("access"));
    const isOpen = context.req.header("accept")?.includes("application/openmetrics-text");
    const { body, contentType } = await metrics.text(isOpen);
    return context.body(body, 200, { "content-type": contentType });
  }).all(token, onlyGet);
  const hasEnvironmentToken = adminToken !== undefined;
  const options = {
    closing: door.closing,
    hasEnvironmentToken,
    checkGrant,
    ...(forwarding && { elsewhere: forwarding }),
  };
  let logins: Promise<Hono> | undefined;
  app.all("/api/v0/login/*", toLeader, async (context) => {
    logins ??= loadLogins({ ...operator, checkGrant, wrongTokens, ipOf });
    return (await logins).fetch(context.req.raw, context.env);
  });
  let loaded: Promise<Hono> | undefined;
  const api = () => loaded ??= loadApi(operator, options);
  app.all("/api/v0/*", toAny, token, async (context) => {
    return (await api()).fetch(context.req.raw, context.var);
  });

  if (operator.settings.mcp !== false) {
    let mcp: Promise<(context: Context) => Promise<Response>> | undefined;
    app.all("/mcp", toAny, token, async (context) => {
      mcp ??= import("./mcp/routes.ts").then(({ mcpHandler }) =>
        mcpHandler({ ...operator, api, launch })
      );
      return await (await mcp)(context);
    });
  }

  let console: Promise<Hono> | undefined;
  const { isPlainHttp } = parts;
  const toConsole = async (context: Context) => {
    console ??= loadConsole({
      ...operator,
      api,
      dev: operator.settings.dev,
      checkGrant,
      wrongTokens,
      ipOf,
      isPlainHttp,
      launch,
    });
    return (await console).fetch(context.req.raw, context.env);
  };
  app.all("/login/:way/*", toLeader);
  app.on("ALL", ["/", ...CONSOLE_PATHS], forwarding?.pageToAny ?? here, toConsole);

  return answeringErrors(app).notFound((context) => {
    const isForBrowser = !context.req.path.startsWith("/api/") &&
      (context.req.header("accept") ?? "").includes("text/html");
    return isForBrowser ? toConsole(context) : problem(STATUS_CODE.NotFound);
  });
}

/** Returns the ways to other instances; undefined where this one has the database alone. */
function forwardingOf({ forwarding, door }: AppParts): Forwarding | undefined {
  if (forwarding === undefined) return undefined;
  const { leading, hops, ...way } = forwarding;
  const peerOf = (context: Context) => door.peerOf(context);
  return new Forwarding(leading, hops, { clock: door.clock, peerOf, ...way });
}

const here: MiddlewareHandler = (_context, next) => next();

/** Describes the API as JSON. It is made once: that takes a tenth of a second, and anybody may ask. */
function described(baseUrl: () => string): () => Promise<string> {
  let description: Promise<string> | undefined;
  return () =>
    description ??= import("./api/openapi.ts").then(({ openApiDocument }) =>
      JSON.stringify(openApiDocument(baseUrl()))
    );
}

const keepPrivate: MiddlewareHandler = async (context, next) => {
  await next();
  for (const [name, value] of Object.entries(PRIVATE)) {
    if (!context.res.headers.has(name)) context.header(name, value);
  }
};

async function loadApi(operator: Operator, options: ApiOptions): Promise<Hono> {
  const { operatorRoutes } = await import("./api/mod.ts");
  return answeringErrors(
    new Hono({ strict: false }).route("/api/v0", operatorRoutes(operator, options)),
  );
}

async function loadConsole(parts: ConsoleParts): Promise<Hono> {
  const { consoleRoutes } = await import("./console/mod.ts");
  return consoleRoutes(parts);
}

async function loadLogins(parts: LoginRoutesParts): Promise<Hono> {
  const { loginRoutes } = await import("./login/routes.ts");
  const app = new Hono({ strict: false }).route("/api/v0/login", loginRoutes(parts));
  return answeringErrors(app);
}

async function loadJobs(parts: JobRoutesParts): Promise<Hono> {
  const { jobRoutes } = await import("./jobs/routes.ts");
  const app = new Hono({ strict: false });
  return app.route("/api/v0/jobs", jobRoutes(parts)).notFound(() => problem(STATUS_CODE.NotFound));
}

async function loadDocs({ baseUrl, store }: Operator): Promise<Hono> {
  const { docsRoutes } = await import("./docs/routes.ts");
  return answeringErrors(
    new Hono({ strict: false }).route(
      "/docs",
      docsRoutes({ baseUrl, isShared: store.shared !== undefined }),
    ),
  );
}

function answeringErrors(app: Hono): Hono {
  app.notFound(() => problem(STATUS_CODE.NotFound));
  app.onError(problemOfError);
  return app;
}

/** Answers other methods of paths that can only be read. */
function onlyGet(): Response {
  return methodNotAllowed("GET, HEAD");
}

function httpsRequired(): Response {
  return problem(STATUS_CODE.Forbidden, {
    detail:
      "HTTPS is required: serve TLS with --acme, or with --tls-cert and --tls-key, name the proxy that does " +
      "with --trusted-proxy, or use --dev to try things out on this machine",
  });
}
