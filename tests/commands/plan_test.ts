/** Plans of apply, what it prunes, exports, and completion: from the command line, against a real service. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { ADMIN_TOKEN, HMAC_CONDITION, SECRET, startService, type TestService } from "../data.ts";
import { runHosted as run } from "./hosted.ts";

const TOKEN = { HOOKLAUNCH_ADMIN_TOKEN: ADMIN_TOKEN };
const ACTIONS = [{ type: "run_execution", step: "echo" }];

function command(service: TestService, ...args: string[]) {
  return run([...args, "--url", service.url], TOKEN);
}

/** Writes a configuration file, which may be JSON. */
async function fileOf(service: TestService, document: unknown): Promise<string> {
  const path = join(service.folder, "hooklaunch.yaml");
  await Deno.writeTextFile(path, JSON.stringify(document));
  return path;
}

async function namesOf(service: TestService, path: string): Promise<string[]> {
  const { body } = await service.api("GET", path);
  return body.results.map(({ name }: { name: string }) => name);
}

Deno.test("a plan shows what is created, updated and deleted, and nothing is done without a yes", async () => {
  await using service = await startService();
  const directory = `${service.folder}/project`;
  await service.trigger({ name: "same", conditions: [HMAC_CONDITION] });
  await service.trigger({ name: "changed", conditions: [HMAC_CONDITION] });
  await service.trigger({ name: "extra" });
  const trigger = { project: "files", conditions: [HMAC_CONDITION], actions: ACTIONS };
  const same = (await service.api("GET", "triggers/")).body.results
    .find(({ name }: { name: string }) => name === "same");
  const secrets = [`${SECRET}-another-one`];
  const path = await fileOf(service, {
    projects: [{ name: "fresh", directory }, { name: "bare", config: "[]" }],
    triggers: [
      { ...same, conditions: [HMAC_CONDITION] },
      { ...trigger, name: "changed", actions: same.actions, enabled: false },
      { ...trigger, name: "in-fresh", project: "fresh" },
    ],
  });
  const check = await command(service, "apply", path, "--check", "--prune");
  assertEquals(check.code, 2, check.printed);
  assertEquals(
    check.printed,
    `+ project fresh would be created: its code is in ${directory}, its engine is local\n` +
      "+ project bare would be created: it is without code, its engine is local\n" +
      "~ trigger changed would be changed\n    enabled: true → false\n" +
      "+ trigger in-fresh would be created: run_execution echo in project fresh, with hmac\n" +
      "- trigger extra would be removed\n- project files would be removed\n",
  );
  const json = await command(service, "apply", path, "--check", "--json");
  assertEquals(
    JSON.parse(json.printed).map(({ sign, name }: { sign: string; name: string }) => sign + name),
    ["+fresh", "+bare", "~changed", "+in-fresh"],
  );
  // Nobody is there to answer.
  const asked = await command(service, "apply", path, "--plan");
  assertEquals(asked.code, 1);
  assertStringIncludes(asked.printed, "~ trigger changed");
  assertStringIncludes(asked.printed, "Expected --yes");
  assertEquals(await namesOf(service, "triggers/"), ["same", "changed", "extra"]);

  const done = await command(service, "apply", path, "--plan", "--yes");
  assertEquals(done.code, 0, done.printed);
  assertMatch(done.printed, /\ntrigger changed: updated/);
  assertEquals(await namesOf(service, "triggers/"), ["same", "changed", "extra", "in-fresh"]);
  const again = await command(service, "apply", path, "--check");
  assertEquals([again.code, again.printed], [
    0,
    "Nothing changes: the service is as the file says\n",
  ]);

  await expectSecretMasked(service, path, {
    ...trigger,
    name: "changed",
    actions: same.actions,
    secrets,
  });
});

