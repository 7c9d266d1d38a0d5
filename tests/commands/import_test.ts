/** `hooklaunch import webhook`: hooks as people have them, and what the service then does. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { parse } from "yaml";
import { ADMIN_TOKEN, startService, temporaryFolder } from "../data.ts";
import { runHosted as run } from "./hosted.ts";

const match = (type: string, value: string, source: string, name: string) => ({
  match: {
    type,
    [type === "value" ? "value" : type === "regex" ? "regex" : "secret"]: value,
    parameter: { source, name },
  },
});
const address = (range: string) => ({ match: { type: "ip-whitelist", "ip-range": range } });
const GITHUB = match(
  "payload-hmac-sha256",
  "a secret of this test",
  "header",
  "X-Hub-Signature-256",
);

/** Converts hooks, and returns the files, what was said, and what `check` says of them. */
async function convert(hooks: unknown) {
  await using folder = await temporaryFolder();
  const file = `${folder.path}/hooks.json`;
  await Deno.writeTextFile(file, typeof hooks === "string" ? hooks : JSON.stringify(hooks));
  const { code, printed } = await run(["import", "webhook", file, "--to", folder.path]);
  if (code !== 0) return { code, printed, check: "", config: undefined, env: "" };
  const config = parse(await Deno.readTextFile(`${folder.path}/hooklaunch.yaml`));
  const env = await Deno.readTextFile(`${folder.path}/hooks.env`).catch(() => "");
  const variables = env === "" ? [] : ["--env-file", `${folder.path}/hooks.env`];
  const check = await run([...variables, "check", `${folder.path}/hooklaunch.yaml`]);
  return { code, printed, config, env, check: check.printed };
}

Deno.test("import webhook converts the rules of hooks, or disables what it cannot convert", async (t) => {
  type Case = [name: string, rule: unknown, conditions: unknown[], says?: RegExp, more?: unknown];
  const hmac = { type: "hmac", preset: "github", secrets: ["{env:H_SECRET}"] };
  const filter = (expression: string) => ({ type: "payload_filter", expression });
  const closed = [filter("false")];
  const ref = "string(body.?ref.orValue(''))";
  const cases: Case[] = [
    ["a signature", GITHUB, [hmac]],
    ["two secrets of one signature", {
      or: [
        GITHUB,
        match("payload-hash-sha256", "another secret of it", "header", "X-Hub-Signature-256"),
      ],
    }, [{ ...hmac, secrets: ["{env:H_SECRET}", "{env:H_SECRET_2}"] }]],
    [
      "an older signature",
      match("payload-hash-sha1", "a secret of this test", "header", "X-Hub-Signature"),
      [{
        type: "hmac",
        algorithm: "sha1",
        header: "X-Hub-Signature",
        prefix: "sha1=",
        secrets: ["{env:H_SECRET}"],
      }],
    ],
    ["a token in a header", match("value", "a token of this test", "header", "X-Gitlab-Token"), [
      { type: "static_token", in: "header", name: "X-Gitlab-Token", secrets: ["{env:H_SECRET}"] },
    ]],
    ["a token in the URL", match("value", "a token of this test", "url", "token"), [
      { type: "static_token", in: "query", name: "token", secrets: ["{env:H_SECRET}"] },
    ]],
    ["a token within the body", match("value", "a token of this test", "payload", "auth.token"), [
      { type: "static_token", in: "body", name: "/auth/token", secrets: ["{env:H_SECRET}"] },
    ]],
    ["a token that is empty", match("value", "", "header", "X-Token"), [
      { type: "static_token", in: "header", name: "X-Token", secrets: ["{env:H_SECRET}"] },
    ], /h: its secret is empty/],
    ["rules within rules", {
      and: [GITHUB, {
        or: [match("value", "refs/heads/main", "payload", "ref"), {
          not: match("regex", "^it's", "payload", "ref"),
        }],
      }],
    }, [hmac, filter(`(${ref} == 'refs/heads/main' || !(${ref}.matches('^it\\'s')))`)]],
    ["addresses", { or: [address("192.0.2.0/24"), address("2001:db8::/32")] }, [
      { type: "ip_allowlist", ranges: ["192.0.2.0/24", "2001:db8::/32"] },
    ], /nothing proves who sends/],
    ["elements and odd names", {
      and: [
        match("value", "1", "payload", "commits.0.id"),
        match("value", "x", "payload", "a-b"),
        match("value", "y", "header", "X-Event"),
        match("value", "processed", "payload", "root.0.event"),
      ],
    }, [filter(
      "string(body.?commits[0].?id.orValue('')) == '1' && string(body['a-b']) == 'x' && " +
        "('x-event' in headers ? headers['x-event'] : '') == 'y' && string(body[0].?event.orValue('')) == 'processed'",
    )]],
    [
      "a signature within a choice",
      { or: [GITHUB, match("value", "x", "payload", "a")] },
      closed,
      /h: disabled: .*payload-hmac-sha256/,
    ],
    [
      "Scalr's signature",
      { match: { type: "scalr-signature", secret: "s" } },
      closed,
      /h: disabled: .*scalr-signature/,
    ],
    [
      "a template",
      match("value", "x", "template", "{{.}}"),
      closed,
      /h: disabled: its rule has the source template/,
    ],
    ["XML", match("value", "x", "payload", "app.text.#text"), closed, /h: disabled: .*XML/],
    ["no rule", undefined, [], /nothing proves who sends/],
  ];
  for (const [name, rule, conditions, says = /1 hook\./] of cases) {
    await t.step(name, async () => {
      const hook = { id: "h", "execute-command": "/bin/true", "trigger-rule": rule };
      const { printed, config, check } = await convert([hook]);
      assertEquals(config.triggers[0].conditions, conditions);
      assertEquals(config.triggers[0].enabled, conditions === closed ? false : undefined);
      assertMatch(printed, says);
      assertMatch(check, /1 project, 1 trigger: no errors/);
    });
  }
});

