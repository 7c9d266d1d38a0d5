import { assertEquals } from "@std/assert";
import { cliReference } from "./cli_reference.ts";
import { referencePages } from "./reference.ts";

Deno.test("the references of the API, the command line and metrics are current: run deno task docs", async () => {
  for (const { path, found, expected } of await referencePages()) {
    assertEquals(found, expected, path);
  }
});

Deno.test("every argument of a command says what it is", async () => {
  const sections = (await cliReference()).split(/^### /m).slice(1);
  const silent = sections.flatMap((section) => {
    const [, name = "", usage = ""] = /^(.*)\n\n`(.*)`/.exec(section) ?? [];
    const told = [...section.matchAll(/^\| `([<[].*?[>\]])` \| \S/gm)].map(([, each]) => each);
    return (usage.match(/[<[].+?[>\]]/g) ?? []).filter((each) => !told.includes(each))
      .map((each) => `${name} ${each}`);
  });
  assertEquals(silent, []);
  assertEquals(sections.filter((section) => section.includes("`bash`, `zsh`, `fish`")).length, 1);
});
