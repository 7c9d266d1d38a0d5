/** Runs and what they made tell their trigger's name and who has launched them: in the API and on the command line. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { ADMIN_TOKEN, endOfExecution, endOfRun, eventually, startService } from "../../data.ts";
import { runHosted } from "../../commands/hosted.ts";

const PIPELINE = `
- step:
    name: say
    image: busybox
    command: echo hello
- pipeline:
    name: both
    nodes:
      - { name: one, type: execution, step: say }
    edges: []
`;
const SENDER = { kind: "sender" };

Deno.test("launches tell who made them, and what they made tells the same", async (t) => {
  await using service = await startService();
  const folder = `${service.folder}/both`;
  await Deno.mkdir(folder);
  await Deno.writeTextFile(`${folder}/valohai.yaml`, PIPELINE);
  await service.api("PUT", "projects/both/", { name: "both", directory: folder });
  const receiver = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    () => new Response("ok"),
  );
  const trigger = await service.trigger({
    name: "hello",
    project: "both",
    actions: [
      { type: "run_execution", step: "say" },
      { type: "run_pipeline", pipeline: "both" },
      {
        type: "http_request",
        method: "POST",
        url: `http://127.0.0.1:${receiver.addr.port}/`,
        private_networks: true,
      },
    ],
    response: { type: "text", text: "{run_id}" },
  });
  const { body: ci } = await service.api("POST", "tokens/", { name: "ci", scope: "operate" });
  const asCi = (method: string, path: string, body?: unknown) =>
    asOperator(ci.token, method, path, body);
  const sent = await (await fetch(trigger.url, { method: "POST", body: "x" })).text();

  async function asOperator(token: string, method: string, path: string, sent?: unknown) {
    const answer = await fetch(`${service.url}/api/v0/${path}`, {
      method,
      headers: { authorization: `Bearer ${token}` },
      ...(sent === undefined ? {} : { body: JSON.stringify(sent) }),
    });
    return { status: answer.status, body: await answer.json() };
  }

  /** The trigger's name and the launcher of a run, of its execution, its pipeline and its node, and its HTTP request. */
  const originsOf = async (runId: string) => {
    const run = await endOfRun(service, runId);
    const shown = (await service.api("GET", `runs/${runId}/`)).body;
    const { executions: [execution], pipelines: [pipeline], http_requests: [request] } = shown;
    await endOfExecution(service, execution.id);
    const node = await eventually(async () => {
      const { body } = await service.api("GET", `pipelines/${pipeline.id}/`);
      return body.nodes[0].execution_id;
    }, { what: "the node" });
    const paths = [
      `runs/${run.id}/`,
      `executions/${execution.id}/`,
      `pipelines/${pipeline.id}/`,
      `executions/${node}/`,
      `http-requests/${request.id}/`,
    ];
    const records = await Promise.all(paths.map((path) => service.api("GET", path)));
    const delivery = (await service.api("GET", `deliveries/${runId}/`)).body;
    assertEquals(delivery.launched_by, delivery.run.launched_by);
    assertEquals(delivery.trigger, "hello");
    return [...records.map(({ body }) => body), delivery.run].map(({ trigger, launched_by }) => {
      assertEquals(trigger, "hello");
      return launched_by;
    });
  };

  await t.step("a sender", async () => {
    assertEquals(await originsOf(sent), Array(6).fill(SENDER));
  });
  let replayed = "";
  await t.step("an operator who launches a delivery again", async () => {
    const { body } = await asCi("POST", `deliveries/${sent}/replay/`);
    replayed = body.id;
    assertEquals(await originsOf(replayed), Array(6).fill({ kind: "replay", name: "ci" }));
    const { body: again } = await service.api("POST", `runs/${sent}/replay/`);
    const own = { kind: "replay", name: "HOOKLAUNCH_ADMIN_TOKEN" };
    assertEquals(again.launched_by, own);
    assertEquals(await originsOf(again.id), Array(6).fill(own));
  });
  await t.step("an operator who launches many again", async () => {
    const { body: replay } = await asCi("POST", "replays/", { filter: { trigger: "hello" } });
    assertEquals(replay.created_by, "ci");
    await eventually(async () => {
      const { body } = await service.api("GET", `replays/${replay.id}/`);
      return body.state === "completed" || undefined;
    }, { what: "the replay" });
    const { body: { results } } = await service.api("GET", "runs/?limit=1");
    assertEquals(results[0].replay_id, replay.id);
    assertEquals(await originsOf(results[0].id), Array(6).fill({ kind: "replay", name: "ci" }));
    const { printed } = await hooklaunch("replay", "list");
    assertMatch(
      printed,
      /^ID +TRIGGER +STATE +CREATED +DONE +FAILED +BY\n\S+ +hello +complete .* ci\n$/,
    );
  });
  await t.step("an operator who copies a pipeline of a sender", async () => {
    const { body: { pipelines: [source] } } = await service.api("GET", `runs/${sent}/`);
    const { body: copy } = await asCi("POST", `pipelines/${source.id}/copy/`);
    assertEquals(copy.launched_by, { kind: "operator", name: "ci" });
    const execution = await eventually(async () => {
      const { body } = await service.api("GET", `pipelines/${copy.id}/`);
      return body.nodes[0].execution_id;
    }, { what: "the node" });
    const { body } = await service.api("GET", `executions/${execution}/`);
    assertEquals(body.launched_by, { kind: "operator", name: "ci" });
    const shown = await hooklaunch("pipeline", "show", copy.id);
    assertMatch(shown.printed, /\ntrigger +hello\n[^]*\nlaunched_by +operator by ci\n/);
  });

  async function hooklaunch(...args: string[]) {
    const ended = await runHosted([...args, "--url", service.url], {
      HOOKLAUNCH_ADMIN_TOKEN: ADMIN_TOKEN,
    });
    assertEquals(ended.code, 0, ended.printed);
    return ended;
  }

  await t.step("lists have names beside ids, and one word for one state", async () => {
    const cases: [args: string, says: RegExp][] = [
      ["runs", /^ID +TRIGGER +STATUS +CREATED +BY +FROM +BYTES +WORK +ACTIONS\n/],
      ["runs", new RegExp(`\\n${replayed} +hello +complete +\\S+ +replay by ci `)],
      ["runs --status complete", new RegExp(`\\n${sent} +hello +complete +\\S+ +sender `)],
      ["runs --status completed", new RegExp(`\\n${sent} +hello +complete `)],
      ["runs --status error", /^ID [^\n]*\n$/],
      ["runs -o wide", /DELIVERY ID +REPLAY OF +SHA256 +TRIGGER ID\n/],
      ["execution list", /^ID +STATUS +TRIGGER +PROJECT +STEP [^\n]*\n\S+ +\w+ +hello +both +say /],
      ["execution list --status completed", /\n\S+ +complete +hello +both +say /],
      [
        "execution list --status complete -o wide",
        /ENGINE +MACHINE +EXIT CODE +NODE +PIPELINE +RUN/,
      ],
      [
        "pipeline list",
        /^ID +STATUS +TRIGGER [^\n]*\n\S+ +\w+ +hello +both +both .* operator by ci/,
      ],
      ["deliveries -o wide", /BY +SIZE +SHA256 +DELIVERY ID +TRIGGER ID\n/],
      [
        `run show ${replayed}`,
        /\ntrigger +hello\n[^]*\nstatus +complete\n[^]*\nlaunched_by +replay by ci\n/,
      ],
      [
        `delivery ${replayed}`,
        /\nrun_status +complete\nlaunched_by +replay by ci\n[^]*\nRun\n +\S+ complete\n/,
      ],
      [`run show ${sent} -o yaml`, /\ntrigger: hello\n[^]*launched_by:\n +kind: sender\n/],
      [`run show ${sent} -o json`, /"launched_by": \{\n +"kind": "sender"\n/],
    ];
    for (const [args, says] of cases) {
      assertMatch((await hooklaunch(...args.split(" "))).printed, says, args);
    }
    for (
      const args of [["runs", "--status", "complet"], ["execution", "list", "--status", "pending"]]
    ) {
      const { code, printed } = await runHosted(args, {});
      assertEquals(code, 1);
      assertStringIncludes(printed, "Allowed choices are");
      assert(!printed.includes("completed"), printed);
    }
  });
  await t.step("the API takes both words", async () => {
    for (const path of ["runs/", "executions/", "pipelines/"]) {
      const found = await Promise.all(
        ["complete", "completed"].map((word) => service.api("GET", `${path}?status=${word}`)),
      );
      const ids = found.map(({ body }) => body.results.map(({ id }: { id: string }) => id));
      assert(ids[0].length > 0, path);
      assertEquals(ids[0], ids[1]);
    }
  });
  await t.step("a token that may no longer see the trigger sees no name of it", async () => {
    const { body: { executions, pipelines, http_requests } } = await service.api(
      "GET",
      `runs/${sent}/`,
    );
    const { body: of } = await service.api("POST", "tokens/", { name: "both", projects: ["both"] });
    const moved = { project: "files", actions: [{ type: "run_execution", step: "echo" }] };
    assertEquals((await service.api("PATCH", `triggers/${trigger.id}/`, moved)).status, 200);
    const paths = [
      `runs/${sent}/`,
      `executions/${executions[0].id}/`,
      `pipelines/${pipelines[0].id}/`,
      `http-requests/${http_requests[0].id}/`,
    ];
    for (const path of paths) {
      const { status, body } = await asOperator(of.token, "GET", path);
      assertEquals([status, body.trigger], [200, undefined], path);
    }
  });
  await receiver.shutdown();
});
