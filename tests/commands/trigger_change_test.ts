/** Changing triggers from the command line, against a real service. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { parse } from "yaml";
import {
  ADMIN_TOKEN,
  eventually,
  HMAC_CONDITION,
  signature,
  startService,
  type TestService,
} from "../data.ts";
import { runHosted as run } from "./hosted.ts";

const TOKEN = { HOOKLAUNCH_ADMIN_TOKEN: ADMIN_TOKEN, GITHUB_SECRET: "x" };

function command(service: TestService, ...args: string[]) {
  return run([...args, "--url", service.url], TOKEN);
}

async function launch(url: string, secret: string): Promise<number> {
  const answer = await fetch(url, { method: "POST", body: "x", headers: signature("x", secret) });
  await answer.body?.cancel();
  return answer.status;
}

Deno.test("a trigger is created from a file, disabled, enabled and deleted", async () => {
  await using service = await startService();
  const file = join(service.folder, "trigger.yaml");
  await Deno.writeTextFile(
    file,
    "name: retrain\nproject: files\nactions: [{ type: run_execution, step: ecko }]\n",
  );
  const created = await command(service, "trigger", "create", file);
  assertEquals(created.code, 0, created.printed);
  assertMatch(created.printed, /^Trigger retrain is created: http:\S+\/launch\/\S+\/\n/);
  assertStringIncludes(created.printed, "  warning: /actions/0/step: ");
  for (const [name, enabled] of [["disable", false], ["enable", true]] as const) {
    const { code, printed } = await command(service, "trigger", name, "retrain", "--json");
    assertEquals([code, JSON.parse(printed).enabled], [0, enabled], printed);
    await (await fetch(JSON.parse(printed).url, { method: "POST" })).body?.cancel();
  }
  const refused = await command(service, "trigger", "delete", "retrain");
  assertEquals(refused.code, 1);
  assertStringIncludes(refused.printed, "Expected --yes");
  const deleted = await command(service, "trigger", "delete", "retrain", "--yes");
  assertEquals([deleted.code, deleted.printed], [
    0,
    "Trigger retrain is deleted. What it has launched goes on: hooklaunch runs --trigger retrain\n",
  ]);
  const log = await command(service, "trigger", "log", "retrain");
  assertEquals(log.code, 0, log.printed);
  assertMatch(log.printed, /refused +\S+: /);
  const runs = await command(service, "runs", "--trigger", "retrain");
  assertEquals(runs.code, 0, runs.printed);
  const unknown = await command(service, "trigger", "log", "none");
  assertMatch(unknown.printed, /There is no trigger "none"/);
  assertEquals((await service.api("GET", "triggers/")).body.results, []);
  const again = await command(service, "trigger", "disable", "retrain");
  assertEquals(again.code, 1);
  assertStringIncludes(again.printed, 'There is no trigger "retrain"');
});

Deno.test("a secret that is not given is told of with its places", async () => {
  const { code, printed } = await run(["trigger", "secret", "add", "hook", "new"]);
  assertEquals(code, 1, printed);
  assertMatch(printed, /standard input, or --from/);
});

Deno.test("a secret is rotated by name: added, expired and removed", async () => {
  await using service = await startService({ env: { NEW_SECRET: "the-new-secret-1" } });
  const secrets = [{ name: "old", value: "the-old-secret-1" }];
  const { url, id } = await service.trigger({
    name: "hook",
    conditions: [{ ...HMAC_CONDITION, secrets }],
  });
  const secret = (...args: string[]) => command(service, "trigger", "secret", ...args);
  const shown = async () =>
    (await service.api("GET", `triggers/${id}/`)).body.conditions[0].secrets;

  const added = await secret("add", "hook", "new", "--from", "{env:NEW_SECRET}");
  assertEquals(added.code, 0, added.printed);
  assertEquals([await launch(url, "the-old-secret-1"), await launch(url, "the-new-secret-1")], [
    200,
    200,
  ]);
  const check = async (conditions: unknown) => {
    const { body } = await service.api("GET", `triggers/${id}/`);
    const { name, project, actions } = body;
    const file = join(service.folder, "hooklaunch.yaml");
    await Deno.writeTextFile(
      file,
      JSON.stringify({ triggers: [{ name, project, actions, conditions }] }),
    );
    return (await command(service, "apply", file, "--check")).code;
  };
  const [, lines = ""] =
    /^If a configuration file has [^]*?\n(secrets:\n[^]*)/m.exec(added.printed) ??
      [];
  assertEquals(await check([{ ...HMAC_CONDITION, secrets }]), 2, "the file takes the change back");
  assertEquals(await check([{ ...HMAC_CONDITION, ...Object(parse(lines)) }]), 0, added.printed);
  assert(!added.printed.includes("the-old-secret-1"), added.printed);
  const expired = await secret("expire", "hook", "old", "--in", "7d");
  assertEquals(expired.code, 0, expired.printed);
  const [{ until }] = await shown();
  const days = (Date.parse(until) - Date.now()) / 86_400_000;
  assert(days > 6.9 && days <= 7, until);
  assertEquals(await launch(url, "the-old-secret-1"), 200);
  const removed = await secret("remove", "hook", "old");
  assertEquals(removed.code, 0, removed.printed);
  assertEquals(await shown(), [{ name: "new", value: "{env:NEW_SECRET}" }]);
  assertEquals([await launch(url, "the-old-secret-1"), await launch(url, "the-new-secret-1")], [
    400,
    200,
  ]);
});

Deno.test("what is wrong with a change of secrets is said", async (t) => {
  await using service = await startService();
  const named = { ...HMAC_CONDITION, secrets: [{ name: "one", value: "a-secret-for-tests" }] };
  await service.trigger({ name: "two", conditions: [named, { ...named, header: "X-Other" }] });
  await service.trigger({ name: "none" });
  await service.trigger({ name: "single", conditions: [named] });
  const cases: [args: string[], says: string][] = [
    [["remove", "two", "one"], "Expected the place of a condition of trigger"],
    [["remove", "none", "one"], "it has none"],
    [["remove", "single", "other"], 'There is no secret "other"; there are: one'],
    [["expire", "single", "one"], "Expected --in or --until"],
    [["expire", "single", "one", "--in", "soon"], "Expected a duration"],
    [["expire", "single", "one", "--until", "soon"], "Expected a date and time"],
    [["add", "single", "new", "--from", "a-literal"], "--from"],
    [["add", "single", "one", "--from", "{env:GITHUB_SECRET}"], "unique names of secrets"],
  ];
  for (const [args, says] of cases) {
    await t.step(args.join(" "), async () => {
      const { code, printed } = await command(service, "trigger", "secret", ...args);
      assertEquals(code, 1, printed);
      assertStringIncludes(printed, says);
      assertEquals(printed.includes("a-literal"), false);
    });
  }
  const one = await command(
    service,
    "trigger",
    "secret",
    "remove",
    "two",
    "one",
    "--condition",
    "1",
  );
  // A condition needs one secret at least.
  assertEquals(one.code, 1, one.printed);
  assertStringIncludes(one.printed, "/conditions/1/secrets");
});

Deno.test("run list shows the runs of all triggers, and those of one", async () => {
  await using service = await startService();
  for (const name of ["a", "b"]) {
    const { url } = await service.trigger({ name });
    await (await fetch(url, { method: "POST" })).body?.cancel();
  }
  const count = async (...args: string[]) =>
    JSON.parse((await command(service, "run", "list", "--json", ...args)).printed).length;
  const directory = `${service.folder}/project`;
  await service.api("PUT", "projects/none/", { directory });
  assertEquals([await count(), await count("a"), await count("--project", "none")], [2, 1, 0]);
  assertEquals(await count("--trigger", "b"), 1);
  const both = await command(service, "runs", "a", "--trigger", "b");
  assertEquals(both.code, 1);
  assertStringIncludes(both.printed, "Expected one trigger, found two");
  for (const kind of ["execution", "pipeline"]) {
    const expected = kind === "execution" ? 1 : 0;
    await eventually(async () => {
      const { printed } = await command(service, kind, "list", "--trigger", "a", "--json");
      return JSON.parse(printed).length === expected || undefined;
    }, { what: `the ${kind} of the trigger` });
    const unknown = await command(service, kind, "list", "--trigger", "nobody");
    assertStringIncludes(unknown.printed, "which no trigger has");
  }
});
