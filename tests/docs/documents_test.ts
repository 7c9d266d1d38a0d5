/** README and the pages of `src/docs`: every command and file in them works as printed. */
import { assert, assertEquals } from "@std/assert";
import { has } from "../needs.ts";
import { blocksOf, documents } from "./blocks.ts";
import { isRun, runPage } from "./page.ts";
import { Terminal } from "./terminal.ts";

/** They begin in the checkout; all others where getting_started.md ends. */
const FIRST_PAGES = ["README.md", "src/docs/getting_started.md"];
/** Has a test of its own, which sends to its triggers. */
const PROVIDERS = "src/docs/providers.md";

for (const document of documents()) {
  if (document === PROVIDERS || !blocksOf(document).some(isRun)) continue;
  Deno.test({
    name: `${document}: its commands and files work as printed`,
    ignore: !has("openssl"),
    async fn() {
      await using terminal = FIRST_PAGES.includes(document)
        ? await Terminal.open()
        : await Terminal.afterGettingStarted();
      await runPage(terminal, document);
    },
  });
}

Deno.test({
  name: "a page's service no longer answers once it is stopped: the next one has its port",
  ignore: !has("openssl"),
  async fn() {
    await using terminal = await Terminal.afterGettingStarted();
    const ask = 'curl -s "$HOOKLAUNCH_URL/healthz"';
    assertEquals((await terminal.run(ask)).code, 0);
    await terminal.stop();
    assertEquals((await terminal.run(ask)).code, 7, "curl: could not connect");
  },
});

Deno.test("the blocks of pages have marks and languages that the tests know", () => {
  // The yaml is Hooklaunch's own, the yml others'.
  const known = ["sh", "yaml", "yml", "json", "text", "ini", "nginx"];
  for (const { language, marks, at } of documents().flatMap(blocksOf)) {
    assert(known.includes(language), `${at}: the language ${language}`);
    for (const mark of marks) {
      assert(["service", "stopped", "not-run"].includes(mark), `${at}: ${mark}`);
    }
  }
});
