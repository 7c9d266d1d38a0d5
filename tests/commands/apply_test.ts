import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { ADMIN_TOKEN, HMAC_CONDITION, startService } from "../data.ts";
import { ApiClient } from "../../src/commands/api/client.ts";
import { apiTarget } from "../../src/commands/api/target.ts";
import { applyConfig } from "../../src/config/apply.ts";
import { parseConfig } from "../../src/config/document.ts";
import { runHosted as run } from "./hosted.ts";
import { HOOKLAUNCH_LINE } from "./process.ts";

Deno.test("apply brings a running service up to date, and the next request sees it", async () => {
  await using service = await startService();
  const file = `${service.folder}/more.yaml`;
  const write = (enabled: boolean) =>
    Deno.writeTextFile(
      file,
      `
projects:
  - name: more
    directory: ./project
triggers:
  - name: hello
    project: more
    enabled: ${enabled}
    actions: [{ type: run_execution, step: echo }]
`,
    );
  const apply = () =>
    run(["apply", file, "--url", service.url], { HOOKLAUNCH_ADMIN_TOKEN: ADMIN_TOKEN });

  await write(true);
  const created = await apply();
  assertEquals(created.code, 0, created.printed);
  assertStringIncludes(created.printed, "project more: created\n");
  const url = /trigger hello: created {2}(\S+)/.exec(created.printed)?.[1] ?? "none";
  const launch = async () => {
    const answer = await fetch(url, { method: "POST" });
    await answer.body?.cancel();
    return answer.status;
  };
  assertEquals(await launch(), 200);

  await write(false);
  assertMatch((await apply()).printed, /project more: unchanged\ntrigger hello: updated {2}/);
  assertEquals(await launch(), 400);
  assertMatch((await apply()).printed, /trigger hello: unchanged {2}/);
});

Deno.test("apply warns of variables that the service does not have, whatever its own environment", async () => {
  await using service = await startService({
    env: {
      HOOKLAUNCH_TEST_SET: "x".repeat(16),
      HOOKLAUNCH_TEST_BLANK: " ",
      HOOKLAUNCH_TEST_PADDED: `${"x".repeat(16)}\n`,
      HOOKLAUNCH_TEST_SHORT: "x".repeat(15),
    },
  });
  const file = `${service.folder}/variables.yaml`;
  const secrets = ["SET", "UNSET", "BLANK", "PADDED", "SHORT"].map((name) =>
    `{env:HOOKLAUNCH_TEST_${name}}`
  );
  const conditions = [{ ...HMAC_CONDITION, secrets }];
  const actions = [{ type: "run_execution", step: "echo" }];
  const triggers = [{ name: "hello", project: "files", conditions, actions }];
  await Deno.writeTextFile(file, JSON.stringify({ triggers }));
  const env = { HOOKLAUNCH_ADMIN_TOKEN: ADMIN_TOKEN, HOOKLAUNCH_TEST_UNSET: "x" };
  for (const outcome of ["created", "unchanged"]) {
    const { code, printed } = await run(["apply", file, "--url", service.url], env);
    assertEquals(code, 0, printed);
    assertMatch(printed, new RegExp(`^trigger hello: ${outcome} `));
    assertEquals(printed.split("\n").filter((line) => line.includes("warning")), [
      "  warning: /conditions/0/secrets/1: Matches nothing: the service's environment variable " +
      "HOOKLAUNCH_TEST_UNSET is not set, or empty",
      "  warning: /conditions/0/secrets/2: Matches nothing: the service's environment variable " +
      "HOOKLAUNCH_TEST_BLANK is not set, or empty",
      "  warning: /conditions/0/secrets/3: The service's environment variable " +
      "HOOKLAUNCH_TEST_PADDED begins or ends with white space, as of a line's end: it counts",
      "  warning: /conditions/0/secrets/4: The service's environment variable " +
      "HOOKLAUNCH_TEST_SHORT can be guessed: expected 16 characters or more, found 15",
    ]);
  }
});

Deno.test("a file that holds nothing is told of", async () => {
  await using service = await startService();
  const file = `${service.folder}/empty.yaml`;
  await Deno.writeTextFile(file, "# later\n");
  const env = { HOOKLAUNCH_ADMIN_TOKEN: ADMIN_TOKEN };
  const { code, printed } = await run(["apply", file, "--url", service.url], env);
  const said = `Nothing to apply: ${file} holds no projects and no triggers\n`;
  assertEquals([code, printed], [0, said]);
});

