/** `hooklaunch pipeline` as a process of its own, on records that a test writes. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { derivedId, newId } from "../../src/platform/ids.ts";
import type { Pipelines } from "../../src/pipelines/mod.ts";
import { type Pipeline, savePipeline } from "../../src/store/records/pipelines.ts";
import { putProject } from "../../src/store/records/projects.ts";
import type { Store } from "../../src/store/store.ts";
import { serveRoutes, storeExecution, storePipeline } from "../http/api/fixture.ts";
import { runHosted as run } from "./hosted.ts";
import { hooklaunch } from "./process.ts";

const TOKEN = { HOOKLAUNCH_ADMIN_TOKEN: "any" };

/** Ends a pipeline as soon as an operator does something with it. */
class EndingControl implements Pick<Pipelines, "begin" | "stop" | "approve"> {
  store: Store | undefined;
  pipeline: Pipeline | undefined;

  begin() {}

  async stop(): Promise<boolean> {
    await this.end("stopped", "stopped");
    return true;
  }

  async approve(_id: string, node?: string): Promise<string[]> {
    if (node === "train") return [];
    await this.end("complete", "complete");
    return ["deploy"];
  }

  private async end(status: "stopped" | "complete", nodeStatus: "stopped" | "complete") {
    const { store, pipeline } = this;
    if (store === undefined || pipeline === undefined) throw new Error("There is nothing to end");
    const nodes = pipeline.nodes.map((node) =>
      node.name === "deploy"
        ? { ...node, status: nodeStatus, reason: "so\u001b[2J it ended" }
        : node
    );
    await store.committer.commit(savePipeline({ ...pipeline, status, nodes }));
  }
}

Deno.test("pipelines are listed and shown, readably and as JSON", async () => {
  await using routes = await serveRoutes({ control: new EndingControl() });
  const pipeline = await storePipeline(routes.store, { title: "Re\u001b[2Jtrain" });
  await storePipeline(routes.store, { project: "digits", status: "error", reason: "node train" });
  await storePipeline(routes.store, { project: "digits", status: "stopped", reason: "by hand" });
  const execution_id = newId(1);
  const reused = { name: "a", step: "s", status: "complete", attempts: 0, execution_id } as const;
  const nodes = [{ ...reused, reused: true as const }];
  const last = { id: newId(Date.now() + 1_000), status: "error", reason: "node a" } as const;
  const other = await storePipeline(routes.store, { ...last, nodes });
  const url = ["--url", routes.url];
  const list = await run(["pipeline", "list", ...url], TOKEN);
  assertEquals(list.code, 0, list.printed);
  assertMatch(list.printed, /^ID +STATUS +TRIGGER +PROJECT +NAME +NODES +CREATED +BY +REASON\n/);
  assertMatch(
    list.printed,
    new RegExp(
      `\n${pipeline.id} +started +\\S+ +files +retrain +1 complete, 1 awaiting_approval +20`,
    ),
  );
  const filtered = await run(
    ["pipeline", "list", "--project", "digits", "--status", "error", "--json", ...url],
    TOKEN,
  );
  assertEquals(JSON.parse(filtered.printed).map((each: Pipeline) => each.reason), ["node train"]);

  const newest = await run(["pipeline", "list", "--limit", "1", "--json", ...url], TOKEN);
  assertEquals(JSON.parse(newest.printed).map((each: Pipeline) => each.id), [other.id]);
  const ids = await run(["pipeline", "list", "--limit", "1", "-q", ...url], TOKEN);
  assertEquals(ids.printed, `${other.id}\n`);
  const taken = await run(["pipeline", "show", other.id, ...url], TOKEN);
  assertMatch(taken.printed, new RegExp(`\na +s +complete +${execution_id} \\(reused\\)\n`));

  const show = await run(["pipeline", "show", pipeline.id, ...url], TOKEN);
  assertEquals(show.code, 0, show.printed);
  assertMatch(show.printed, /\nstatus +started\n/);
  assertMatch(
    show.printed,
    /\nNODE +STEP +STATUS +EXECUTION +REASON\ntrain +train +complete +\S+\n/,
  );
  assertMatch(show.printed, /\ndeploy +deploy +awaiting_approval\n/);
  assert(!show.printed.includes("\u001b"));
  const json = await run(["pipeline", "show", pipeline.id, "--json", ...url], TOKEN);
  assertEquals(JSON.parse(json.printed).parameters, { epochs: 3 });

  await putProject(routes.store, {
    name: "files",
    directory: "/files",
    config_file: "valohai.yaml",
    engine: { type: "local", runner: "process" },
  });
  const failed = await storePipeline(routes.store, { status: "error" });
  for (const command of ["copy", "retry"]) {
    const { printed } = await run(["pipeline", command, failed.id, "--json", ...url], TOKEN);
    const { id, copy_of, status } = JSON.parse(printed);
    assertEquals([copy_of, status], [failed.id, "created"]);
    assert(id !== failed.id);
  }
});

