/** `work` in run info: the end of what a run launches. */
import { assertEquals, assertMatch } from "@std/assert";
import {
  ADMIN_TOKEN,
  endOfRun,
  eventually,
  HMAC_CONDITION,
  signature,
  startService,
  type TestService,
} from "../../data.ts";
import { runHosted } from "../../commands/hosted.ts";
import { run as runProcess } from "../../commands/process.ts";
import { workStateOf } from "../../../src/runs/work_state.ts";

const GATED = { type: "run_execution", step: "gated" };
const PIPELINE = { type: "run_pipeline", pipeline: "Gated" };
const MISSING = { type: "run_execution", step: "missing" };

/** A service whose step `gated` ends with the exit code that the test writes into a pipe. */
async function startGated(): Promise<{ service: TestService; open(code: number): Promise<void> }> {
  const service = await startService();
  const pipe = `${service.folder}/gate`;
  await new Deno.Command("sh", { args: ["-c", `mkfifo ${pipe}`] }).output();
  const gate = `read -r code < ${pipe}; exit $code`;
  const file = [
    { step: { name: "gated", image: "debian", command: gate } },
    { step: { name: "fails", image: "debian", command: "exit 1" } },
    {
      pipeline: {
        name: "Gated",
        nodes: [{ name: "only", type: "execution", step: "gated" }],
        edges: [],
      },
    },
  ];
  await Deno.writeTextFile(`${service.folder}/project/valohai.yaml`, JSON.stringify(file));
  return { service, open: (code) => Deno.writeTextFile(pipe, `${code}\n`) };
}