Deno.test("apply says of each setting that it leaves as it is when it counts", async () => {
  await using service = await startService();
  const file = `${service.folder}/start.yaml`;
  const oidc =
    "{ issuer: https://login.example.com, client_id: a, roles: [{ when: 'true', scope: read }] }";
  await Deno.writeTextFile(
    file,
    `storage: s3://bucket\nbackup: { to: ./backups, every: 1h, keep: { daily: 7 } }\noidc: ${oidc}\n`,
  );
  const { printed } = await run(["apply", file, "--url", service.url], {
    HOOKLAUNCH_ADMIN_TOKEN: ADMIN_TOKEN,
  });
  for (const setting of ["storage", "backup", "oidc"]) {
    assertStringIncludes(printed, `${setting} is read `);
  }
});

Deno.test("what trigger list and project list print as JSON is applied again, and changes nothing", async () => {
  await using service = await startService();
  const env = { HOOKLAUNCH_ADMIN_TOKEN: ADMIN_TOKEN };
  const encoded = ["whsec_YS1saXRlcmFsLW9mLXRlc3Rz", {
    secret: "whsec_dGhlLW9sZC1vbmUtb2YtdGVzdHM=",
    until: "2126-01-31T00:00:00Z",
  }];
  const made = await service.trigger({
    name: "exported",
    conditions: [
      { type: "hmac", preset: "standard_webhooks", secrets: encoded },
      { type: "static_token", in: "header", name: "X-Token", secrets: ["a-literal-of-tests"] },
    ],
    response: { type: "json", status: 202, json: { "é": ["{run_id}"] } },
  });
  const list = async (what: string) => {
    const { code, printed } = await run([what, "list", "--json", "--url", service.url], env);
    assertEquals(code, 0, printed);
    return JSON.parse(printed);
  };
  const [projects, triggers] = [await list("project"), await list("trigger")];
  const file = `${service.folder}/exported.json`;
  await Deno.writeTextFile(file, JSON.stringify({ projects, triggers }));
  const { code, printed } = await run(["apply", file, "--url", service.url], env);
  assertEquals([code, printed], [
    0,
    `project files: unchanged\ntrigger exported: unchanged  ${made.url}\n`,
  ]);
  const [owned] = triggers;
  assertEquals(await list("trigger"), [{ ...owned, owner: "file", file }]);
  // Made anew by another service: the path of its launch URL stays. Its secrets are not in what was printed.
  await using other = await startService();
  const [trigger] = triggers;
  const anew = await other.api("POST", "triggers/", { ...trigger, conditions: [] });
  assertEquals([anew.status, anew.body.url], [201, made.url.replace(service.url, other.url)]);
});

Deno.test("a new trigger takes the name from one that the file renames by its id", async (t) => {
  const actions = [{ type: "run_execution", step: "echo" }];
  const env = { HOOKLAUNCH_ADMIN_TOKEN: ADMIN_TOKEN };
  for (const isFirst of [true, false]) {
    await t.step(isFirst ? "the new one first" : "the renamed one first", async () => {
      await using service = await startService();
      const { id } = await service.trigger({ name: "retrain", actions });
      const renamed = { id, name: "retrain-old", project: "files", actions };
      const made = { name: "retrain", project: "files", enabled: false, actions };
      const triggers = isFirst ? [made, renamed] : [renamed, made];
      const file = `${service.folder}/renamed.json`;
      await Deno.writeTextFile(file, JSON.stringify({ triggers }));
      const apply = (...args: string[]) => run(["apply", file, ...args, "--url", service.url], env);
      const planned = await apply("--check", "--prune");
      assertMatch(planned.printed, /^~ trigger retrain-old .*\n {4}name: /m);
      assertMatch(planned.printed, /^\+ trigger retrain would be created/m);
      assertEquals((await apply()).code, 0);
      const { body } = await service.api("GET", "triggers/");
      const found = body.results.map((each: typeof renamed) => [each.name, each.id === id]);
      assertEquals(found.toSorted(), [["retrain", false], ["retrain-old", true]]);
    });
  }
});

