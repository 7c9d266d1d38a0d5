/**
 * The documentation at `/docs/`: each page as HTML, as Markdown with `.md`, and `llms.txt`, their list. Beside them
 * `schema.json`, the JSON Schema of the configuration file.
 *
 * @module
 */
import { Hono } from "@hono/hono";
import { etag } from "@hono/hono/etag";
import { html } from "@hono/hono/html";
import { STATUS_CODE } from "@std/http/status";
import { INDEX, type Page, SECTIONS } from "../../docs/mod.ts";
import alerts from "../../telemetry/alerts.yaml" with { type: "text" };
import dashboard from "../../telemetry/grafana_dashboard.json" with { type: "text" };
import { navigationOf } from "../console/navigation.ts";
import { methodNotAllowed } from "../problem.ts";
import { layOut } from "./layout.ts";
import { render, type Rendered } from "./markdown.ts";
import look from "../look.css" with { type: "text" };
import style from "./style.css" with { type: "text" };

/** A page runs no script, loads only its style, and shows in no frame. */
const HEADERS = {
  "content-security-policy":
    "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  // A browser asks each time, and mostly gets 304: an upgrade shows at once.
  "cache-control": "no-cache",
};
const MARKDOWN = { "content-type": "text/markdown; charset=utf-8" };
/** The dashboard and the alert rules as the service names them. Pages link to them in the folder of telemetry. */
const DASHBOARD_NAME = "grafana_dashboard.json";
const ALERTS_NAME = "alerts.yaml";
const TELEMETRY = "../telemetry/";
/** The JSON Schema of the configuration file, for editors. */
const SCHEMA_NAME = "schema.json";

const SUMMARY =
  "A self-hosted webhook trigger service: a POST that passes a trigger's conditions " +
  "becomes an input file and launches executions and pipelines.";
/** The page in place of one that is not there. */
export const UNKNOWN: Page = {
  name: "",
  title: "No such page",
  about: "",
  read: () =>
    Promise.resolve({
      default: `# No such page\n\nThere is no page at this address. These are the pages:\n\n${
        links((name) => `${name}.md`)
      }`,
    }),
};
const PAGES = new Map(
  [INDEX, ...SECTIONS.flatMap(({ pages }) => pages)].map((page) => [page.name, page]),
);

/** The parts of the service that the documentation uses. */
interface DocsParts {
  /** The address of the service as seen from outside. */
  baseUrl(): string;
  /** True where several instances can share the database. */
  isShared: boolean;
}

/** Makes the routes below `/docs`. */
export function docsRoutes({ baseUrl, isShared }: DocsParts): Hono {
  const page = pages({ baseUrl, isShared });
  const app = new Hono({ strict: false });
  app.use(etag());
  app.use(async function addHeaders(context, next) {
    await next();
    for (const [name, value] of Object.entries(HEADERS)) context.header(name, value);
  });
  app.get("/", async (context) => context.html(await page(INDEX)));
  app.get(
    "/style.css",
    (context) => context.body(look + style, 200, { "content-type": "text/css" }),
  );
  app.get(
    "/llms.txt",
    (context) => context.text(listOfPages(`${baseUrl().replace(/\/$/, "")}/docs/`)),
  );
  app.get(`/${DASHBOARD_NAME}`, (context) => {
    return context.body(dashboard, 200, { "content-type": "application/json" });
  });
  app.get(`/${ALERTS_NAME}`, (context) => {
    return context.body(alerts, 200, { "content-type": "application/yaml" });
  });
  let schema: Promise<string> | undefined;
  app.get(`/${SCHEMA_NAME}`, async (context) => {
    const text = await (schema ??= schemaText(baseUrl()));
    return context.body(text, 200, { "content-type": "application/schema+json" });
  });
  app.get("/:name", async (context, next) => {
    const [, name = "", extension] = /^(.*?)(\.md)?$/.exec(context.req.param("name")) ?? [];
    const found = PAGES.get(name);
    if (found === undefined) return await next();
    if (extension === undefined) return context.html(await page(found));
    return context.body((await found.read()).default, 200, MARKDOWN);
  });
  app.get("*", async (context) => context.html(await page(UNKNOWN), STATUS_CODE.NotFound));
  app.all("*", () => methodNotAllowed("GET, HEAD"));
  return app;
}

/** Makes the schema of the configuration file. Its parts are those of the operators' API, loaded when it is asked for. */
async function schemaText(baseUrl: string): Promise<string> {
  const { configJsonSchema } = await import("../../config/json_schema.ts");
  return JSON.stringify(configJsonSchema(`${baseUrl.replace(/\/$/, "")}/docs/${SCHEMA_NAME}`));
}

/** Renders each page once: that takes some milliseconds, and anybody may ask. */
function pages({ baseUrl, isShared }: DocsParts): (page: Page) => Promise<string> {
  const made = new Map<Page, Promise<string>>();
  return (page) =>
    made.getOrInsertComputed(
      page,
      () => makePage(page, { path: new URL(baseUrl()).pathname, isShared }),
    );
}

/** @param path the path of the service's own address */
async function makePage(
  page: Page,
  { path, isShared }: { path: string; isShared: boolean },
): Promise<string> {
  // Not relative to the page, whose own address may end with a slash or not.
  const consoleRoot = `${path.replace(/\/$/, "")}/`;
  const root = `${consoleRoot}docs/`;
  const bar = html`
    <a class="brand" href="${consoleRoot}">Hooklaunch</a>
    <nav aria-label="Console">
            ${navigationOf({ isShared }).map(([address, label]) =>
              html`<a href="${consoleRoot}${address}">${label}</a>`
            )}
            <a href="${root}" aria-current="true">Docs</a>
          </nav>
  `;
  return await layOut({ ...await renderPage(page, root), page, bar }, root);
}

/** Renders a page. Its links lead to pages below `root`. */
export async function renderPage(page: Page, root: string): Promise<Rendered> {
  const { default: text } = await page.read();
  return render(text, (href) => addressOf(href, root));
}

/** Turns a link between files of the checkout into the address of the same thing in the service. */
function addressOf(href: string, root: string): string {
  const file = [DASHBOARD_NAME, ALERTS_NAME].find((name) => href === TELEMETRY + name);
  if (file !== undefined) return root + file;
  const [, name, anchor = ""] = /^(\w+)\.md(#.*)?$/.exec(href) ?? [];
  if (name === undefined) return href;
  return name === INDEX.name ? root + anchor : `${root}${name}/${anchor}`;
}

/** Lists the pages below `root` for language models (https://llmstxt.org). */
export function listOfPages(root: string): string {
  return `# Hooklaunch\n\n> ${SUMMARY}\n\n${links((name) => `${root}${name}.md`)}`;
}

function links(addressOf: (name: string) => string): string {
  const line = ({ name, title, about }: Page) => `- [${title}](${addressOf(name)}): ${about}\n`;
  return SECTIONS.map(({ title, pages }) => `## ${title}\n\n${pages.map(line).join("")}`)
    .join("\n");
}
