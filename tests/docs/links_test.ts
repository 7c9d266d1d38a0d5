/** Links between files work on a code host: the file is there, and the heading in it. */
import { assert } from "@std/assert";
import { render } from "../../src/http/docs/markdown.ts";
import { documents, documentText } from "./blocks.ts";

const OTHERS = ["CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "tests/bench/README.md"];
const ROOT = new URL("file:///");

Deno.test("every link between documents leads to a file and a heading that are there", () => {
  const texts = new Map([...documents(), ...OTHERS].map((path) => [path, documentText(path)]));
  for (const [path, text] of texts) {
    for (const [, link = ""] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^https?:/.test(link)) continue;
      const { pathname, hash } = new URL(link, new URL(path, ROOT));
      const target = pathname.slice(1);
      const found = texts.get(target) ?? documentText(target);
      const ids = hash === "" ? [] : render(found, (href) => href).headings.map(({ id }) => id);
      assert(hash === "" || ids.includes(decodeURIComponent(hash.slice(1))), `${path}: ${link}`);
    }
  }
});

Deno.test("README fits on a page", () => {
  const lines = documentText("README.md").split("\n").length - 1;
  assert(lines <= 150, `${lines} lines`);
});