Deno.test("run info with work=true tells how what a run launched ended, and wait waits for it", async (t) => {
  const { service, open } = await startGated();
  await using _service = service;
  const stop = async ({ result: [made] }: { result: { execution_id: string }[] }) => {
    await service.api("POST", `executions/${made?.execution_id}/stop/`);
  };
  type Case = {
    name: string;
    actions: unknown[];
    end?: (info: { result: { execution_id: string }[] }) => Promise<void>;
    status?: string;
    work: string;
    runs?: string;
  };
  const cases: Case[] = [
    { name: "an execution that completes", actions: [GATED], end: () => open(0), work: "complete" },
    { name: "an execution that fails", actions: [GATED], end: () => open(3), work: "error" },
    { name: "an execution that is stopped", actions: [GATED], end: stop, work: "error" },
    {
      name: "two executions, of which one fails",
      actions: [GATED, { ...GATED, step: "fails" }],
      end: () => open(0),
      work: "error",
    },
    {
      name: "a pipeline that completes",
      actions: [PIPELINE],
      end: () => open(0),
      work: "complete",
    },
    { name: "a pipeline that fails", actions: [PIPELINE], end: () => open(1), work: "error" },
    {
      name: "an action that fails beside one that completes",
      actions: [MISSING, GATED],
      end: () => open(0),
      status: "complete_with_error",
      work: "error",
    },
    { name: "an action that fails", actions: [MISSING], status: "error", work: "error" },
    { name: "nothing", actions: [{ ...GATED, if: "false" }], work: "complete" },
  ];
  for (const { name, actions, end, status = "completed", work } of cases) {
    await t.step(name, async () => {
      const response = { type: "text", text: "{run_id}" };
      const trigger = await service.trigger({ actions, response });
      const run_id = await (await fetch(trigger.url, { method: "POST" })).text();
      const ask = async (query: string) =>
        await (await fetch(`${trigger.url}run/?run_id=${run_id}${query}`)).json();
      await endOfRun(service, run_id);
      const plain = await ask("&wait=30");
      assertEquals([Object.keys(plain), plain.status], [["status", "result"], status]);
      const { work: now } = (await service.api("GET", `runs/${run_id}/`)).body;
      if (end) {
        assertEquals(await ask("&work=true"), { ...plain, work: "running" });
        assertEquals(now, "running");
      }
      const waiting = ask("&work=true&wait=30");
      await end?.(plain);
      assertEquals(await waiting, { ...plain, work });
      assertEquals((await service.api("GET", `runs/${run_id}/`)).body.work, work);
      const found = await service.api("GET", `runs/?work=${work}&trigger=${trigger.id}`);
      assertEquals(found.body.results.map(({ id }: { id: string }) => id), [run_id]);
      const others = await service.api("GET", `runs/?work=running&trigger=${trigger.id}`);
      assertEquals(others.body.results, []);
    });
  }
  await t.step("a run that has not ended may launch more", () => {
    for (const launched of [[], ["complete"], ["error"]] as const) {
      assertEquals(workStateOf({ status: "pending" }, launched), "running");
    }
  });
  await t.step("work is true or false, also in a signed body", async () => {
    const conditions = [HMAC_CONDITION];
    const response = { type: "text", text: "{run_id}" };
    const actions = [{ ...GATED, if: "false" }];
    const { id, url } = await service.trigger({ actions, conditions, response });
    const post = async (to: string, body: string) =>
      await fetch(to, { method: "POST", body, headers: signature(body) });
    const run_id = await (await post(url, "x")).text();
    for (const [work, expected] of [[true, "complete"], ["true", "complete"], [false, undefined]]) {
      const answer = await post(`${url}run/`, JSON.stringify({ run_id, work, wait: 30 }));
      assertEquals((await answer.json()).work, expected);
    }
    const refused = await post(`${url}run/`, JSON.stringify({ run_id, work: 1 }));
    await refused.body?.cancel();
    assertEquals(refused.status, 400);
    const { body: { results: [entry] } } = await service.api("GET", `triggers/${id}/log/`);
    assertEquals([entry.reason, entry.expected, entry.found], [
      "The field work is neither true nor false",
      "true or false",
      "1",
    ]);
  });
  await t.step("commands wait for it, and their exit codes say how it ended", async () => {
    const url = ["--url", service.url];
    const env = { HOOKLAUNCH_ADMIN_TOKEN: ADMIN_TOKEN };
    const ends: [
      actions: unknown[],
      end: number | "stop" | undefined,
      code: number,
      says: RegExp,
    ][] = [
      [[GATED], 0, 0, /execution \S+ \(gated\): complete\n[^]*work: complete\n/],
      [[GATED], 3, 2, /work: error\n/],
      [[PIPELINE], 0, 0, /pipeline \S+ \(Gated\): complete\n[^]*work: complete\n/],
      [[MISSING], undefined, 2, /run_execution: [^]*missing[^]*work: error\n/],
      [[GATED], "stop", 3, /work: error\n/],
    ];
    for (const [actions, end, code, says] of ends) {
      const { id } = await service.trigger({ actions });
      // Beside another command, it has a process of its own.
      const send = end === "stop" ? runProcess : runHosted;
      const sending = send(["send", id, "--wait", ...url], env);
      if (typeof end === "number") await open(end);
      if (end === "stop") {
        const execution = await firstExecution(service, id);
        const waiting = runHosted(["execution", "wait", execution, ...url], env);
        await service.api("POST", `executions/${execution}/stop/`);
        assertMatch((await waiting).printed, /^stopped: /);
        assertEquals((await waiting).code, 3);
      }
      const sent = await sending;
      assertEquals(sent.code, code, sent.printed);
      assertMatch(sent.printed, says);
    }
    const failed = await runHosted(["runs", "--work", "error", "--json", ...url], env);
    const works = JSON.parse(failed.printed).map(({ work }: { work: string }) => work);
    assertEquals([...new Set(works)], ["error"]);
    const filter = { type: "payload_filter", expression: "false" };
    const { id } = await service.trigger({
      conditions: [HMAC_CONDITION, filter],
      filtered: { status: 200 },
    });
    const ignored = await runHosted(["send", id, "--wait", ...url], env);
    assertEquals(ignored.code, 1);
    assertMatch(ignored.printed, /launched nothing: .*hooklaunch deliveries --trigger trigger-/);
  });
});

/** Waits for the first execution of a trigger to start. */
function firstExecution(service: TestService, trigger: string): Promise<string> {
  return eventually(async () => {
    const query = `executions/?trigger=${trigger}&status=started`;
    const { body: { results: [execution] } } = await service.api("GET", query);
    return execution?.id;
  }, { what: "the start of an execution" });
}
