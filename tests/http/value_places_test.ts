/** The places of actions that take values, beside a step's parameters: metadata, nodes and copies of pipelines. */
import { assertEquals, assertMatch } from "@std/assert";
import { eventually, startService, type TestService } from "../data.ts";

const PROJECT = `
- step:
    name: one
    image: debian
    command: echo '{"seen":"printed"}' && echo {parameters}
    parameters:
      - { name: text, type: string, optional: true }
      - { name: whole, type: integer, optional: true }
- step:
    name: two
    image: debian
    command: echo {parameters}
    parameters:
      - { name: text, type: string, optional: true }
- pipeline:
    name: both
    parameters:
      - { name: rev, targets: [first.parameters.text, second.parameters.text], default: none }
    nodes:
      - { name: first, type: execution, step: one }
      - { name: second, type: execution, step: two }
    edges: []
`;

// The answers are looked into by the API's contract.
// deno-lint-ignore no-explicit-any
type Answered = any;

interface Launched {
  run: Answered;
  /** Its executions, once they have ended, by their node, or by their step. */
  executions: Record<string, Answered>;
}

class Launcher {
  #triggers = 0;

  constructor(readonly service: TestService) {}

  async launch(action: Record<string, unknown>, body: unknown): Promise<Launched> {
    const name = `places-${++this.#triggers}`;
    const { url } = await this.service.trigger({ name, project: "places", actions: [action] });
    const answer = await fetch(url, { method: "POST", body: JSON.stringify(body) });
    assertEquals(answer.status, 200, await answer.text());
    const { results } = await this.#get(`deliveries/?trigger=${name}`);
    const run = await eventually(async () => {
      const found = await this.#get(`runs/${results[0].run_id}/`);
      return found.status === "pending" ? undefined : found;
    });
    return { run, executions: await this.#executions(run) };
  }

  async #executions(run: Answered): Promise<Record<string, Answered>> {
    const { execution_id, pipeline_id } = run.actions[0].created ?? {};
    if (pipeline_id === undefined && execution_id === undefined) return {};
    const ids = pipeline_id === undefined ? [execution_id] : await eventually(async () => {
      const { nodes, ended_at } = await this.#get(`pipelines/${pipeline_id}/`);
      return ended_at && nodes.map((node: Answered) => node.execution_id);
    });
    const ended = await Promise.all(ids.map((id: string) =>
      eventually(async () => {
        const found = await this.#get(`executions/${id}/`);
        return found.ended_at && found;
      })
    ));
    return Object.fromEntries(ended.map((each) => [each.node ?? each.step, each]));
  }

  async #get(path: string): Promise<Answered> {
    return (await this.service.api("GET", path)).body;
  }
}

async function started(): Promise<TestService> {
  const service = await startService();
  await Deno.mkdir(`${service.folder}/places`);
  await Deno.writeTextFile(`${service.folder}/places/valohai.yaml`, PROJECT);
  const directory = `${service.folder}/places`;
  await service.api("PUT", "projects/places/", { name: "places", directory });
  return service;
}

const both = (settings: Record<string, unknown>) => ({
  type: "run_pipeline",
  pipeline: "both",
  ...settings,
});

