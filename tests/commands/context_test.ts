/** Contexts name services, and their tokens stay in a file of their owner. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { ADMIN_TOKEN, startService, temporaryFolder } from "../data.ts";
import { runHosted } from "./hosted.ts";

Deno.test("contexts: which service and which token a command uses", async (t) => {
  await using folder = await temporaryFolder();
  await using service = await startService();
  await service.trigger({ name: "hello" });
  const { body: other } = await service.api("POST", "tokens/", { name: "other", scope: "read" });
  const file = `${folder.path}/config/hooklaunch/contexts.json`;
  const HOME = { XDG_CONFIG_HOME: `${folder.path}/config`, HOOKLAUNCH_DATA: `${folder.path}/none` };
  const good = `${folder.path}/good`;
  const wrong = `${folder.path}/wrong`;
  await Deno.writeTextFile(good, `${ADMIN_TOKEN}\n`);
  await Deno.writeTextFile(wrong, "no-token-of-this-service\n");
  await Deno.writeTextFile(`${folder.path}/blank`, "a token\n");
  const away = "http://127.0.0.1:9";
  const cases: [args: string, env: Record<string, string>, code: number, says: RegExp][] = [
    ["context list", {}, 0, /^ +NAME +URL +TOKEN\n$/],
    ["context show", {}, 0, /^No context is in use/],
    ["context show --json", {}, 0, /^null\n$/],
    [`context add prod --url ${service.url} --token-file ${good}`, {}, 0, /Context prod is added/],
    [`context add prod --url ${away}`, {}, 1, /There is a context "prod" already/],
    ["context add x --url nonsense", {}, 1, /Expected a URL such as/],
    [`context add a/b --url ${away}`, {}, 1, /Expected 1 to 64 letters/],
    [
      `context add x --url ${away} --token-file ${folder.path}/blank`,
      {},
      1,
      /found another character/,
    ],
    [`context add bad --url ${service.url} --token-file ${wrong}`, {}, 0, /Context bad is added/],
    [`context add bare --url ${service.url}`, {}, 0, /Context bare is added/],
    [`context add away --url ${away} --token-file ${good}`, {}, 0, /Context away is added/],
    ["context list -q", {}, 0, /^prod\nbad\nbare\naway\n$/],
    ["context use nobody", {}, 1, /There is no context "nobody"; there are: prod, bad, bare, away/],
    ["context use", {}, 1, /Expected the name of a context, or --none/],
    ["context use prod", {}, 0, /Commands speak to prod now/],
    ["context list", {}, 0, /\n\* +prod +http\S+ +stored\n.*\n +bare +http\S+ +none\n/],
    ["context show", {}, 0, /^name +prod\n[^]*token +stored\nin_use +yes\n/],
    // The context in use has address and token.
    ["trigger list -q", {}, 0, /^[0-9a-f-]{36}\n$/],
    // Variables come before it.
    [
      "trigger list -q",
      { HOOKLAUNCH_URL: away },
      1,
      /the operator's token: Expected it in the variable/,
    ],
    ["trigger list -q", { HOOKLAUNCH_URL: away, HOOKLAUNCH_ADMIN_TOKEN: "x" }, 1, /127\.0\.0\.1:9/],
    ["trigger list -q", { HOOKLAUNCH_CONTEXT: "away" }, 1, /127\.0\.0\.1:9/],
    ["trigger list -q", { HOOKLAUNCH_CONTEXT: "bad" }, 1, /does not know the token in context bad/],
    [
      "trigger list -q",
      { HOOKLAUNCH_ADMIN_TOKEN: "x" },
      1,
      /does not know the token in HOOKLAUNCH_ADMIN_TOKEN/,
    ],
    [
      "trigger list -q --context bare",
      { HOOKLAUNCH_ADMIN_TOKEN: other.token },
      0,
      /^[0-9a-f-]{36}\n$/,
    ],
    ["trigger list -q --context bare", {}, 1, /Expected it in the variable HOOKLAUNCH_ADMIN_TOKEN/],
    // An option comes before variables.
    [
      "trigger list -q --context prod",
      { HOOKLAUNCH_URL: away, HOOKLAUNCH_ADMIN_TOKEN: "x" },
      0,
      /^[0-9a-f-]{36}\n$/,
    ],
    [`trigger list -q --url ${away}`, {}, 1, /Expected it in the variable HOOKLAUNCH_ADMIN_TOKEN/],
    [`trigger list -q --url ${away} --context prod`, {}, 1, /Expected it in the variable/],
    ["trigger list --context none", {}, 1, /There is no context "none"/],
    ["context show", { HOOKLAUNCH_URL: away }, 0, /\ncomes_first +HOOKLAUNCH_URL\n/],
    ["context remove prod", {}, 0, /Context prod is removed/],
    ["context show", {}, 0, /^No context is in use/],
    ["context use bad", {}, 0, /Commands speak to bad now/],
    ["context use --none", {}, 0, /this machine's service now/],
    ["trigger list -q", {}, 1, /Expected it in the variable HOOKLAUNCH_ADMIN_TOKEN/],
  ];
  for (const [args, env, code, says] of cases) {
    await t.step(`${args} ${Object.keys(env).join(" ")}`, async () => {
      const ended = await runHosted(args.split(" "), { ...HOME, ...env });
      assertMatch(ended.printed, says);
      assertEquals(ended.code, code, ended.printed);
      for (const token of [ADMIN_TOKEN, "no-token-of-this-service", other.token]) {
        assert(!ended.printed.includes(token), ended.printed);
      }
    });
  }
  await t.step("the file is for its owner alone", async () => {
    assertEquals(((await Deno.stat(file)).mode ?? 0) & 0o777, 0o600);
    assertEquals(((await Deno.stat(`${folder.path}/config/hooklaunch`)).mode ?? 0) & 0o777, 0o700);
  });
  await t.step("in ~/.config without XDG_CONFIG_HOME, and with one that is relative", async () => {
    await Deno.rename(`${folder.path}/config`, `${folder.path}/.config`);
    for (const XDG_CONFIG_HOME of ["", "config"]) {
      const env = { HOME: folder.path, XDG_CONFIG_HOME };
      assertEquals((await runHosted(["context", "list", "-q"], env)).printed, "bad\nbare\naway\n");
    }
  });
  await t.step("a damaged file is told, and no part of it shown", async () => {
    for (const [text, why] of [["{ secret", "it is no JSON"], ['{"contexts":1}', "other JSON"]]) {
      await Deno.writeTextFile(`${folder.path}/.config/hooklaunch/contexts.json`, text ?? "");
      const env = { HOME: folder.path, XDG_CONFIG_HOME: "" };
      const { code, printed } = await runHosted(["context", "list"], env);
      assertEquals(code, 1);
      assertStringIncludes(printed, why ?? "");
      assert(!printed.includes("secret"), printed);
    }
  });
});
