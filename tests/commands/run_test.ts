/** `hooklaunch run` as a process of its own, on a real service. */
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { exists } from "../../src/platform/files/missing_file.ts";
import { ADMIN_TOKEN, endOfExecution, endOfRun, startService, temporaryFolder } from "../data.ts";
import { runHosted as run } from "./hosted.ts";
import { HOOKLAUNCH_LINE } from "./process.ts";

const TOKEN = { HOOKLAUNCH_ADMIN_TOKEN: ADMIN_TOKEN };

Deno.test("runs are listed, shown and launched again, and their payloads read", async (t) => {
  await using service = await startService();
  const trigger = await service.trigger({
    name: "labels",
    response: { type: "text", text: "{run_id}" },
  });
  const body = "first\u001b[2J\u0000\n";
  const id = await (await fetch(trigger.url, { method: "POST", body })).text();
  const { actions: [{ created: { execution_id } }] } = await endOfRun(service, id);
  await endOfExecution(service, execution_id);
  const { body: record } = await service.api("GET", `runs/${id}/`);
  const url = ["--url", service.url];
  const hooklaunch = async (...args: string[]) => {
    const { code, printed } = await run(["run", ...args, ...url], TOKEN);
    assertEquals(code, 0, printed);
    return printed;
  };

  await t.step("list", async () => {
    const printed = await hooklaunch("list", "labels");
    assertMatch(printed, /^ID +TRIGGER +STATUS +CREATED +BY +FROM +BYTES +WORK +ACTIONS\n/);
    assertStringIncludes(
      printed,
      `run_execution: execution_step copy execution_id ${execution_id}`,
    );
    assertEquals(JSON.parse(await hooklaunch("list", trigger.id, "--json"))[0].id, id);
  });
  await t.step("show", async () => {
    const printed = await hooklaunch("show", id);
    assertMatch(printed, /\nstatus +complete\n/);
    assertStringIncludes(printed, `${body.length} bytes, sha256 ${record.payload.sha256}`);
    assertMatch(printed, new RegExp(`\naction 0 +run_execution: .*execution_id ${execution_id}\n`));
    // Its execution may have ended since the record was read.
    await endOfExecution(service, execution_id);
    const { body: now } = await service.api("GET", `runs/${id}/`);
    assertEquals(JSON.parse(await hooklaunch("show", id, "--json")), now);
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
  await t.step("payload where there is no room", async () => {
    const line = `${HOOKLAUNCH_LINE} run payload ${id} --url ${service.url} > /dev/full`;
    const { code, stderr } = await new Deno.Command("sh", {
      args: ["-c", line],
      env: TOKEN,
    }).output();
    assertEquals([code, new TextDecoder().decode(stderr)], [
      1,
      "hooklaunch: No space left on device (os error 28)\n",
    ]);
  });
  await t.step("replay", async () => {
    const printed = await hooklaunch("replay", id);
    assertMatch(printed, new RegExp(`\nreplay_of +${id}\n`));
    const [, replayed = ""] = /^id +(\S+)\n/.exec(printed) ?? [];
    const { actions } = await endOfRun(service, replayed);
    await endOfExecution(service, actions[0].created.execution_id);
    const newest = JSON.parse(await hooklaunch("list", "labels", "--limit", "1", "--json"));
    assertEquals(newest.map(({ id }: { id: string }) => id), [replayed]);
  });
  await t.step("payload whose reader has read enough", async () => {
    const long = await fetch(trigger.url, { method: "POST", body: "x".repeat(1_000_000) });
    const line = `set -o pipefail; ${HOOKLAUNCH_LINE} run payload ${await long.text()} ` +
      `--url ${service.url} | head -c 1`;
    const { code, stdout, stderr } = await new Deno.Command("bash", {
      args: ["-c", line],
      env: TOKEN,
    }).output();
    const decoder = new TextDecoder();
    assertEquals([code, decoder.decode(stdout), decoder.decode(stderr)], [0, "x", ""]);
  });
  await t.step("an id that is none", async () => {
    const { code, printed } = await run(["run", "show", `${id}0`, ...url], TOKEN);
    assertEquals(code, 1);
    assertStringIncludes(printed, "Expected an id, such as");
  });
});

Deno.test("a payload that breaks off: told as that, and no half of it stays", async () => {
  await using folder = await temporaryFolder();
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const serving = (async () => {
    for await (const connection of listener) {
      await connection.read(new Uint8Array(4_096));
      await connection.write(new TextEncoder().encode(
        "HTTP/1.1 200 OK\r\ncontent-type: application/octet-stream\r\ncontent-length: 99\r\n\r\nhalf",
      ));
      connection.close();
    }
  })();
  const id = "01900000-0000-7000-8000-000000000000";
  const output = `${folder.path}/payload`;
  const url = ["--url", `http://127.0.0.1:${listener.addr.port}`];
  const cutOff = await run(["run", "payload", id, "--output", output, ...url], TOKEN);
  assertEquals(cutOff.code, 1);
  assertMatch(cutOff.printed, /^hooklaunch: Cannot read the payload of run [0-9a-f-]+: .*\n$/);
  assertEquals(await exists(output), false);
  listener.close();
  await serving;
});