Deno.test("metadata, nodes and copies of pipelines take values", async (t) => {
  await using service = await started();
  const launcher = new Launcher(service);

  await t.step("an execution begins with metadata of the request, and adds its own", async () => {
    const metadata = { pull: "{body.n}", who: { login: "by {body.who}" }, seen: "{body.seen}" };
    const { executions } = await launcher.launch(
      { type: "run_execution", step: "one", metadata },
      { n: 7, who: "octo", seen: "given" },
    );
    const expected = { pull: 7, who: { login: "by octo" }, seen: "printed" };
    assertEquals(executions.one.metadata, expected);
  });

  await t.step("metadata that a record cannot hold is the error of its action", async () => {
    const { run } = await launcher.launch(
      { type: "run_execution", step: "one", metadata: { all: "{body.text}" } },
      { text: "x".repeat(20_000) },
    );
    assertEquals(run.status, "error");
    assertMatch(run.actions[0].error, /Cannot set the metadata: There is too much metadata/);
  });

  let source = "";
  await t.step("a parameter of one node", async () => {
    const { run, executions } = await launcher.launch(
      both({
        parameters: { rev: "{body.rev}", "first.whole": "{body.n}", "second.text": "own" },
        metadata: { pull: "{body.n}", of: "source" },
      }),
      { rev: "v1", n: 3 },
    );
    assertEquals(executions.first.parameters, { text: "v1", whole: 3 });
    assertEquals(executions.second.parameters, { text: "own" });
    assertEquals(executions.first.metadata, { pull: 3, of: "source", seen: "printed" });
    assertEquals(executions.second.metadata, { pull: 3, of: "source" });
    source = run.actions[0].created.pipeline_id;
  });

  await t.step("a copy has what it does not name", async () => {
    const { executions } = await launcher.launch(
      {
        type: "copy_pipeline",
        source_pipeline: source,
        parameters: { rev: "{body.rev}" },
        metadata: { again: "{body.rev}", of: "copy" },
      },
      { rev: "v2" },
    );
    assertEquals(executions.first.parameters, { text: "v2", whole: 3 });
    assertEquals(executions.second.parameters, { text: "v2" });
    assertEquals(executions.second.metadata, { pull: 3, of: "copy", again: "v2" });
  });

  await t.step("a value that a node cannot take is the error of its action", async () => {
    const { run } = await launcher.launch(
      {
        type: "copy_pipeline",
        source_pipeline: source,
        parameters: { "first.whole": "{body.n}" },
      },
      { n: "many" },
    );
    assertEquals(run.status, "error");
    assertMatch(run.actions[0].error, /node "first": .*"whole" .*"many" is not an integer/);
  });

  await t.step("a pipeline of another project is not copied", async () => {
    const action = { type: "copy_pipeline", source_pipeline: source };
    const settings = { name: "of-another-project", project: "files", actions: [action] };
    const { body } = await service.api("POST", "triggers/", settings);
    const found = body.warnings.find((each: Answered) => each.pointer !== "/conditions");
    assertEquals(found?.pointer, "/actions/0/source_pipeline", JSON.stringify(body));
    assertMatch(found.detail, /project "files" has none of this id/);
  });

  const wrong: [what: string, action: Record<string, unknown>, pointer: string, detail: RegExp][] =
    [
      [
        "an unknown node",
        both({ parameters: { "third.text": "{body.a}" } }),
        "/actions/0/parameters/third.text",
        /no parameter "third.text"; its parameters are "rev"; those of its nodes are "first.text"/,
      ],
      [
        "an unknown parameter of a copy",
        { type: "copy_pipeline", source_pipeline: source, parameters: { revision: "x" } },
        "/actions/0/parameters/revision",
        /no parameter "revision"/,
      ],
      [
        "a wrong value of a copy",
        { type: "copy_pipeline", source_pipeline: source, parameters: { "first.whole": "x" } },
        "/actions/0/parameters",
        /"x" is not an integer/,
      ],
    ];
  for (const [what, action, pointer, detail] of wrong) {
    await t.step(`${what} is told when it is saved`, async () => {
      const name = `wrong-${what.replaceAll(" ", "-")}`;
      const settings = { name, project: "places", actions: [action] };
      const { body } = await service.api("POST", "triggers/", settings);
      const found = body.warnings.find((each: Answered) => each.pointer !== "/conditions");
      assertEquals(found?.pointer, pointer, JSON.stringify(body));
      assertMatch(found.detail, detail);
    });
  }

  await t.step("a mistake in metadata is refused", async () => {
    const action = { type: "run_execution", step: "one", metadata: { a: ["{bdy.x}"] } };
    const settings = { name: "mistaken", project: "places", actions: [action] };
    const { status, body } = await service.api("POST", "triggers/", settings);
    assertEquals([status, body.errors[0].pointer], [422, "/actions/0/metadata/a/0"]);
  });
});
