/** `hooklaunch login` and `logout`: the token is confirmed in the console, and stays in a file of its owner. */
import { assertEquals, assertMatch } from "@std/assert";
import { listDeviceLogins } from "../../src/store/records/device_logins.ts";
import { eventually, startService, temporaryFolder } from "../data.ts";
import { loggedIn } from "../http/console/fixture.ts";
import { runHosted } from "./hosted.ts";

Deno.test("a command line logs in, is used, and logs out", async (t) => {
  await using folder = await temporaryFolder();
  await using service = await startService();
  const { store } = service.service.parts;
  await service.trigger({ name: "hello" });
  const { body: made } = await service.api("POST", "tokens/", { name: "shared", scope: "operate" });
  const browser = await loggedIn(service, made.token);
  const config = `${folder.path}/config`;
  const file = `${config}/hooklaunch/logins.json`;
  const HOME = {
    XDG_CONFIG_HOME: config,
    HOOKLAUNCH_DATA: `${folder.path}/none`,
    HOSTNAME: "desk",
  };
  const run = (args: string, env: Record<string, string> = {}) =>
    runHosted([...args.split(" "), "--url", service.url], { ...HOME, ...env });
  /** Runs a login, and decides on it as soon as it waits. */
  const login = async (args: string, decision: string) => {
    const ended = run(args);
    const code = await eventually(async () => {
      const waiting = await listDeviceLogins(store);
      return waiting.find(([, each]) => each.decision === undefined)?.[1].user_code;
    }, { what: "a login that waits" });
    const answer = await browser.post("access/device", {
      csrf: await browser.csrf(),
      code,
      decision,
    });
    assertEquals(answer.status, 303, answer.text);
    return { ...await ended, user_code: code };
  };

  await t.step("before it, a command says how to log in", async () => {
    const { code, printed } = await run("trigger list -q");
    assertMatch(printed, /log in with hooklaunch login/);
    assertEquals(code, 1);
  });
  await t.step("it is confirmed in the console", async () => {
    const { code, printed, user_code } = await login("login --scope admin", "confirm");
    assertEquals(code, 0, printed);
    assertMatch(printed, new RegExp(`enter the code ${user_code}`));
    assertMatch(printed, /Logged in as shared with the scope operate, until \d{4}-/);
    assertEquals(((await Deno.stat(file)).mode ?? 0) & 0o777, 0o600);
    const { body: { results } } = await service.api("GET", "tokens/");
    assertEquals(results.map(({ name }: { name: string }) => name).sort(), [
      "shared",
      "shared on desk",
    ]);
  });
  const cases: [args: string, env: Record<string, string>, code: number, says: RegExp][] = [
    ["trigger list -q", {}, 0, /^[0-9a-f-]{36}\n$/],
    [
      "token list",
      {},
      1,
      /needs a token with the scope "admin"; the scope of "shared" is "operate"/,
    ],
    [
      "trigger list -q",
      { HOOKLAUNCH_ADMIN_TOKEN: "x" },
      1,
      /know the token in HOOKLAUNCH_ADMIN_TOKEN/,
    ],
  ];
  for (const [args, env, code, says] of cases) {
    await t.step(`${args} ${Object.keys(env)}`, async () => {
      const ended = await run(args, env);
      assertMatch(ended.printed, says);
      assertEquals(ended.code, code);
    });
  }
  await t.step("it is refused in the console", async () => {
    const { code, printed } = await login("login", "deny");
    assertMatch(printed, /Not logged in: it was refused in the console/);
    assertEquals(code, 1);
    assertEquals((await run("trigger list -q")).code, 0);
  });
  await t.step("it ends: here, and at the service", async () => {
    const { code, printed } = await run("logout");
    assertMatch(printed, /Logged out: the token is revoked/);
    assertEquals(code, 0);
    assertEquals(JSON.parse(await Deno.readTextFile(file)), {});
    assertEquals((await service.api("GET", "tokens/")).body.results.length, 1);
    assertMatch((await run("logout")).printed, /There is no login at this service/);
    assertMatch((await run("trigger list -q")).printed, /log in with hooklaunch login/);
  });
});
