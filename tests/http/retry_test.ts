/** Executions that are tried again: over the API, the command line and the console. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import {
  ADMIN_TOKEN,
  type ApiAnswer,
  eventually,
  startService,
  type TestService,
} from "../data.ts";
import { runHosted } from "../commands/hosted.ts";
import { loggedIn } from "./console/fixture.ts";

const PROJECT = `
- step:
    name: third time
    image: debian
    command: |
      echo "attempt $VH_ATTEMPT"
      echo "{\\"attempt\\": $VH_ATTEMPT}"
      echo "$VH_ATTEMPT" >"$VH_OUTPUTS_DIR/number"
      [ "$VH_ATTEMPT" = 3 ] || exit 75
- step:
    name: fails
    image: debian
    command: exit 75
- pipeline:
    name: two
    nodes:
      - { name: first, type: execution, step: third time }
      - { name: second, type: execution, step: third time }
    edges: [[first.output.*, second.input.files]]
`.replace(
  "- step:\n    name: fails",
  "    inputs: [{ name: files, optional: true }]\n- step:\n    name: fails",
);
const RETRY = { attempts: 3, first: 0, factor: 1, exit_codes: [75] };

type Body = ApiAnswer["body"];

async function openSite(): Promise<TestService> {
  const service = await startService();
  const directory = `${service.folder}/retried`;
  await Deno.mkdir(directory);
  await Deno.writeTextFile(`${directory}/valohai.yaml`, PROJECT);
  const { status } = await service.api("PUT", "projects/retried/", { name: "retried", directory });
  assertEquals(status, 201);
  return service;
}

async function launch(
  service: TestService,
  name: string,
  action: Record<string, unknown>,
): Promise<Body> {
  const response = { type: "text", text: "{run_id}" };
  const { url } = await service.trigger({ name, project: "retried", actions: [action], response });
  const answer = await fetch(url, { method: "POST", body: "{}" });
  const id = await answer.text();
  assertEquals(answer.status, 200, id);
  return await eventually(async () => {
    const { body } = await service.api("GET", `runs/${id}/`);
    return body.status === "pending" ? undefined : body;
  }, { what: `the end of run ${id}` });
}

async function over(service: TestService, run: Body): Promise<Body> {
  return await eventually(async () => {
    const { body } = await service.api("GET", `runs/${run.id}/`);
    return body.work === "running" ? undefined : body;
  }, { what: `the work of run ${run.id}` });
}

Deno.test("executions are tried again", async (t) => {
  await using service = await openSite();
  const get = async (path: string) => (await service.api("GET", path)).body;

  await t.step("each attempt has its own log, metadata and outputs", async () => {
    const action = { type: "run_execution", step: "third time", retry: RETRY };
    const run = await launch(service, "third", action);
    assertEquals((await over(service, run)).work, "complete");
    const { id } = run.executions[0];
    const execution = await get(`executions/${id}/`);
    assertEquals([execution.status, execution.attempt, execution.metadata], [
      "complete",
      3,
      { attempt: 3 },
    ]);
    assertEquals(execution.retry, RETRY);
    assertEquals(
      execution.attempts.map((
        { attempt, status, exit_code }: Body,
      ) => [attempt, status, exit_code]),
      [[1, "error", 75], [2, "error", 75], [3, "complete", 0]],
    );
    for (const attempt of [1, 2, 3]) {
      const shown = await get(`executions/${id}/?attempt=${attempt}`);
      assertEquals([shown.id, shown.attempt, shown.metadata], [id, attempt, { attempt }]);
      assertEquals([shown.attempts.length, shown.dead], [3, undefined]);
      const log = await get(`executions/${id}/log/?attempt=${attempt}`);
      assertEquals(log.results[0].message, `attempt ${attempt}`);
      const path = `/api/v0/executions/${id}/outputs/number?attempt=${attempt}`;
      const output = await fetch(service.url + path, {
        headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
      });
      assertEquals(await output.text(), `${attempt}\n`);
    }
    assertEquals((await service.api("GET", `executions/${id}/?attempt=4`)).status, 404);
    assertEquals((await service.api("GET", `executions/${id}/log/?attempt=0`)).status, 422);
    const { results } = await get("executions/");
    assertEquals(results.map((each: Body) => each.id), [id]);
  });

  await t.step("a follower of a log is told of the next attempt", async () => {
    const [{ id }] = (await get("executions/?status=complete")).results;
    const events = await fetch(`${service.url}/api/v0/executions/${id}/log/?follow&attempt=1`, {
      headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
    });
    assertStringIncludes(await events.text(), '"next_attempt":2');
  });

  await t.step("the command line shows each attempt", async () => {
    const [{ id }] = (await get("executions/?status=complete")).results;
    const run = async (...args: string[]) => {
      const options = ["--url", service.url];
      const env = { HOOKLAUNCH_ADMIN_TOKEN: ADMIN_TOKEN };
      const { printed, code } = await runHosted(["execution", ...args, ...options], env);
      assertEquals(code, 0, printed);
      return printed;
    };
    const shown = await run("show", id);
    assertMatch(shown, /\nattempt 1 +error, exit code 75, 20/);
    assertMatch(shown, /\nattempt 3 +complete, exit code 0, 20/);
    assertMatch(await run("show", id, "--attempt", "2"), /\nmetadata attempt +2\n/);
    assertStringIncludes(await run("log", id), "attempt 3\n");
    assertStringIncludes(await run("log", id, "--attempt", "1"), "attempt 1\n");
    assertMatch(await run("outputs", id, "--attempt", "1"), /\nnumber +2 /);
    assertEquals((await run("list", "--dead", "-q")).trim(), "");
  });

  await t.step("the console leads to each attempt", async () => {
    const [{ id }] = (await get("executions/?status=complete")).results;
    const browser = await loggedIn(service);
    const last = (await browser.get(`executions/${id}`)).text;
    assertStringIncludes(last, `href="executions/${id}?attempt=1"`);
    assertStringIncludes(last, "<span>attempt 3</span>");
    const first = (await browser.get(`executions/${id}?attempt=1`)).text;
    assertStringIncludes(first, "<span>attempt 1</span>");
    assertStringIncludes(first, 'data-query="attempt=1&amp;"');
    const [, address = ""] = /href="(executions\/[^"]+\/output\?[^"]+)"/.exec(first) ?? [];
    const output = await browser.get(address.replaceAll("&amp;", "&"));
    assertEquals([output.status, output.text], [200, "1\n"]);
  });

  await t.step("nodes of pipelines are tried again, and those behind wait", async () => {
    const action = { type: "run_pipeline", pipeline: "two", retry: RETRY };
    const run = await over(service, await launch(service, "nodes", action));
    assertEquals([run.work, run.pipelines[0].status], ["complete", "complete"]);
    for (const { execution_id } of run.pipelines[0].nodes) {
      const { attempts, node, inputs } = await get(`executions/${execution_id}/`);
      assertEquals(attempts.length, 3);
      assertEquals(inputs.files?.length ?? 0, node === "second" ? 1 : 0);
    }
  });

  await t.step("what is dead is found, and launched again", async () => {
    const action = { type: "run_execution", step: "fails", retry: { ...RETRY, attempts: 2 } };
    const run = await over(service, await launch(service, "dead", action));
    assertEquals(run.work, "error");
    const { id } = run.executions[0];
    const execution = await get(`executions/${id}/`);
    assertEquals([execution.status, execution.dead, execution.attempts.length], ["error", true, 2]);
    for (const [path, found] of [["executions", id], ["runs", run.id], ["deliveries", run.id]]) {
      const { results } = await get(`${path}/?dead=true`);
      assertEquals(results.map((each: Body) => each.id), [found], path);
    }
    const { body: counted } = await service.api("POST", "replays/", {
      filter: { dead: true },
      dry_run: true,
    });
    assertEquals(counted, { state: "dry_run", count: 1 });
    // It counts as one failure.
    const { results } = await get(`triggers/${run.trigger_id}/log/`);
    const failures = results.filter(({ kind }: Body) => kind === "execution_failed");
    assertEquals(failures.map(({ execution_id }: Body) => execution_id), [id]);
  });

  await t.step("a pipeline with a dead node is dead", async () => {
    const retry = { ...RETRY, attempts: 2 };
    const dead = await launch(service, "dead_node", {
      type: "run_pipeline",
      pipeline: "two",
      retry,
    });
    const failed = await launch(service, "failed_node", { type: "run_pipeline", pipeline: "two" });
    for (const run of [dead, failed]) assertEquals((await over(service, run)).work, "error");
    const [{ id }] = dead.pipelines;
    const { results } = await get("pipelines/?dead=true");
    assertEquals(results.map((each: Body) => each.id), [id]);
    const of = await get(`runs/?dead=true&trigger=failed_node`);
    assertEquals(of.results, []);
    const { printed } = await runHosted(
      ["pipeline", "list", "--dead", "-q", "--url", service.url],
      { HOOKLAUNCH_ADMIN_TOKEN: ADMIN_TOKEN },
    );
    assertEquals(printed.trim(), id);
    const page = (await (await loggedIn(service)).get("pipelines?dead=true")).text;
    assertStringIncludes(page, id);
    assert(!page.includes(failed.pipelines[0].id));
  });

  await t.step("an attempt that waits is shown, and a stop ends it at once", async () => {
    const retry = { attempts: 5, first: 3_600, factor: 2, exit_codes: "*" };
    const action = { type: "run_execution", step: "fails", retry };
    const run = await launch(service, "waits", action);
    const { id } = run.executions[0];
    const waiting = await eventually(async () => {
      const found = await get(`executions/${id}/`);
      return found.attempts.length === 2 ? found : undefined;
    });
    assertEquals([waiting.status, waiting.waiting], [
      "created",
      `Attempt 2 of 5 at ${waiting.retry_at}`,
    ]);
    assertEquals((await get(`runs/${run.id}/`)).work, "running");
    const listed = await get("executions/?status=created");
    assertEquals(listed.results.map((each: Body) => each.id), [id]);
    const { status, body } = await service.api("POST", `executions/${id}/stop/`);
    assertEquals([status, body.status, body.attempts.length], [202, "stopped", 2]);
    assertEquals((await get(`runs/${run.id}/`)).work, "error");
    const stopped = await get(`executions/?dead=true&trigger=waits`);
    assertEquals(stopped.results, []);
  });

  await t.step("wrong settings are refused when they are saved", async () => {
    const cases: [Record<string, unknown>, string][] = [
      [{ attempts: 1 }, "/actions/0/retry/attempts"],
      [{ attempts: 21 }, "/actions/0/retry/attempts"],
      [{ first: -1 }, "/actions/0/retry/first"],
      [{ factor: 0.5 }, "/actions/0/retry/factor"],
      [{ exit_codes: [0] }, "/actions/0/retry/exit_codes"],
      [{ exit_codes: 75 }, "/actions/0/retry/exit_codes"],
      [{ exit_codes: ["75"] }, "/actions/0/retry/exit_codes"],
      [{ tries: 3 }, "/actions/0/retry/tries"],
    ];
    for (const [retry, pointer] of cases) {
      const actions = [{ type: "run_execution", step: "fails", retry }];
      const settings = { name: "refused", project: "retried", conditions: [], actions };
      const { status, body } = await service.api("POST", "triggers/", settings);
      assertEquals(status, 422, pointer);
      const pointers = body.errors.map((each: Body) => each.pointer);
      assert(
        pointers.some((each: string) => each.startsWith(`#${pointer}`) || each.startsWith(pointer)),
        String(pointers),
      );
    }
  });
});
