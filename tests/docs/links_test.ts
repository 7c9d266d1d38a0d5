/** Links between files work on a code host: the file is there, and the heading in it. */
import { assert } from "@std/assert";
import { render } from "../../src/http/docs/markdown.ts";
import { documents, documentText } from "./blocks.ts";

const OTHERS = ["CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "tests/bench/README.md"];
const ROOT = new URL("file:///");

Deno.test("every link between documents leads to a file and a heading that are there", () => {
  const texts = new Map([...documents(), ...OTHERS].map((path) => [path, documentText(path)]));
  const known = new Map<string, string[]>();
  const idsOf = (path: string) => {
    const ids = known.get(path) ??
      render(texts.get(path) ?? documentText(path), (href) => href).headings.map(({ id }) => id);
    known.set(path, ids);
    return ids;
  };
  for (const [path, text] of texts) {
    for (const [, link = ""] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^https?:/.test(link)) continue;
      const { pathname, hash } = new URL(link, new URL(path, ROOT));
      const target = pathname.slice(1);
      const ids = idsOf(target);
      assert(hash === "" || ids.includes(decodeURIComponent(hash.slice(1))), `${path}: ${link}`);
    }
  }
});

Deno.test("README fits on a page", () => {
  const lines = documentText("README.md").split("\n").length - 1;
  assert(lines <= 150, `${lines} lines`);
});