Deno.test("triggers that a file renames take names from each other, whichever comes first", async () => {
  const actions = [{ type: "run_execution", step: "echo" }];
  const env = { HOOKLAUNCH_ADMIN_TOKEN: ADMIN_TOKEN };
  await using service = await startService();
  const triggers: { id: string; name: string; project: string; actions: unknown }[] = [];
  for (const [name, next] of [["one", "two"], ["two", "three"], ["three", "four"]] as const) {
    const { id } = await service.trigger({ name, actions });
    triggers.push({ id, name: next, project: "files", actions });
  }
  const file = `${service.folder}/renamed.json`;
  await Deno.writeTextFile(file, JSON.stringify({ triggers }));
  const apply = (...args: string[]) => run(["apply", file, ...args, "--url", service.url], env);
  const planned = await apply("--check");
  const applied = await apply();
  assertEquals(applied.code, 0, applied.printed);
  const named = ({ printed }: typeof applied) =>
    Array.from(printed.matchAll(/trigger (\S+?):? /g), ([, name]) => name);
  assertEquals([named(planned), named(applied)], Array(2).fill(["four", "three", "two"]));
  const { body } = await service.api("GET", "triggers/");
  const found = new Map(
    body.results.map((each: { id: string; name: string }) => [each.id, each.name]),
  );
  assertEquals(triggers.map(({ id }) => found.get(id)), ["two", "three", "four"]);
});

Deno.test("a trigger that somebody else makes while a file is applied is brought up to date", async () => {
  await using service = await startService();
  const target = apiTarget(new ApiClient({ url: service.url, token: ADMIN_TOKEN }), "hooks.yaml");
  const actions = [{ type: "run_execution", step: "echo" }];
  const text = (enabled: boolean) =>
    JSON.stringify({ triggers: [{ name: "hello", project: "files", enabled, actions }] });
  let listed = 0;
  const late = {
    ...target,
    async triggers() {
      const triggers = await target.triggers();
      if (listed++ === 0) await Array.fromAsync(applyConfig(parseConfig(text(true), "a"), target));
      return triggers;
    },
  };
  const [applied] = await Array.fromAsync(applyConfig(parseConfig(text(false), "a"), late));
  assertEquals([applied?.outcome, applied?.name], ["updated", "hello"]);
  assertEquals((await target.triggers()).map(({ name, enabled }) => [name, enabled]), [
    ["hello", false],
  ]);
});

Deno.test("apply that is refused in the middle has told what it had done", async () => {
  await using service = await startService();
  const file = `${service.folder}/half.yaml`;
  const actions = [{ type: "run_execution", step: "echo" }];
  const triggers = ["files", "nowhere"].map((project) => ({
    name: `of-${project}`,
    project,
    actions,
  }));
  await Deno.writeTextFile(file, JSON.stringify({ triggers }));
  const env = { HOOKLAUNCH_ADMIN_TOKEN: ADMIN_TOKEN };
  const { code, printed } = await run(["apply", file, "--url", service.url], env);
  assertEquals(code, 1);
  assertMatch(printed, /trigger of-files: created {2}http/);
  assertMatch(printed, /\/triggers\/1\/project: line 1, column \d+: .*found "nowhere"/);
});

