/**
 * `deno task docs:site [FOLDER]`: writes the documentation as static files, for any web server.
 *
 * Each page is a folder with an `index.html`, so links are the same as in the service. All links are relative:
 * the site may lie at any path.
 *
 * @module
 */
import { html } from "@hono/hono/html";
import { dirname, join, resolve } from "node:path";
import config from "../../../deno.json" with { type: "json" };
import { INDEX, type Page, SECTIONS } from "../../docs/mod.ts";
import { layOut } from "../../http/docs/layout.ts";
import { docsRoutes, listOfPages, renderPage, UNKNOWN } from "../../http/docs/routes.ts";
import { run } from "../run.ts";
import { entriesOf } from "./search_entries.ts";
import style from "./site.css" with { type: "text" };

/** Files that the service has at the same addresses. */
const SERVED = ["style.css", "alerts.yaml", "grafana_dashboard.json", "schema.json"];
/** A page runs the search alone, and loads nothing from elsewhere. */
const POLICY =
  "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'";
const SEARCH = "src/packaging/site/search.js";
const BUNDLE = [
  "bundle",
  "--quiet",
  "--platform=browser",
  "--minify",
  "--lock=deno.lock",
  "--frozen",
];

/** Writes the site into a folder, which is replaced. Returns the number of its pages. */
async function writeSite(folder: string): Promise<number> {
  await Deno.remove(folder, { recursive: true }).catch((error) => {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  });
  const write = async (path: string, text: string): Promise<void> => {
    await Deno.mkdir(dirname(join(folder, path)), { recursive: true });
    await Deno.writeTextFile(join(folder, path), text);
  };
  const service = docsRoutes({ baseUrl: () => "https://example.com", isShared: true });
  const pages = SECTIONS.flatMap((section) => section.pages);
  const entries: unknown[] = [];
  for (const page of pages) {
    await write(`${page.name}/index.html`, await htmlOf(page, "../"));
    await write(`${page.name}.md`, (await page.read()).default);
    entries.push(...entriesOf(page, (await renderPage(page, "")).html));
  }
  await write("index.html", await htmlOf(INDEX, "./"));
  await write(`${INDEX.name}.md`, (await INDEX.read()).default);
  // A web server shows it at any address: only an absolute path would lead back from there.
  await write("404.html", await htmlOf(UNKNOWN, "/"));
  await write("llms.txt", listOfPages(""));
  for (const name of SERVED) await write(name, await (await service.request(`/${name}`)).text());
  await write("site.css", style);
  await run("deno", [...BUNDLE, `--output=${join(folder, "search.js")}`, SEARCH]);
  await write("search.json", JSON.stringify(entries));
  return pages.length;
}

async function htmlOf(page: Page, root: string): Promise<string> {
  const head = html`
    <meta http-equiv="content-security-policy" content="${POLICY}">
    <link rel="stylesheet" href="${root}site.css">
    <script type="module" src="${root}search.js"></script>
  `;
  const bar = html`
    <a class="brand" href="${root}">Hooklaunch <small>${config.version}</small></a>
    <search hidden data-root="${root}">
      <input type="search" placeholder="Search (/)" aria-label="Search" autocomplete="off">
      <div role="status"></div>
      <ol></ol>
    </search>
  `;
  return await layOut({ ...await renderPage(page, root), page, head, bar }, root);
}

if (import.meta.main) {
  const [folder = "dist/site"] = Deno.args;
  const count = await writeSite(resolve(folder));
  console.log(`${count} pages are in ${folder}`);
}
