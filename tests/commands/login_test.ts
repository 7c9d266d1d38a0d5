/** `hooklaunch login` and `logout`: the token is confirmed in the console, and stays in a file of its owner. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { listDeviceLogins } from "../../src/store/records/device_logins.ts";
import { eventually, startService, temporaryFolder } from "../data.ts";
import { loggedIn } from "../http/console/fixture.ts";
import { runHosted } from "./hosted.ts";
import { makeKeyring } from "./keyrings.ts";

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
  const login = async (args: string, decision: string, env: Record<string, string> = {}) => {
    const ended = run(args, env);
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
    const { code, printed, user_code } = await login("login --no-keyring --scope admin", "confirm");
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
    const { code, printed } = await login("login --no-keyring", "deny");
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
  await t.step("a computer whose shell does not hand its name on is asked for it", async () => {
    const bin = `${folder.path}/names`;
    await Deno.mkdir(bin);
    await Deno.writeTextFile(`${bin}/uname`, "#!/bin/sh\necho notebook.local\n", { mode: 0o755 });
    const path = `${bin}:${Deno.env.get("PATH")}`;
    await login("login --no-keyring", "confirm", { HOSTNAME: "", PATH: path });
    const { body: { results } } = await service.api("GET", "tokens/");
    assertEquals(results.map(({ name }: { name: string }) => name).sort(), [
      "shared",
      "shared on notebook.local",
    ]);
    assertEquals((await run("logout")).code, 0);
  });
  const nowhere = `${folder.path}/nowhere`;
  await Deno.mkdir(nowhere);
  await Deno.symlink(`${nowhere}/gone`, `${nowhere}/hooklaunch`);
  const unkept: [args: string, env: Record<string, string>, says: RegExp][] = [
    ["login", { XDG_CONFIG_HOME: "", HOME: "" }, /Expected a home folder in HOME, or XDG_CONFIG_/],
    ["login", { XDG_CONFIG_HOME: nowhere }, /the file of logins: Cannot write .*logins\.json: /],
    ["context add a", { XDG_CONFIG_HOME: nowhere }, /Cannot write .*contexts\.json: /],
  ];
  for (const [args, env, says] of unkept) {
    await t.step(`${args}: what cannot be kept does not begin: ${Object.keys(env)}`, async () => {
      const { code, printed } = await run(args, env);
      assertMatch(printed, says);
      assertEquals([code, /enter the code|Uncaught/.test(printed)], [1, false], printed);
    });
  }
  await t.step("the keyring of the desktop has the token, and gives it", async () => {
    const keyring = await makeKeyring(folder.path);
    const { code, printed } = await login("login", "confirm", keyring.env);
    assertEquals(code, 0, printed);
    assertMatch(printed, /Logged in as shared .*\. The token is in the keyring\n/);
    const [token = "", ...others] = await keyring.secrets();
    assertEquals(others, []);
    const written = await Deno.readTextFile(file);
    assertEquals(Object.keys(JSON.parse(written)[service.url]), ["expires_at"]);
    assert(!(written + printed + await keyring.calls()).includes(token), "it is nowhere else");
    assertEquals((await run("trigger list -q", keyring.env)).code, 0);
    await keyring.lock(true);
    assertMatch((await run("trigger list -q", keyring.env)).printed, /unlock it, or log in again/);
    const locked = await login("login", "confirm", keyring.env);
    assertMatch(locked.printed, /did not take the token, so a file has it: .*Cannot unlock/);
    assertMatch(locked.printed, /The token is in .*logins\.json\n/);
    assertEquals(((await Deno.stat(file)).mode ?? 0) & 0o777, 0o600);
    await keyring.lock(false);
    assertMatch((await login("login", "confirm", keyring.env)).printed, /in the keyring\n/);
    assertMatch(
      (await login("login --no-keyring", "confirm", keyring.env)).printed,
      /logins\.json/,
    );
    assertEquals(await keyring.secrets(), [], "that of the login before is removed");
    await login("login", "confirm", keyring.env);
    const out = await run("logout", keyring.env);
    assertMatch(out.printed, /the token is revoked, and removed from the keyring/);
    assertEquals(await keyring.secrets(), []);
    assertEquals((await service.api("GET", "tokens/")).body.results.length, 1);
  });
});

Deno.test("a login waits for a service that is away, or refuses its network, for a moment", async () => {
  await using folder = await temporaryFolder();
  const asked: string[] = [];
  const begun = { device_code: "d", user_code: "u", interval: 1, expires_in: 600 };
  const granted = { access_token: "t", expires_in: 600, name: "me", scope: "read" };
  await using server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, ({ url }) => {
    asked.push(new URL(url).pathname);
    if (asked.length === 1) return Response.json(begun);
    const status = [503, 429][asked.length - 2];
    return status === undefined
      ? Response.json(granted)
      : Response.json({ title: "Not now", status }, { status });
  });
  const url = `http://127.0.0.1:${server.addr.port}`;
  const { code, printed } = await runHosted(["login", "--no-keyring", "--url", url], {
    XDG_CONFIG_HOME: folder.path,
  });
  assertEquals(code, 0, printed);
  assertMatch(printed, /Logged in as me with the scope read/);
  assertEquals(asked.slice(1), Array(3).fill("/api/v0/login/token/"));
});

Deno.test("a login at an address of another program says so", async () => {
  await using server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    () => new Response("<h1>Hello</h1>"),
  );
  const url = `http://127.0.0.1:${server.addr.port}`;
  const { code, printed } = await runHosted(["login", "--url", url]);
  assertEquals(code, 1);
  assertEquals(printed, `hooklaunch: The answer at ${url} is not from Hooklaunch: check the URL\n`);
});