Deno.test("pipeline show --wait prints what changes, and exits by the end", async (t) => {
  const cases: [args: string[], code: number, said: RegExp][] = [
    [["approve", "--node", "deploy"], 0, /node deploy: complete/],
    [["stop"], 3, /node deploy: stopped, so {1,2}\[2J it ended\npipeline: stopped\n/],
  ];
  for (const [args, code, said] of cases) {
    await t.step(args.join(" "), async () => {
      const control = new EndingControl();
      await using routes = await serveRoutes({ control });
      control.store = routes.store;
      const { id } = control.pipeline = await storePipeline(routes.store);
      const url = ["--url", routes.url];
      await using waiting = hooklaunch(["pipeline", "show", id, "--wait", ...url], TOKEN);
      await waiting.expect(/node deploy: awaiting_approval\npipeline: started\n/);
      const [command = "", ...options] = args;
      const done = await run(["pipeline", command, id, ...options, ...url], TOKEN);
      assertEquals(done.code, 0, done.printed);
      assertMatch(done.printed, /\nNODE +STEP +STATUS/);
      assertEquals((await waiting.end()).code, code, waiting.printed());
      assertMatch(waiting.printed(), said);
      assert(!waiting.printed().includes("\u001b"));
    });
  }
  await t.step("a pipeline that has ended already", async () => {
    await using routes = await serveRoutes();
    const { id } = await storePipeline(routes.store, { status: "error" });
    const args = ["pipeline", "show", id, "--wait", "--json", "--url", routes.url];
    assertEquals((await run(args, TOKEN)).code, 2);
  });
});

Deno.test("what cannot be done with a pipeline is said", async (t) => {
  await using routes = await serveRoutes({ control: new EndingControl() });
  const { id } = await storePipeline(routes.store);
  const cases: [args: string[], says: string][] = [
    [["approve", id, "--node", "train"], '409: Cannot approve node "train"'],
    [["approve", id, "--node", "trian"], '/node: Expected one of "train", "deploy", found "trian"'],
    [["retry", id], "409: Cannot retry pipeline"],
    [["show", "retrain"], "Expected an id, such as"],
    [["list", "--status", "queued"], "Allowed choices are created, started"],
  ];
  for (const [args, says] of cases) {
    await t.step(args.join(" "), async () => {
      const { code, printed } = await run(["pipeline", ...args, "--url", routes.url], TOKEN);
      assertEquals(code, 1);
      assertStringIncludes(printed, says);
    });
  }
});

Deno.test("execution list of a pipeline is newest first, whatever its executions' ids are", async () => {
  await using routes = await serveRoutes();
  const { id } = await storePipeline(routes.store);
  const steps = Array.from({ length: 8 }, (_, index) => `step-${index}`);
  for (const [index, step] of steps.entries()) {
    const created_at = new Date(Date.now() + index).toISOString();
    const parts = { id: derivedId(id, step), pipeline_id: id, step, created_at };
    await storeExecution(routes.store, parts);
  }
  const list = async (...args: string[]) => {
    const all = ["execution", "list", "--pipeline", id, "--json", "--url", routes.url, ...args];
    const { printed } = await run(all, TOKEN);
    return JSON.parse(printed).map(({ step }: { step: string }) => step);
  };
  assertEquals(await list(), steps.toReversed());
  assertEquals(await list("--limit", "3"), steps.toReversed().slice(0, 3));
});

Deno.test("execution list filters by project and status, the newest first", async () => {
  await using routes = await serveRoutes();
  let made_ms = Date.now();
  for (const project of ["files", "digits"]) {
    for (const status of ["created", "error"] as const) {
      const parts = { project, status, step: `${project} ${status}`, reason: "it failed" };
      await storeExecution(routes.store, { id: newId(made_ms++), ...parts });
    }
  }
  const url = ["--url", routes.url];
  const list = async (...args: string[]) => {
    const { printed } = await run(["execution", "list", "--json", ...args, ...url], TOKEN);
    return JSON.parse(printed).map(({ step }: { step: string }) => step).sort();
  };
  assertEquals(await list("--project", "files"), ["files created", "files error"]);
  assertEquals(await list("--status", "error"), ["digits error", "files error"]);
  assertEquals(await list("--limit", "1"), ["digits error"]);
  const table = await run(["execution", "list", "--limit", "1", ...url], TOKEN);
  assertMatch(
    table.printed,
    /\n\S+ +error +\S+ +digits +digits error +20\S+Z +sender +it failed\n$/,
  );
});

Deno.test("pipeline show --wait goes on when the service does not answer for a moment, and tells what it hid", async () => {
  const node = { name: "a", step: "s", attempts: 0 };
  const pipeline = { id: newId(1), name: "p", project: "p" };
  const at = (status: string, execution_id?: string) =>
    Response.json({ ...pipeline, status, nodes: [{ ...node, status, execution_id }] });
  const answers = [
    () => at("started", "e1"),
    () => new Response(null, { status: 503 }),
    () => at("started", "e2"),
    () => at("complete", "e2"),
  ];
  const url = "http://127.0.0.1";
  await using server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    () => answers.shift()?.() ?? new Response(null, { status: 404 }),
  );
  const args = ["pipeline", "show", pipeline.id, "--wait", "--url", `${url}:${server.addr.port}`];
  const { code, printed } = await run(args, TOKEN);
  assertEquals(code, 0, printed);
  assertStringIncludes(
    printed,
    "node a: started, execution e1\npipeline: started\nnode a: started, execution e2\n" +
      "node a: complete, execution e2\npipeline: complete\n",
  );
});
