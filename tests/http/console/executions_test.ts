/** The pages of executions over HTTP: what they tell, and that no text of a step is HTML. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { endOfExecution, endOfRun, eventually, startService } from "../../data.ts";
import { assertTakesLess } from "../../surroundings.ts";
import { launchCommand } from "../api/fixture.ts";
import { loggedIn, textOf } from "./fixture.ts";

const HOSTILE = `"><script>alert(1)</script><img src=x onerror=alert(1)>`;
/** The same in a shell: a name of a file has no slash. */
const HOSTILE_FILE = HOSTILE.replaceAll("/", "_");

Deno.test("an execution's page shows its log, files and facts as text", async (t) => {
  await using service = await startService();
  const step = {
    name: HOSTILE,
    image: "debian",
    command: [
      "cat <<'END'",
      HOSTILE,
      JSON.stringify({ [HOSTILE]: HOSTILE, loss: 0.5 }),
      "\x1b[31mred\x1b[0m\x1b]8;;https://elsewhere.example\x07link\x1b]8;;\x07",
      "END",
      `echo content > "$VH_OUTPUTS_DIR"/'${HOSTILE_FILE}'`,
      "echo aside >&2",
    ].join("\n"),
  };
  await Deno.writeTextFile(`${service.folder}/project/valohai.yaml`, JSON.stringify([{ step }]));
  const trigger = await service.trigger({
    response: { type: "text", text: "{run_id}" },
    actions: [{ type: "run_execution", step: HOSTILE }],
  });
  const runId = await (await fetch(trigger.url, { method: "POST" })).text();
  const { actions: [{ created }] } = await endOfRun(service, runId);
  const id = created.execution_id;
  await endOfExecution(service, id);
  const browser = await loggedIn(service);

  await t.step("list and page", async () => {
    for (const address of ["executions", `executions/${id}`, `executions?project=files`]) {
      const { status, text } = await browser.get(address);
      assertEquals(status, 200);
      assert(!/<script>|<img/i.test(text), text);
      assertStringIncludes(text, "&lt;script&gt;");
    }
  });
  await t.step("the page without script has the lines, numbered, without codes", async () => {
    const { text } = await browser.get(`executions/${id}`);
    assertMatch(text, /<div class="line stdout" id="L\d"><a href="executions\/[^"]+#L\d"/);
    assertStringIncludes(text, "<span>redlink</span>");
    assertStringIncludes(text, '<div class="line stderr"');
    const seen = textOf({ text });
    for (const part of ["complete", "Exit code 0", "Engine local", "loss 0.5"]) {
      assertStringIncludes(seen, part);
    }
  });
  await t.step("an output and the log are downloaded", async () => {
    const { text } = await browser.get(`executions/${id}`);
    const [, address = ""] = /href="(executions\/[^"]+\/output\?path=[^"]+)"/.exec(text) ?? [];
    const output = await browser.get(address);
    assertEquals([output.status, output.text], [200, "content\n"]);
    assertStringIncludes(output.headers.get("content-disposition") ?? "", "attachment");
    const log = await browser.get(`executions/${id}/log`);
    assertStringIncludes(log.text, HOSTILE);
    assertEquals(log.headers.get("content-type"), "text/plain; charset=utf-8");
    assertEquals((await browser.get(`executions/${id}/output?path=../etc/passwd`)).status, 404);
  });
  await t.step("a run leads to its delivery", async () => {
    const { status, headers } = await browser.get(`runs/${runId}`);
    assertEquals([status, headers.get("location")], [302, `/deliveries/${runId}`]);
  });
  await t.step("a filter without a field is shown, and kept with those that have one", async () => {
    const { text } = await browser.get(`executions?pipeline=${runId}`);
    const [form = ""] = /<form class="filters".*?<\/form>/s.exec(text) ?? [];
    assertStringIncludes(form, `name="pipeline" value="${runId}"`);
    assertStringIncludes(textOf({ text: form }), `pipeline: ${runId}`);
  });
  await t.step("what is missing", async () => {
    assertEquals((await browser.get("executions/none")).status, 404);
    assertEquals((await browser.get("executions?status=none")).status, 422);
  });
});

Deno.test("a long log is read in pages without script, whole by its download", async () => {
  await using service = await startService();
  const id = await launchCommand(service, "seq 100000");
  await endOfExecution(service, id);
  const browser = await loggedIn(service);
  let text = "";
  await assertTakesLess(1_000, async () => {
    text = (await browser.get(`executions/${id}`)).text;
  });
  assert(text.length < 100_000, `${text.length} bytes`);
  const [, more = ""] = /<a href="(executions\/[^"]+)">More lines/.exec(text) ?? [];
  const second = await browser.get(more.replaceAll("&amp;", "&"));
  assertMatch(second.text, /id="L201".*?<span>201<\/span>/s);
  const { text: whole } = await browser.get(`executions/${id}/log`);
  assertEquals(whole.trimEnd().split("\n").length, 100_000);
});

Deno.test("an execution is stopped from its page, by those who may", async () => {
  await using service = await startService();
  const id = await launchCommand(service, "echo begun; sleep 30");
  const { body } = await service.api("POST", "tokens/", { name: "reader", scope: "read" });
  const reader = await loggedIn(service, body.token);
  assert(!(await reader.get(`executions/${id}`)).text.includes("Stop this execution"));
  const refused = await reader.post(`executions/${id}/stop`, { csrf: await reader.csrf() });
  assertEquals(refused.status, 403);
  const browser = await loggedIn(service);
  await eventually(async () =>
    textOf(await browser.get(`executions/${id}`)).includes("begun") ? true : undefined
  );
  assertStringIncludes((await browser.get(`executions/${id}`)).text, "Stop this execution");
  const { status, headers } = await browser.post(`executions/${id}/stop`, {
    csrf: await browser.csrf(),
  });
  assertEquals([status, headers.get("location")], [303, `/executions/${id}`]);
  await endOfExecution(service, id);
  assertStringIncludes(textOf(await browser.get(`executions/${id}`)), "stopped");
});
