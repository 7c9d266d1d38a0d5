/** `deno task docs:site`: every link of the site leads somewhere at any path, and its search finds a section. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { dirname, join, normalize } from "node:path";
import config from "../../deno.json" with { type: "json" };
import { SECTIONS } from "../../src/docs/mod.ts";
import { temporaryFolder } from "../data.ts";
import { assertAccessible, sharedChromium, watch } from "../http/console/browser.ts";
import { has } from "../needs.ts";

const ROOT = new URL("../../", import.meta.url).pathname;
/** A web server may have the site below some path. */
const PATH = "/some/path/";
const TYPES: Record<string, string> = {
  css: "text/css",
  html: "text/html",
  js: "text/javascript",
  json: "application/json",
};

async function makeSite(folder: string): Promise<string> {
  const { code, stdout, stderr } = await new Deno.Command("sh", {
    args: ["-ec", `${config.tasks["docs:site"].command} ${folder}`],
    cwd: ROOT,
    env: { NO_COLOR: "1" },
  }).output();
  assertEquals(code, 0, new TextDecoder().decode(stderr));
  return new TextDecoder().decode(stdout);
}

/** Serves a folder as web servers do. */
function serveFolder(folder: string): Deno.HttpServer<Deno.NetAddr> {
  return Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async ({ url }) => {
    const path = new URL(url).pathname.replace(PATH, "/").replace(/\/$/, "/index.html");
    const bytes = await Deno.readFile(folder + path).catch(() => undefined);
    const type = TYPES[path.split(".").at(-1) ?? ""] ?? "text/plain";
    if (bytes !== undefined) return new Response(bytes, { headers: { "content-type": type } });
    return new Response("", { status: 404 });
  });
}

/** Returns the links of a page that lead nowhere. */
async function brokenLinks(folder: string, path: string): Promise<string[]> {
  const html = await Deno.readTextFile(join(folder, path));
  const broken: string[] = [];
  for (const [, link = ""] of html.matchAll(/ (?:href|src)="([^"]*)"/g)) {
    if (/^[a-z]+:/.test(link)) continue;
    const [to = "", id] = link.split("#");
    const target = to === "" ? path : normalize(join(to.startsWith("/") ? "" : dirname(path), to));
    const file = /\.\w+$/.test(target) ? target : join(target, "index.html");
    const text = await Deno.readTextFile(join(folder, file)).catch(() => undefined);
    const leads = text !== undefined &&
      (id === undefined || text.includes(` id="${decodeURIComponent(id)}"`));
    if (!leads) broken.push(`${path}: ${link}`);
  }
  return broken;
}

Deno.test("the site of the documentation", {
  // The browser stays for the tests that follow.
  sanitizeResources: false,
  sanitizeOps: false,
}, async (t) => {
  await using temporary = await temporaryFolder();
  const folder = join(temporary.path, "site");
  const pages = SECTIONS.flatMap((section) => section.pages);
  assertStringIncludes(await makeSite(folder), `${pages.length} pages`);

  await t.step("every link leads to a file, and a section, that is there", async () => {
    const paths = ["index.html", "404.html", ...pages.map(({ name }) => `${name}/index.html`)];
    const broken = await Promise.all(paths.map((path) => brokenLinks(folder, path)));
    assertEquals(broken.flat(), []);
    assertStringIncludes(await Deno.readTextFile(`${folder}/operating.md`), "# Operating\n");
    assertStringIncludes(await Deno.readTextFile(`${folder}/llms.txt`), "(operating.md)");
  });

  await t.step({
    name: "its search finds a section, by keyboard, without asking another host",
    ignore: !has("chromium"),
    async fn() {
      await using server = serveFolder(folder);
      const origin = `http://127.0.0.1:${server.addr.port}`;
      const { browser } = await sharedChromium();
      const context = await browser.newContext({ viewport: { width: 1_280, height: 800 } });
      const page = await context.newPage();
      const wrong = watch(page);
      const asked: string[] = [];
      page.on("request", (request) => asked.push(request.url()));
      await page.goto(`${origin}${PATH}triggers/`);
      await page.keyboard.press("/");
      await page.keyboard.type("severl machnes");
      // A mistake of the fingers, and the beginning of a word, find it as well.
      const found = page.getByRole("link", { name: /Operating › Several machines/ });
      await found.waitFor();
      await assertAccessible(page);
      await page.keyboard.press("ArrowDown");
      await page.keyboard.press("Enter");
      await page.waitForURL(/#/);
      assert(page.url().startsWith(`${origin}${PATH}`), page.url());
      await page.getByLabel("Search").fill("xyzzy-nothing");
      await page.getByText("Nothing found for “xyzzy-nothing”").waitFor();
      await page.keyboard.press("Escape");
      assertEquals(await page.locator("search ol li").count(), 0);
      assertEquals(asked.filter((url) => !url.startsWith(origin)), []);
      assertEquals(wrong, []);
      await context.close();
    },
  });
});
