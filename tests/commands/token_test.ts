/** `hooklaunch token` as a process of its own, on a real service. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { ADMIN_TOKEN, startService, temporaryFolder } from "../data.ts";
import { runHosted as run } from "./hosted.ts";
import { hooklaunch, run as runAlone } from "./process.ts";

Deno.test("a token is made, used, listed without itself and revoked", async () => {
  await using service = await startService();
  const hooklaunch = (token: string, ...args: string[]) =>
    run(["token", ...args, "--url", service.url], { HOOKLAUNCH_ADMIN_TOKEN: token });
  const made = await hooklaunch(ADMIN_TOKEN, "create", "ci");
  assertEquals(made.code, 0, made.printed);
  const [token = ""] = /^hl_\S{43}$/m.exec(made.printed) ?? [];
  assert(token !== "", made.printed);

  const list = await hooklaunch(token, "list");
  assertEquals(list.code, 0, list.printed);
  assertMatch(list.printed, /\n\(variable\) +HOOKLAUNCH_ADMIN_TOKEN +admin\n/);
  const [, id = ""] = /\n([0-9a-f]{16}) +ci +admin +20\S+Z(?: +20\S+Z)?\n/.exec(list.printed) ?? [];
  assert(id !== "" && !list.printed.includes(token), list.printed);

  const revoked = await hooklaunch(ADMIN_TOKEN, "revoke", id);
  assertEquals(revoked.code, 0, revoked.printed);
  assertStringIncludes(revoked.printed, `Token ${id} is revoked`);
  assertMatch((await hooklaunch(token, "list")).printed, /answered 401/);
  const again = await hooklaunch(ADMIN_TOKEN, "revoke", id);
  assertEquals(again.code, 1);
  assertStringIncludes(again.printed, `There is no token of the id ${id}`);
  assertEquals(JSON.parse((await hooklaunch(ADMIN_TOKEN, "list", "--json")).printed), []);
  const elsewhere = await hooklaunch(ADMIN_TOKEN, "revoke", "../triggers/x");
  assertStringIncludes(elsewhere.printed, "There is no token of the id ../triggers/x");
  assertMatch((await hooklaunch(ADMIN_TOKEN, "create", "script")).stdout, /^hl_\S{43}\n$/);
  const asJson = JSON.parse((await hooklaunch(ADMIN_TOKEN, "create", "cd", "--json")).printed);
  assertEquals((await hooklaunch(asJson.token, "revoke", asJson.id)).code, 0);
});

Deno.test("a token that would have expired already is not made", async () => {
  for (const when of ["0d", "2020-01-31"]) {
    const { code, printed } = await run(["token", "create", "ci", "--expires", when]);
    assertEquals(code, 1, printed);
    assertStringIncludes(printed, "Expected a time in the future");
  }
});

Deno.test("the operators' token of a first start is in a file where there is no terminal, and in no log", async () => {
  await using folder = await temporaryFolder();
  const data = `${folder.path}/data`;
  const args = ["serve", "--dev", "--port", "0", "--data", data];
  const env = { HOOKLAUNCH_ADMIN_TOKEN: "" };
  // A file that cannot be written: nobody would know the token.
  await Deno.mkdir(`${data}/admin.token/x`, { recursive: true, mode: 0o700 });
  assertEquals((await runAlone(args, env)).code, 1);
  await Deno.remove(`${data}/admin.token`, { recursive: true });

  await using service = hooklaunch(args, env);
  const [, file = ""] = await service.expect(/operators' token is in (\S+), which/);
  await service.expect(/Listening/);
  assertEquals(file, `${data}/admin.token`);
  assertEquals((await Deno.stat(file)).mode ?? 0, 0o100600);
  const token = (await Deno.readTextFile(file)).trim();
  assertMatch(token, /^hl_[\w-]{43}$/);
  assert(!service.printed().includes(token.slice(3, 20)), service.printed());
  const list = await run(["token", "list"], {
    HOOKLAUNCH_ADMIN_TOKEN: token,
    HOOKLAUNCH_DATA: data,
  });
  assertEquals(list.code, 0, list.printed);
  assertMatch(list.printed, /^ID[^\n]*\n[0-9a-f]{16} +first +admin /);
});
