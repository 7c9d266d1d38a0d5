/** A start with a mistake in the configuration file goes on with what was applied before. */
import { assertEquals, assertMatch } from "@std/assert";
import { temporaryFolder } from "../data.ts";
import { runHosted as run } from "./hosted.ts";
import { hooklaunch } from "./process.ts";

const ID = "01900000-0000-7000-8000-000000000001";

function configured(name: string, project = "p"): string {
  const actions = [{ type: "run_execution", step: "s" }];
  const response = { type: "text", text: "launched" };
  const triggers = [{ id: ID, name, project, actions, response }];
  return JSON.stringify({ projects: [{ name: project, directory: "." }], triggers });
}

Deno.test("serve keeps the last good configuration after a mistake and says so, unless it is strict", async (t) => {
  await using folder = await temporaryFolder();
  const config = `${folder.path}/h.yaml`;
  const env = {
    HOOKLAUNCH_ADMIN_TOKEN: "an-operators-token-for-tests",
    HOOKLAUNCH_DATA: `${folder.path}/data`,
    HOOKLAUNCH_PROT: "1",
  };
  const args = ["serve", "--dev", "--port", "0", "--config", config];
  await Deno.writeTextFile(config, "triggers: [{}]");
  const first = await run(args, env);
  assertEquals(first.code, 1, "nothing was applied before");
  const cases: [name: string, text: string, says: RegExp | undefined][] = [
    ["a good one", configured("one"), undefined],
    ["a wrong field", configured("two").replace('"name":"two"', '"nam":"two"'), /triggers\/0\/nam/],
    [
      "a project whose name looks like another's",
      configured("two", "P"),
      /projects\/0: line 1, column \d+: .* looks like the name of project/,
    ],
    ["no YAML", `${configured("two")}}`, /line 1, column/],
  ];
  for (const [name, text, says] of cases) {
    await t.step(name, async () => {
      await Deno.writeTextFile(config, text);
      await using service = hooklaunch(args, env);
      const [, port] = await service.expect(/Listening on 127\.0\.0\.1 port (\d+)/);
      const printed = service.printed();
      assertMatch(printed, /HOOKLAUNCH_PROT is no setting of Hooklaunch/);
      assertEquals(printed.includes("the last good one stays in use"), says !== undefined, printed);
      if (says) assertMatch(printed, says);
      const url = `http://127.0.0.1:${port}/api/v0/launch/${ID}/`;
      const answer = await fetch(url, { method: "POST" });
      assertEquals([answer.status, await answer.text()], [200, "launched"]);
      service.child.kill("SIGTERM");
      assertEquals((await service.end()).code, 0);
    });
  }
  await t.step("a mistake that may be about the store of artifacts", async () => {
    const other = { ...JSON.parse(configured("two")), storge: `${folder.path}/shared` };
    await Deno.writeTextFile(config, JSON.stringify(other));
    const ended = await run(args, env);
    assertEquals(ended.code, 1);
    assertMatch(ended.printed, /\/storge: .*Unknown field/);
  });
  await t.step("--strict", async () => {
    await Deno.writeTextFile(config, configured("two").replace('"name":"two"', '"nam":"two"'));
    const ended = await run(args, { ...env, HOOKLAUNCH_STRICT: "true" });
    assertEquals(ended.code, 1);
    assertMatch(ended.printed, /triggers\/0\/nam/);
  });
});
