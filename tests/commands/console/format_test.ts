/** The forms of output: YAML that reads back and moves no cursor, wide tables, colours at a terminal alone. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { parse } from "yaml";
import {
  dataText,
  recordText,
  setFormat,
  showsAllColumns,
} from "../../../src/commands/console/format.ts";
import { coloured, takesColours } from "../../../src/commands/console/colours.ts";

const VALUE = {
  name: "yes",
  number: 7,
  absent: undefined,
  lines: "one\ntwo\n",
  tab: "a\tb",
  escape: "a\x1b[2Jb\u202ec\u0085",
  list: [{ id: "01a2" }, null],
  "key\u202e": "x",
};

Deno.test("YAML reads back as it was, and moves no cursor", async () => {
  await setFormat("yaml");
  try {
    const text = dataText(VALUE);
    const { absent: _, ...rest } = VALUE;
    assertEquals(parse(text), rest);
    // deno-lint-ignore no-control-regex
    assertEquals(/[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]/.test(text), false, text);
    assertStringIncludes(text, "lines: |\n");
    assertEquals(recordText({ id: 1 }), "---\nid: 1");
  } finally {
    await setFormat();
  }
});

Deno.test("without a format JSON is printed, and tables have their usual columns", async () => {
  assertEquals(dataText({ id: 1 }), '{\n  "id": 1\n}');
  assertEquals(recordText({ id: 1 }), '{"id":1}');
  assertEquals(showsAllColumns(), false);
  await setFormat("wide");
  assertEquals(showsAllColumns(), true);
  await setFormat();
});

Deno.test("states have colours, other words none", () => {
  assertEquals(coloured("status", "complete   "), "\x1b[32mcomplete\x1b[0m   ");
  assertEquals(coloured("outcome", "refused"), "\x1b[31mrefused\x1b[0m");
  assertEquals(coloured("status", "strange"), "strange");
  assertEquals(coloured("trigger", "error"), "error");
});

Deno.test("colours are for terminals alone, and NO_COLOR turns them off", () => {
  const { isTerminal } = Deno.stdout;
  const names = ["NO_COLOR", "TERM"];
  const before = names.map((name) => Deno.env.get(name));
  const cases: [isTerminal: boolean, env: Record<string, string>, takes: boolean][] = [
    [true, {}, true],
    [true, { NO_COLOR: "" }, true],
    [true, { NO_COLOR: "1" }, false],
    [true, { TERM: "dumb" }, false],
    [false, {}, false],
  ];
  try {
    for (const [terminal, env, takes] of cases) {
      for (const name of names) Deno.env.delete(name);
      for (const [name, value] of Object.entries(env)) Deno.env.set(name, value);
      Deno.stdout.isTerminal = () => terminal;
      assertEquals(takesColours(), takes, JSON.stringify([terminal, env]));
    }
  } finally {
    Deno.stdout.isTerminal = isTerminal;
    for (const [index, name] of names.entries()) {
      const value = before[index];
      if (value === undefined) Deno.env.delete(name);
      else Deno.env.set(name, value);
    }
  }
});
