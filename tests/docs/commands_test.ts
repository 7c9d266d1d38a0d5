/**
 * Commands on the pages, also of blocks that no test can run: they exist and have the flags that they are
 * given, as cli.md says, which is made from their declarations.
 */
import { assert, assertEquals } from "@std/assert";
import { blocksOf, documents, documentText } from "./blocks.ts";

/** A command with its arguments, in a block or between backticks; not the name of an image. */
const COMMAND = /(?<!-t )\bhooklaunch((?: [^\s`|;&)"']+)+)/g;
const GLOBAL_FLAGS = ["--env-file", "--version", "--help"];
const REFERENCE = "src/docs/cli.md";

/** Reads the flags of each command. */
function reference(): Map<string, string[]> {
  const sections = documentText(REFERENCE).split(/^### /m).slice(1);
  return new Map(sections.map((section) => [
    section.split("\n", 1)[0] ?? "",
    [...section.matchAll(/^\| `(?:(-\w), )?(--[\w-]+)/gm)]
      .flatMap(([, short = "", long = ""]) => [short, long]),
  ]));
}

/** Finds `hooklaunch …` in blocks of commands, and in prose. */
function commands(): { at: string; words: string[] }[] {
  const texts = documents().filter((path) => path !== REFERENCE).flatMap((path) => [
    ...blocksOf(path).filter(({ language }) => language === "sh"),
    { at: path, text: documentText(path).replaceAll(/^ *```[\s\S]*?^ *```$/gm, "") },
  ]);
  return texts.flatMap(({ at, text }) =>
    [...text.replaceAll("\\\n", " ").matchAll(COMMAND)]
      .map(([, words = ""]) => ({ at, words: words.trim().split(/ +/) }))
  );
}

Deno.test("every documented command exists, and has the flags that it is given", () => {
  const known = reference();
  let count = 0;
  for (const { at, words } of commands()) {
    const names = words.filter((word, index) =>
      !word.startsWith("-") && words[index - 1] !== "--env-file"
    );
    const flags = [1, 2, 3].map((length) => known.get(names.slice(0, length).join(" ")))
      .find((found) => found !== undefined);
    const given = words.filter((word) => /^--?[a-z]/.test(word))
      .map((word) => word.replace(/=.*/, ""));
    if (flags === undefined) {
      // Prose may say something of Hooklaunch itself.
      const isProse = at === at.replace(/:\d+$/, "") && given.length === 0;
      const isGlobal = words[0]?.startsWith("--") &&
        given.every((flag) => GLOBAL_FLAGS.includes(flag));
      assert(isProse || isGlobal, `${at}: hooklaunch ${words.join(" ")}`);
      continue;
    }
    count++;
    const unknown = given.filter((flag) => ![...flags, ...GLOBAL_FLAGS].includes(flag));
    assertEquals(unknown, [], `${at}: hooklaunch ${words.join(" ")}`);
  }
  assert(count > 50, `${count} commands`);
});
