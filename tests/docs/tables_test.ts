/** Tables and files of the pages that say what the code says. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { MAC_BYTES, SIGNATURE_ALGORITHMS } from "../../src/conditions/signing/scheme.ts";
import { TIMESTAMP_FORMATS } from "../../src/conditions/freshness.ts";
import { run } from "../commands/process.ts";
import { has } from "../needs.ts";
import { temporaryFolder } from "../surroundings.ts";
import { documentText } from "./blocks.ts";

Deno.test("the documented table of settings has the flags of serve and their defaults", async () => {
  const text = documentText("src/docs/settings.md");
  const [table = ""] = /\| flag [\s\S]*?\n\n/.exec(text) ?? [];
  const { printed } = await run(["serve", "--help"]);
  const help = printed.replaceAll(/\s+/g, " ");
  const inTable: string[] = [];
  for (const row of table.split("\n").slice(2, -2)) {
    const [, flags = "", defaults = ""] = row.split("|");
    const names = [...flags.matchAll(/`(--[\w-]+)`/g)].map(([, name = ""]) => name);
    const values = [...defaults.matchAll(/`([^`]+)`/g)].map(([, value = ""]) => value);
    inTable.push(...names);
    for (const [index, value] of values.entries()) {
      const [, told = ""] = help.split(` ${names[index]} `);
      const [, found] = /^(?:(?! --).)*?default: "?([^",)]+)/.exec(told) ?? [];
      assertEquals(found, value, names[index]);
    }
  }
  const inHelp = [...printed.matchAll(/^ +(?:-\w, )?(--[\w-]+)/gm)].map(([, name = ""]) => name);
  assertEquals(inTable.toSorted(), inHelp.filter((name) => name !== "--help").toSorted());
  const examples = documentText("src/docs/operating.md").matchAll(
    /^deno task start (.*(?:\\\n.*)*)$/gm,
  );
  const used = [...examples].flatMap(([, flags = ""]) => flags.match(/--[\w-]+/g) ?? []);
  assertEquals(used.filter((flag) => !inHelp.includes(flag)), []);
});

Deno.test("the documented table of conditions has the names that they take", () => {
  const text = documentText("src/docs/conditions.md");
  const names = {
    hmac: Object.keys(MAC_BYTES),
    signature: SIGNATURE_ALGORITHMS,
    timestamp: TIMESTAMP_FORMATS,
  };
  for (const [type, taken] of Object.entries(names)) {
    const [row = ""] = new RegExp(`^\\| \`${type}\` .*$`, "m").exec(text) ?? [];
    assertStringIncludes(row, `(${taken.join(", ")})`);
  }
});

Deno.test({
  name: "the documented unit is one that systemd reads",
  ignore: !has("systemd-analyze"),
  async fn() {
    const text = documentText("src/docs/operating.md");
    const [, unit = ""] = /```ini\n([\s\S]*?)```/.exec(text) ?? [];
    await using folder = await temporaryFolder();
    const path = `${folder.path}/hooklaunch.service`;
    // Neither the binary nor its user is on this machine.
    await Deno.writeTextFile(
      path,
      unit.replace("/usr/local/bin/hooklaunch", "/bin/true").replace("User=hooklaunch\n", ""),
    );
    const { code, stderr } = await new Deno.Command("sh", {
      args: ["-c", 'exec systemd-analyze verify --man=no "$0"', path],
    }).output();
    const said = new TextDecoder().decode(stderr).split("\n");
    assertEquals([code, said.filter((line) => line.includes(path))], [0, []]);
  },
});
