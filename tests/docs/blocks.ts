/**
 * The code blocks of README and of the pages in `src/docs`.
 *
 * The first word after the fence is the language. What follows says what the test does with the block:
 *
 * - `sh`: runs it, in one shell for the page, which begins in the checkout
 * - `sh service`: runs it in the background, until the page's end or the next such block
 * - `sh stopped`: stops the service first
 * - `sh not-run`: reads its `hooklaunch` commands, and compares their flags with the help
 * - `text` or `json`, right behind an `sh` block: is what that prints last; `…` stands for any text
 * - a first line such as `# train/valohai.yaml`: writes the block to that file
 * - other `yaml`: is read as what it is, a configuration file, a project configuration file or a part
 *
 * @module
 */

/** A code block. */
export interface Block {
  language: string;
  /** The words behind the language. */
  marks: readonly string[];
  text: string;
  /** The name of the file that it is, when its first line says so. */
  file: string | undefined;
  /** The block follows the one before it with nothing between them. */
  follows: boolean;
  /** The file and line that it is at, for error messages. */
  at: string;
}

const ROOT = new URL("../../", import.meta.url);
const BLOCK = /^( *)```(\S+)([^\n]*)\n([\s\S]*?)^\1```$/gm;

/** Returns the paths of README and of all pages, from the root of the checkout. */
export function documents(): string[] {
  const pages = [...Deno.readDirSync(new URL("src/docs/", ROOT))].map(({ name }) => name);
  return [
    "README.md",
    ...pages.filter((name) => name.endsWith(".md")).sort().map((name) => `src/docs/${name}`),
  ];
}

/** Reads a document. */
export function documentText(path: string): string {
  return Deno.readTextFileSync(new URL(path, ROOT));
}

/** Returns the code blocks of a document in their order. */
export function blocksOf(path: string): Block[] {
  const document = documentText(path);
  let end = 0;
  return [...document.matchAll(BLOCK)].map(
    (
      { index, 0: { length }, 1: indent = "", 2: language = "", 3: marks = "", 4: indented = "" },
    ) => {
      const follows = document.slice(end, index).trim() === "";
      end = index + length;
      const text = indented.replaceAll(new RegExp(`^${indent}`, "gm"), "");
      return {
        language,
        marks: marks.trim().split(" ").filter(Boolean),
        text,
        file: /^# ([\w./-]+\.\w+)$/m.exec(text.split("\n", 1)[0] ?? "")?.[1],
        follows,
        at: `${path}:${document.slice(0, index).split("\n").length}`,
      };
    },
  );
}