Deno.test("apply says what is wrong: in the file, with the service, with the token", async (t) => {
  await using service = await startService();
  const { id } = await service.trigger({ name: "first" });
  await service.trigger({ name: "taken" });
  const gone = await service.trigger({ name: "gone" });
  assertEquals((await service.api("DELETE", `triggers/${gone.id}/`)).status, 204);
  const file = `${service.folder}/bad.yaml`;
  const good =
    "triggers: [{ name: a, project: files, actions: [{ type: run_execution, step: s }] }]";
  const token = { HOOKLAUNCH_ADMIN_TOKEN: ADMIN_TOKEN };
  const cases: [
    name: string,
    text: string,
    url: string,
    env: Record<string, string>,
    says: RegExp,
  ][] = [
    ["not YAML", "triggers: [", service.url, token, /line 1, column 12/],
    [
      "duplicate names",
      `${good.slice(0, -1)}, ${good.slice("triggers: [".length)}`,
      service.url,
      token,
      /line 1, column \d+: .*"a" a second time/,
    ],
    [
      "an id for two triggers",
      JSON.stringify({
        triggers: ["a", "b"].map((name) => ({
          name,
          id: "0190fe82-c984-7f66-8302-69874914e1c9",
          project: "files",
          actions: [{ type: "run_execution", step: "echo" }],
        })),
      }),
      service.url,
      token,
      /\/triggers\/1\/id: line 1, column \d+: .*a unique id, found "0190fe82-.*" a second time/,
    ],
    [
      "the name of another trigger for one that has an id",
      `triggers:\n  - { id: ${id}, name: taken, project: files, ` +
      "actions: [{ type: run_execution, step: s }] }",
      service.url,
      token,
      /\/triggers\/0\/name: line 2, column 49: .*found "taken", which another trigger has/,
    ],
    [
      "the id of a trigger that was deleted",
      `triggers:\n  - { id: ${gone.id}, name: gone, project: files, ` +
      "actions: [{ type: run_execution, step: s }] }",
      service.url,
      token,
      /\/triggers\/0: line 2, column 5: .*the id \S+ is or was that of another one. Leave it out/,
    ],
    [
      "unknown project",
      good.replace("files", "fils"),
      service.url,
      token,
      /\/triggers\/0\/project: line 1, column 23: .*found "fils"/,
    ],
    [
      "no scheme",
      good,
      "localhost:18100",
      token,
      /--url.*Expected a URL such as https:\/\/hooks.example.com, found "localhost:18100"/,
    ],
    [
      "a password",
      good,
      "https://ada:top#secret@hooks.example.com",
      token,
      /--url.*, without a password, found "https:\/\/\*\*\*@hooks.example.com"/,
    ],
    [
      "nobody there",
      good,
      "http://127.0.0.1:9",
      token,
      /Cannot reach the service at http:\/\/127.0.0.1:9/,
    ],
    [
      "wrong token",
      good,
      service.url,
      { HOOKLAUNCH_ADMIN_TOKEN: "wrong-token-but-long" },
      /answered 401: Send an operator's token.* does not know the token in HOOKLAUNCH_ADMIN_TOKEN/,
    ],
    ["no token", good, service.url, { HOOKLAUNCH_ADMIN_TOKEN: "" }, /HOOKLAUNCH_ADMIN_TOKEN/],
  ];
  for (const [name, text, url, env, says] of cases) {
    await t.step(name, async () => {
      await Deno.writeTextFile(file, text);
      const { code, printed } = await run(["apply", file, "--url", url], env);
      assertEquals(code, 1, printed);
      assertMatch(printed, says);
    });
  }
  await t.step("no scheme in the variable", async () => {
    const env = { ...token, HOOKLAUNCH_URL: "hooks.example.com" };
    const { code, printed } = await run(["apply", file], env);
    assertEquals(code, 1, printed);
    assertMatch(printed, /HOOKLAUNCH_URL.*Expected a URL such as .*, found "hooks.example.com"/);
  });
});

Deno.test("what comes through a pipe is applied, its folders taken from the current one", async (t) => {
  await using service = await startService();
  const here = `${service.folder}/here`;
  await Deno.mkdir(here);
  const apply = `${HOOKLAUNCH_LINE} apply`;
  for (const way of [`${apply} - < "$0"`, `cat "$0" | ${apply} -`, `${apply} <(cat "$0")`]) {
    await t.step(way, async () => {
      const name = `piped-${crypto.randomUUID()}`;
      const file = `${service.folder}/piped.yaml`;
      const projects = [{ name, directory: "../project" }];
      await Deno.writeTextFile(file, JSON.stringify({ projects }));
      const { code, stdout } = await new Deno.Command("bash", {
        args: ["-c", way, file],
        env: { HOOKLAUNCH_ADMIN_TOKEN: ADMIN_TOKEN, HOOKLAUNCH_URL: service.url },
        cwd: here,
      }).output();
      assertEquals(
        [code, new TextDecoder().decode(stdout)],
        [0, `project ${name}: created\n`],
      );
      const { body } = await service.api("GET", `projects/${name}/`);
      assertEquals(body.directory, `${service.folder}/project`);
    });
  }
});
