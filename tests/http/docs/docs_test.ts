/** The documentation that the service serves at `/docs/`. */
import {
  assert,
  assertEquals,
  assertMatch,
  assertNotMatch,
  assertStringIncludes,
} from "@std/assert";
import { SECTIONS } from "../../../src/docs/mod.ts";
import { docsRoutes } from "../../../src/http/docs/routes.ts";
import { render } from "../../../src/http/docs/markdown.ts";
import { startService } from "../../data.ts";
import { documentText } from "../../docs/blocks.ts";

const NAMES = SECTIONS.flatMap(({ pages }) => pages).map(({ name }) => name);

async function get(url: string, init: RequestInit = {}) {
  const answer = await fetch(url, init);
  return { status: answer.status, headers: answer.headers, text: await answer.text() };
}

Deno.test("the documentation is served to anybody, by GET and HEAD", async (t) => {
  await using service = await startService();
  const cases: [path: string, status: number, type: string, text: string][] = [
    ["docs", 200, "text/html; charset=UTF-8", "<h1"],
    ["docs/", 200, "text/html; charset=UTF-8", "Hooklaunch documentation"],
    ["docs/operating", 200, "text/html; charset=UTF-8", "<h1"],
    ["docs/operating/", 200, "text/html; charset=UTF-8", 'aria-current="page"'],
    ["docs/operating.md", 200, "text/markdown; charset=utf-8", "# Operating\n"],
    ["docs/README.md", 200, "text/markdown; charset=utf-8", "# Hooklaunch documentation\n"],
    ["docs/llms.txt", 200, "text/plain;charset=UTF-8", `${service.url}/docs/operating.md`],
    ["docs/style.css", 200, "text/css", "body {"],
    ["docs/grafana_dashboard.json", 200, "application/json", '"panels"'],
    ["docs/alerts.yaml", 200, "application/yaml", "alert: HooklaunchDown"],
    ["docs/schema.json", 200, "application/schema+json", `${service.url}/docs/schema.json`],
    ["docs/nothing", 404, "text/html; charset=UTF-8", 'href="/docs/operating/"'],
    ["docs/nothing.md", 404, "text/html; charset=UTF-8", "No such page"],
    ["docs/operating/nothing", 404, "text/html; charset=UTF-8", "No such page"],
  ];
  for (const [path, status, type, text] of cases) {
    await t.step(path, async () => {
      const found = await get(`${service.url}/${path}`);
      assertEquals([found.status, found.headers.get("content-type")], [status, type]);
      assertStringIncludes(found.text, text);
      const head = await get(`${service.url}/${path}`, { method: "HEAD" });
      assertEquals([head.status, head.headers.get("content-type")], [status, type]);
      assertEquals(head.text, "");
    });
  }
  await t.step("other methods", async () => {
    const { status, headers } = await get(`${service.url}/docs/operating/`, { method: "POST" });
    assertEquals([status, headers.get("allow")], [405, "GET, HEAD"]);
  });
  await t.step("what the browser has already", async () => {
    const first = await get(`${service.url}/docs/operating/`);
    const etag = first.headers.get("etag") ?? "";
    const second = await get(`${service.url}/docs/operating/`, {
      headers: { "if-none-match": etag },
    });
    assertEquals([second.status, second.text, second.headers.get("etag")], [304, "", etag]);
  });
});

Deno.test("the pages run no script and load nothing from elsewhere", async () => {
  await using service = await startService();
  for (const name of NAMES) {
    const { headers, text } = await get(`${service.url}/docs/${name}/`);
    assertEquals(
      headers.get("content-security-policy"),
      "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    );
    assertNotMatch(text, /<script|<img|<iframe| style=| on\w+=/i);
    const loaded = [...text.matchAll(/<link rel="stylesheet" href="([^"]*)"/g)].map(([, at]) => at);
    assertEquals(loaded, ["/docs/style.css"]);
  }
});

Deno.test("every link within the served pages leads to something that is there", async () => {
  await using service = await startService();
  const pages = new Map<string, string>();
  const read = async (path: string) => {
    const found = pages.get(path) ?? (await get(service.url + path)).text;
    pages.set(path, found);
    return found;
  };
  for (const path of ["/docs/", ...NAMES.map((name) => `/docs/${name}/`)]) {
    const links = [...(await read(path)).matchAll(/href="([^"]*)"/g)].map(([, link = ""]) => link);
    for (const link of links.filter((link) => !link.startsWith("http"))) {
      // The others are the console's.
      assertMatch(link, /^(\/docs\/|#|\/\w*$)/, `${path}: ${link}`);
      const [target = "", anchor] = link.split("#");
      const text = await read(target || path);
      assert(!text.includes("No such page"), `${path}: ${link}`);
      if (anchor) assertStringIncludes(text, `id="${anchor}"`, `${path}: ${link}`);
    }
  }
});

Deno.test("addresses begin with the path of the service's own", async () => {
  const app = docsRoutes({ baseUrl: () => "https://example.com/hooks", isShared: false });
  const page = await (await app.request("/operating/")).text();
  assertStringIncludes(page, 'href="/hooks/docs/style.css"');
  assertStringIncludes(page, 'href="/hooks/docs/settings/"');
  assertStringIncludes(page, 'href="/hooks/deliveries"');
  const list = await (await app.request("/llms.txt")).text();
  assertStringIncludes(list, "https://example.com/hooks/docs/settings.md");
});

Deno.test("the list of pages has the titles of the pages, and README the list", async () => {
  const rows: string[] = [];
  for (const { name, title, about, read } of SECTIONS.flatMap(({ pages }) => pages)) {
    const { default: text } = await read();
    assertEquals(text, documentText(`src/docs/${name}.md`));
    assertEquals(text.split("\n", 1)[0], `# ${title}`);
    rows.push(`[${title}](${name}.md) ${about}`);
  }
  const index = documentText("src/docs/README.md").matchAll(/^\| (\[.*?) +\| (.*?) +\|$/gm);
  assertEquals([...index].map(([, link, about]) => `${link} ${about}`), rows);
});

Deno.test("Markdown: HTML is text, headings have the ids of code hosts, and links are turned", () => {
  const { html, headings } = render(
    "# Run `x`, now\n\n<!-- a comment -->\n\n<b>bold</b> & [there](a.md#b)\n\n## Same\n\n## Same\n\n" +
      "<script>alert(1)</script>\n\n```sh\na <b>\n```\n",
    (href) => `/docs/${href}`,
  );
  assertEquals(headings.map(({ id }) => id), ["run-x-now", "same", "same-1"]);
  assertStringIncludes(html, '&lt;b&gt;bold&lt;/b&gt; &amp; <a href="/docs/a.md#b">there</a>');
  assertStringIncludes(html, "&lt;script&gt;");
  assertStringIncludes(html, "a &lt;b&gt;");
  assertNotMatch(html, /<script|<b>|a comment/);
});
