/**
 * The console: pages for operators, made on the server. Lists every page.
 *
 * @module
 */
import { Hono } from "@hono/hono";
import { STATUS_CODE } from "@std/http/status";
import { methodNotAllowed } from "../problem.ts";
import { ASSET_HEADERS, ASSETS } from "./assets.ts";
import { Console } from "./console.ts";
import { accessRoutes } from "./pages/access.tsx";
import { attentionRoutes } from "./pages/attention.tsx";
import { deliveriesRoutes } from "./pages/deliveries.tsx";
import { deliveryRoutes } from "./pages/delivery.tsx";
import { deviceRoutes } from "./pages/device.tsx";
import { enginesRoutes } from "./pages/engines.tsx";
import { executionRoutes } from "./pages/execution.tsx";
import { executionsRoutes } from "./pages/executions.tsx";
import { instancesRoutes } from "./pages/instances.tsx";
import { notificationRoutes } from "./pages/notification.tsx";
import { notificationsRoutes } from "./pages/notifications.tsx";
import { overviewRoutes } from "./pages/overview.tsx";
import { passkeyRoutes } from "./pages/passkeys.tsx";
import { payloadsRoutes } from "./pages/payloads.tsx";
import { pipelineRoutes } from "./pages/pipeline.tsx";
import { pipelinesRoutes } from "./pages/pipelines.tsx";
import { projectRoutes } from "./pages/project.tsx";
import { projectsRoutes } from "./pages/projects.tsx";
import { replaysRoutes } from "./pages/replays.tsx";
import { retentionRoutes } from "./pages/retention.tsx";
import { settingsRoutes } from "./pages/settings.tsx";
import { triggerRoutes } from "./pages/trigger.tsx";
import { editTriggerRoutes } from "./pages/trigger_edit.tsx";
import { newTriggerRoutes } from "./pages/trigger_new.tsx";
import { triggersRoutes } from "./pages/triggers.tsx";
import type { ConsoleParts } from "./parts.ts";
import type { Route } from "./route.ts";

/** Every page. */
export const ROUTES: readonly Route[] = [
  ...overviewRoutes,
  ...attentionRoutes,
  ...deliveriesRoutes,
  ...deliveryRoutes,
  ...replaysRoutes,
  ...triggersRoutes,
  ...newTriggerRoutes,
  ...triggerRoutes,
  ...editTriggerRoutes,
  ...payloadsRoutes,
  ...executionsRoutes,
  ...executionRoutes,
  ...pipelinesRoutes,
  ...pipelineRoutes,
  ...projectsRoutes,
  ...projectRoutes,
  ...enginesRoutes,
  ...instancesRoutes,
  ...notificationsRoutes,
  ...notificationRoutes,
  ...accessRoutes,
  ...passkeyRoutes,
  ...deviceRoutes,
  ...settingsRoutes,
  ...retentionRoutes,
];

/** Makes the routes of the console. */
export function consoleRoutes(parts: ConsoleParts): Hono {
  const app = new Hono({ strict: false });
  const console = new Console(parts, ROUTES);
  for (const { address, content, type } of Object.values(ASSETS)) {
    app.get(
      `/${address}`,
      (context) => context.body(content, 200, { ...ASSET_HEADERS, "content-type": type }),
    );
  }
  app.get("/login", (context) => console.showLogin(context));
  app.post("/login", (context) => console.logIn(context));
  app.get("/login/passkey", (context) => console.beginPasskeyLogin(context));
  app.post("/login/passkey", (context) => console.logInWithPasskey(context));
  app.get("/login/callback", (context) => console.completeLogin(context));
  app.get(
    "/login/with/:provider",
    (context) => console.beginLogin(context, context.req.param("provider")),
  );
  app.post("/logout", (context) => console.logOut(context));
  for (const route of ROUTES) {
    const { path, show, answer, submit } = route;
    if (show) app.get(path, (context) => console.show(context, route));
    if (answer) app.get(path, (context) => console.answer(context, route));
    if (submit) app.post(path, (context) => console.submit(context, route));
    if (submit && !show) app.get(path, (context) => console.toPage(context, pageAbove(path)));
    app.all(path, () => methodNotAllowed(methodsOf(route)));
  }
  app.notFound((context) => console.fail(context, STATUS_CODE.NotFound, "There is no such page"));
  app.onError((error, context) => console.failed(context, error));
  return app;
}

/** Returns the path of the nearest page above a path that only takes a form. */
function pageAbove(path: string): string {
  const above = path.slice(0, path.lastIndexOf("/"));
  const isPage = ROUTES.some(({ path, show }) => show && unnamed(path) === unnamed(above));
  return isPage ? above : pageAbove(above);
}

/** Leaves out the names of a path's parameters: a page and its forms may name them differently. */
function unnamed(path: string): string {
  return path.replaceAll(/:\w+/g, ":");
}

function methodsOf({ submit }: Route): string {
  return submit ? "GET, HEAD, POST" : "GET, HEAD";
}
