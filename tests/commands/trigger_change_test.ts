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
import { loggedIn, textOf } from "../http/console/fixture.ts";
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

  // Of a trigger that no file owns, nothing is told.
  const unowned = await secret("add", "hook", "spare", "--from", "{env:NEW_SECRET}");
  assertEquals(unowned.printed, `Trigger hook is changed: ${url}\n`);
  assertEquals((await secret("remove", "hook", "spare")).code, 0);
  const file = join(service.folder, "hooklaunch.yaml");
  const write = async (conditions: unknown) => {
    const { body } = await service.api("GET", `triggers/${id}/`);
    const { name, project, actions } = body;
    const triggers = [{ name, project, actions, conditions }];
    await Deno.writeTextFile(file, JSON.stringify({ triggers }));
  };
  await write([{ ...HMAC_CONDITION, secrets }]);
  assertEquals((await command(service, "apply", file)).code, 0);

  const added = await secret("add", "hook", "new", "--from", "{env:NEW_SECRET}");
  assertEquals(added.code, 0, added.printed);
  assertStringIncludes(
    added.printed,
    `Trigger hook belongs to ${file}: the next apply of it, or start with it, sets the secrets`,
  );
  assertEquals([await launch(url, "the-old-secret-1"), await launch(url, "the-new-secret-1")], [
    200,
    200,
  ]);
  const check = async (conditions: unknown) => {
    await write(conditions);
    return (await command(service, "apply", file, "--check")).code;
  };
  const [, lines = ""] = /^Trigger hook belongs to [^]*?\n(secrets:\n[^]*)/m.exec(added.printed) ??
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

Deno.test("secrets have names and fingerprints, also those in variables and files", async (t) => {
  await using service = await startService({ env: { TOKEN_A: "a-token-of-tests", EMPTY: "" } });
  const path = join(service.folder, "provider-key");
  await Deno.writeTextFile(path, "a-long-key-in-a-file\n");
  const condition = (secrets: unknown[], header = "X-Signature") => ({
    ...HMAC_CONDITION,
    header,
    secrets,
  });
  const { id } = await service.trigger({
    name: "hook",
    conditions: [
      condition([
        "a-literal-of-tests",
        { name: "old", value: "another-literal", until: "2020-01-01T00:00:00Z" },
        "{env:TOKEN_A}",
        { name: "named", value: "{env:EMPTY}" },
        `{file:${path}}`,
      ]),
    ],
  });
  const twin = await service.trigger({ name: "twin", conditions: [condition(["{env:TOKEN_A}"])] });
  const secretsOf = async (of = id) =>
    (await service.api("GET", `triggers/${of}/secrets/`)).body.secrets;
  const secrets = await secretsOf();
  await t.step("in the API", async () => {
    const marks: string[] = secrets.map(({ fingerprint = "" }) => fingerprint);
    assertEquals(marks.map((mark) => /^[0-9a-f]{12}$/.test(mark)), [true, true, true, false, true]);
    assertEquals(new Set(marks).size, 5);
    assertEquals(secrets.map(({ fingerprint: _, ...each }: { fingerprint?: string }) => each), [
      { pointer: "/conditions/0/secrets/0", kind: "stored", state: "usable" },
      {
        pointer: "/conditions/0/secrets/1",
        name: "old",
        kind: "stored",
        until: "2020-01-01T00:00:00Z",
        state: "ended",
      },
      {
        pointer: "/conditions/0/secrets/2",
        name: "TOKEN_A",
        kind: "variable",
        source: "TOKEN_A",
        state: "usable",
      },
      {
        pointer: "/conditions/0/secrets/3",
        name: "named",
        kind: "variable",
        source: "EMPTY",
        state: "missing",
      },
      {
        pointer: "/conditions/0/secrets/4",
        name: "provider-key",
        kind: "file",
        source: path,
        state: "usable",
      },
    ]);
    // Nobody sees that two triggers have the same secret.
    assertEquals((await secretsOf(twin.id))[0].fingerprint === marks[2], false);
    assertEquals(
      (await service.api("GET", "triggers/00000000-0000-7000-8000-000000000000/secrets/")).status,
      404,
    );
  });
  await t.step("on the command line", async () => {
    const listed = await command(service, "trigger", "secret", "list", "hook");
    assertEquals(listed.code, 0, listed.printed);
    assertMatch(listed.printed, /^NAME +FINGERPRINT +STATE +UNTIL +FROM +PLACE\n/);
    assertMatch(
      listed.printed,
      /\nTOKEN_A +[0-9a-f]{12} +usable +variable TOKEN_A +conditions\/0\/secrets\/2\n/,
    );
    assertMatch(listed.printed, /\nnamed +missing +variable EMPTY/);
    for (
      const text of ["a-literal", "another-literal", "a-token-of-tests", "a-long-key-in-a-file"]
    ) {
      assertEquals(listed.printed.includes(text), false);
    }
    const quiet = await command(service, "trigger", "secret", "list", "hook", "-q");
    assertEquals(quiet.printed, `${secrets[0].fingerprint}\nold\nTOKEN_A\nnamed\nprovider-key\n`);
  });
  await t.step("in the console", async () => {
    const page = textOf(await (await loggedIn(service)).get("triggers/hook"));
    assertStringIncludes(
      page,
      `TOKEN_A ✓ present fingerprint ${secrets[2].fingerprint}`,
    );
    assertMatch(page, /provider-key .*present file \S+provider-key fingerprint [0-9a-f]{12}/);
  });
  await t.step("a new text in the file has another fingerprint", async () => {
    await Deno.writeTextFile(path, "a-new-key-in-the-file\n");
    const now = (await secretsOf())[4].fingerprint;
    assert(now !== secrets[4].fingerprint, now);
  });
  await t.step("they are named to be changed", async () => {
    const expired = await command(
      service,
      "trigger",
      "secret",
      "expire",
      "hook",
      "TOKEN_A",
      "--in",
      "1d",
    );
    assertEquals(expired.code, 0, expired.printed);
    assertMatch((await secretsOf())[2].until, /^20/);
    for (const name of ["provider-key", secrets[2].fingerprint]) {
      const removed = await command(service, "trigger", "secret", "remove", "hook", name);
      assertEquals(removed.code, 0, removed.printed);
    }
    assertEquals((await secretsOf()).map(({ name }: { name?: string }) => name), [
      undefined,
      "old",
      "named",
    ]);
  });
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
