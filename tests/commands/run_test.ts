/** `hooklaunch run` as a process of its own, on a real service. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { ADMIN_TOKEN, endOfExecution, endOfRun, startService } from "../data.ts";
import { run } from "./process.ts";

const TOKEN = { HOOKLAUNCH_ADMIN_TOKEN: ADMIN_TOKEN };

Deno.test("runs are listed, shown and launched again, and their payloads read", async (t) => {
  await using service = await startService();
  const trigger = await service.trigger({
    name: "labels",
    response: { type: "text", text: "{run_id}" },
  });
  const body = "first\u001b[2J\u0000\n";
  const id = await (await fetch(trigger.url, { method: "POST", body })).text();
  const record = await endOfRun(service, id);
  const { execution_id } = record.actions[0].created;
  const url = ["--url", service.url];
  const hooklaunch = async (...args: string[]) => {
    const { code, printed } = await run(["run", ...args, ...url], TOKEN);
    assertEquals(code, 0, printed);
    return printed;
  };

  await t.step("list", async () => {
    const printed = await hooklaunch("list", "labels");
    assertMatch(printed, /^ID +STATUS +CREATED +FROM +BYTES +ACTIONS\n/);
    assertStringIncludes(
      printed,
      `run_execution: execution_step copy execution_id ${execution_id}`,
    );
    assertEquals(JSON.parse(await hooklaunch("list", trigger.id, "--json"))[0].id, id);
  });
  await t.step("show", async () => {
    const printed = await hooklaunch("show", id);
    assertMatch(printed, /\nstatus +completed\n/);
    assertStringIncludes(printed, `${body.length} bytes, sha256 ${record.payload.sha256}`);
    assertMatch(printed, new RegExp(`\naction 0 +run_execution: .*execution_id ${execution_id}\n`));
    assertEquals(JSON.parse(await hooklaunch("show", id, "--json")), record);
  });
  await t.step("payload", async () => {
    assertEquals(await hooklaunch("payload", id), body);
    const file = `${service.folder}/payload`;
    assertEquals(await hooklaunch("payload", id, "--output", file), "");
    assertEquals(await Deno.readTextFile(file), body);
    const again = await run(["run", "payload", id, "--output", file, ...url], TOKEN);
    assertEquals(again.code, 1);
    assertMatch(again.printed, /Cannot write the payload to .*exists/);
  });
  await t.step("replay", async () => {
    const printed = await hooklaunch("replay", id);
    assertMatch(printed, new RegExp(`\nreplay_of +${id}\n`));
    const [, replayed = ""] = /^id +(\S+)\n/.exec(printed) ?? [];
    const { actions } = await endOfRun(service, replayed);
    await endOfExecution(service, actions[0].created.execution_id);
    assert((await hooklaunch("list", "labels", "--limit", "1")).includes(replayed));
  });
  await t.step("an id that is none", async () => {
    const { code, printed } = await run(["run", "show", id.slice(0, 8), ...url], TOKEN);
    assertEquals(code, 1);
    assertStringIncludes(printed, "Expected a full id");
  });
});