/** A secret that differs is told by its fingerprint alone. */
async function expectSecretMasked(
  service: TestService,
  path: string,
  { secrets, ...trigger }: { secrets: string[] } & Record<string, unknown>,
) {
  const conditions = [{ ...HMAC_CONDITION, secrets }];
  await Deno.writeTextFile(
    path,
    JSON.stringify({ triggers: [{ ...trigger, enabled: false, conditions }] }),
  );
  const { code, printed } = await command(service, "apply", path, "--check");
  assertEquals(code, 2, printed);
  assertMatch(
    printed,
    /^~ trigger changed would be changed\n {4}conditions\/0\/secrets: secret with fingerprint [0-9a-f]{12} is removed, secret with fingerprint [0-9a-f]{12} is added\n/,
  );
  assert(!printed.includes(SECRET), printed);
}

Deno.test("what the service refuses of a project is told by its place in the file, also by a plan", async (t) => {
  await using service = await startService();
  const path = join(service.folder, "hooklaunch.yaml");
  for (const name of ["fresh", "files"]) {
    await Deno.writeTextFile(
      path,
      `projects:
  - name: ${name}
    directory: ${service.folder}/project
    secrets:
      - { name: token, value: "********" }
`,
    );
    for (const args of [["--check"], []]) {
      await t.step(`${name} ${args}`, async () => {
        const { code, printed } = await command(service, "apply", path, ...args);
        assertEquals(code, 1, printed);
        assertMatch(printed, /hooklaunch\.yaml: .*line 5, column \d+: Expected a secret, found/);
      });
    }
  }
});

Deno.test("prune deletes what the file does not mention, triggers before their projects", async () => {
  await using service = await startService();
  await service.api("PUT", "projects/unused/", { directory: service.folder });
  await service.trigger({ name: "extra", project: "unused" });
  await service.trigger({ name: "kept" });
  const path = await fileOf(service, {
    projects: [{ name: "files", directory: `${service.folder}/project` }],
    triggers: [{ name: "kept", project: "files", actions: ACTIONS }],
  });
  const refused = await command(service, "apply", path, "--prune");
  assertEquals(refused.code, 1, refused.printed);
  assertEquals(await namesOf(service, "triggers/"), ["extra", "kept"]);
  const done = await command(service, "apply", path, "--prune", "--yes");
  assertEquals(done.code, 0, done.printed);
  assertMatch(done.printed, /\ntrigger extra: deleted\nproject unused: deleted\n$/);
  assertEquals(await namesOf(service, "triggers/"), ["kept"]);
  assertEquals(await namesOf(service, "projects/"), ["files"]);
});

Deno.test("a plan of what the service refuses names line and column, and changes nothing", async () => {
  await using service = await startService();
  const path = join(service.folder, "hooklaunch.yaml");
  await Deno.writeTextFile(
    path,
    "triggers:\n  - name: t\n    project: none\n    actions: [{ type: fetch_repository }]\n",
  );
  const { code, printed } = await command(service, "apply", path, "--check");
  assertEquals(code, 1);
  assertStringIncludes(printed, "/triggers/0/project: line 3, column 5");
});

Deno.test("an export is a configuration file that changes nothing, in YAML and in JSON", async () => {
  await using service = await startService();
  const secrets = [{ name: "one", value: SECRET }, "{env:OTHER}"];
  const response = { type: "json", json: { text: "a: b\u2028\n#" } };
  const { id } = await service.trigger({
    name: "hook",
    conditions: [{ ...HMAC_CONDITION, secrets }],
    response,
  });
  for (const flags of [[], ["--json"]]) {
    const { code, printed } = await command(service, "export", ...flags);
    assertEquals(code, 0, printed);
    assertStringIncludes(printed, id);
    assert(!printed.includes(SECRET), printed);
    const path = join(service.folder, "export.yaml");
    await Deno.writeTextFile(path, printed);
    const check = await command(service, "apply", path, "--check", "--prune");
    assertEquals([check.code, check.printed], [
      0,
      "Nothing changes: the service is as the file says\n",
    ]);
  }
});