Deno.test("import webhook tells what is different, and what it cannot read", async (t) => {
  const hook = { id: "team/h", "execute-command": "/bin/true", "trigger-rule": GITHUB };
  const cases: [name: string, hooks: unknown, code: number, says: RegExp[]][] = [
    ["another method", [{ ...hook, "http-methods": ["Post ", "GET"] }], 0, [
      /POST alone launches, not GET/,
    ]],
    ["a name that no trigger can have", [hook], 0, [/team\/h: the trigger is called team-h/]],
    ["its command's output", [{ ...hook, "include-command-output-in-response": true }], 0, [
      /execution log/,
    ]],
    ["a field of no hook", [{ ...hook, "http-method": "POST" }], 0, [/not read: http-method/]],
    ["a command before", [{ ...hook, "pre-hook-command": "/x" }], 0, [
      /disabled: pre-hook-command/,
    ]],
    ["a status of an error", [{ ...hook, "success-http-response-code": 500 }], 0, [
      /200 instead of 500/,
    ]],
    [
      "a variable of a template, and a comma too many",
      '[{"id": "h", "execute-command": "/x", "trigger-rule": {"match": ' +
      '{"type": "payload-hmac-sha1", "secret": "{{ getenv "HOOK" | js }}", "parameter": {"source": "header", "name": "X"}}},},]',
      0,
      [],
    ],
    ["no list", { id: "h" }, 1, [/Expected an array, found an object/]],
    ["no command, with its place", '[\n  {"id": "h"}]', 1, [
      /\/0\/execute-command: line 2, column 3: Expected/,
    ]],
  ];
  for (const [name, hooks, code, says] of cases) {
    await t.step(name, async () => {
      const found = await convert(hooks);
      assertEquals(found.code, code, found.printed);
      for (const each of says) assertMatch(found.printed, each);
      assert(!found.printed.includes("a secret of this test"));
    });
  }
});

Deno.test("a converted hook does what it did: its command gets the same arguments, variables and files", async () => {
  await using service = await startService({ env: { DEPLOY_SECRET: "a secret of this test" } });
  const script = `${service.folder}/deploy.sh`;
  await Deno.writeTextFile(
    script,
    'echo "$#: $1|$2|$3|$HOOK_who_name|$(cat "$FILE")|$BODY|$(pwd)"\n',
  );
  const value = (source: string, name: string, more = {}) => ({ source, name, ...more });
  const hooks = [{
    id: "deploy",
    "execute-command": "/bin/sh",
    "command-working-directory": "/",
    "pass-arguments-to-command": [
      value("string", script),
      value("payload", "commits.0.id"),
      value("payload", "note"),
      value("payload", "none"),
    ],
    "pass-environment-to-command": [
      value("payload", "who.name"),
      value("entire-payload", "", { envname: "BODY" }),
    ],
    "pass-file-to-command": [value("payload", "file", { envname: "FILE", base64decode: true })],
    "trigger-rule": { and: [GITHUB, match("value", "refs/heads/main", "payload", "ref")] },
    "response-message": "Deploying {now}",
  }];
  const to = `${service.folder}/converted`;
  const file = `${service.folder}/hooks.json`;
  await Deno.writeTextFile(file, JSON.stringify(hooks));
  const env = { HOOKLAUNCH_ADMIN_TOKEN: ADMIN_TOKEN, HOOKLAUNCH_URL: service.url };
  const says = async (code: number, ...args: string[]) => {
    const end = await run(args, env);
    assertEquals(end.code, code, end.printed);
    return end.printed;
  };
  await says(0, "import", "webhook", file, "--to", to);
  const { mode } = await Deno.stat(`${to}/hooks.env`);
  assertEquals((mode ?? 0) & 0o777, 0o600);
  assertStringIncludes(await says(1, "import", "webhook", file, "--to", to), "--force");
  await says(0, "apply", `${to}/hooklaunch.yaml`);
  const body = `${service.folder}/body.json`;
  const note = `it's "$(id)" {x}`;
  const payload = {
    ref: "refs/heads/main",
    commits: [{ id: 7 }],
    note,
    who: { name: "Ada" },
    file: btoa("content"),
  };
  await Deno.writeTextFile(body, JSON.stringify(payload));
  assertStringIncludes(await says(0, "send", "deploy", body, "--wait"), "200 Deploying {now}");
  const [id = ""] = (await says(0, "execution", "list", "-q")).split("\n");
  assertStringIncludes(
    await says(0, "execution", "log", id),
    `3: 7|${note}||Ada|content|${JSON.stringify(payload)}|/`,
  );
  await Deno.writeTextFile(body, JSON.stringify({ ...payload, ref: "refs/heads/other" }));
  assertStringIncludes(await says(0, "send", "deploy", body), '200 {"status":"ignored"}');
});
