/** An older Deno is told which one is needed, before it reads what it cannot. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import config from "../deno.json" with { type: "json" };

const src = (path: string) => new URL(`../src/${path}`, import.meta.url).href;

/** Loads a module in a Deno that says that it is of another version. */
async function loadedBy(version: string, path: string) {
  const script = `Object.defineProperty(Deno, "version", { value: { deno: "${version}" } });
    await import("${src(path)}");`;
  const { code, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["eval", script],
    env: { NO_COLOR: "1" },
  }).output();
  return { code, said: new TextDecoder().decode(stderr) };
}

Deno.test("an older Deno is told what is needed, and what to do", async (t) => {
  for (const version of ["2.9.5", "2.5.0", "2.1.4", "1.46.3"]) {
    await t.step(version, async () => {
      const { code, said } = await loadedBy(version, "main.ts");
      assertEquals(code, 1);
      assertStringIncludes(said, `hooklaunch: needs Deno 2.9.6 or later, found ${version}.`);
      assertStringIncludes(said, "npx -y deno@2.9.6");
      assertEquals(said.trim().split("\n").length, 1);
    });
  }
});

Deno.test("later versions of Deno are taken", async () => {
  for (const version of ["2.9.6", "2.9.10", "2.10.0", "3.0.0"]) {
    assertEquals(await loadedBy(version, "deno_version.ts"), { code: 0, said: "" }, version);
  }
});

Deno.test("the check comes before what an older Deno cannot read", async () => {
  const text = await Deno.readTextFile(new URL(src("deno_version.ts")));
  assert(!/^\s*(import|export)\b/m.test(text));
  const entry = await Deno.readTextFile(new URL(src("main.ts")));
  assertEquals([...entry.matchAll(/^import .*/gm)].map(String), ['import "./deno_version.ts";']);
  const commands = Object.values(config.tasks).map(({ command }) => command)
    .filter((command) => command.includes("deno run") && command.includes("src/main.ts"));
  assertEquals(commands.length, 3);
  for (const command of commands) {
    assert(command.startsWith("deno run --no-lock src/deno_version.ts && "), command);
  }
});
