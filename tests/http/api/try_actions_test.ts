/** Tries of actions with stored and with sent requests, on one service. They launch nothing. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { endOfRun, startService } from "../../data.ts";

const PROJECT = `
- step:
    name: train
    image: debian
    command: echo {parameters}
    inputs:
      - { name: event, optional: true }
      - { name: data, default: "https://example.com/data.csv" }
    parameters:
      - { name: ref, type: string, optional: true }
      - { name: epochs, type: integer, default: 2 }
      - { name: files, type: string, multiple: separate, optional: true }
    environment-variables:
      - { name: MODE, default: fast }
- pipeline:
    name: both
    parameters:
      - { name: rev, targets: [one.parameters.ref], default: none }
    nodes:
      - { name: one, type: execution, step: train }
      - { name: two, type: execution, step: train }
    edges:
      - [one.output.*, two.input.event]
      - [one.parameter.ref, two.environment-variable.MODE]
- step:
    name: pick
    image: debian
    command: "true"
    inputs: [{ name: model, default: "datum://" }]
`;

const train = (settings: Record<string, unknown>) => ({
  type: "run_execution",
  step: "train",
  ...settings,
});
const json = (body: unknown, headers: Record<string, string> = {}) => ({
  headers: { "content-type": "application/json", ...headers },
  body: JSON.stringify(body),
});

interface ShownExecution {
  node: string;
  parameters: { value: unknown }[];
  inputs: Record<string, unknown>;
  environment: Record<string, string>;
}

Deno.test("try-actions shows what actions would launch, and launches nothing", async (t) => {
  await using service = await startService();
  const directory = `${service.folder}/tried`;
  await Deno.mkdir(directory);
  await Deno.writeTextFile(`${directory}/valohai.yaml`, PROJECT);
  await service.api("PUT", "projects/tried/", { name: "tried", directory });
  const token = "a-token-that-nobody-may-see";
  const { id, url } = await service.trigger({
    name: "tried",
    project: "tried",
    keep_refused: "1h",
    conditions: [
      { type: "static_token", secrets: [token], in: "header", name: "x-token" },
      { type: "payload_filter", expression: "body.ref != 'none'" },
    ],
    actions: [
      train({
        payload_input_name: "event",
        parameters: { ref: "{body.ref}", files: "{body.files}" },
        environment: { MODE: "{headers['x-mode']}" },
        metadata: { who: "{body.who.name}" },
      }),
    ],
  });
  const path = `triggers/${id}/try-actions/`;
  const tried = async (body: unknown) => {
    const answer = await service.api("POST", path, body);
    assertEquals(answer.status, 200, JSON.stringify(answer.body));
    return answer.body.results;
  };
  const counts = async () => {
    const { body: { results } } = await service.api("GET", "executions/?project=tried");
    return results.length;
  };

  await t.step("without a delivery there is nothing to try", async () => {
    assertEquals(await tried({}), []);
  });

  const body = { ref: "main", files: ["a", "b"], who: { name: "octo" } };
  const sent = json(body, { "x-token": token, "x-mode": "slow" });
  const answer = await fetch(url, { method: "POST", ...sent });
  assertEquals(answer.status, 200, await answer.text());
  const filtered = json({ ...body, ref: "none" }, { "x-token": token, "x-mode": "slow" });
  await (await fetch(url, { method: "POST", ...filtered })).body?.cancel();
  const { body: { results: [, accepted] } } = await service.api("GET", "deliveries/?trigger=tried");
  await endOfRun(service, accepted.run_id);
  const before = await counts();
  assertEquals(before, 1);

  await t.step("the trigger's own actions, on its deliveries, newest first", async () => {
    const actions = [
      train({
        payload_input_name: "event",
        parameters: { ref: "{body.ref}", files: "{body.files}" },
        environment: { MODE: "{headers['x-mode']}" },
        metadata: { who: "{body.who.name}" },
      }),
    ];
    const results = await tried({ actions });
    assertEquals(results.map(({ outcome }: { outcome: string }) => outcome), [
      "filtered",
      "accepted",
    ]);
    const [{ executions: [found], ...rest }] = results[1].actions;
    assertEquals(rest, { action: "run_execution" });
    const { commit, ...execution } = found;
    assertMatch(commit, /^~/);
    assertEquals(execution, {
      step: "train",
      title: "train",
      parameters: [
        { name: "ref", type: "string", value: "main" },
        { name: "epochs", type: "integer", value: 2 },
        { name: "files", type: "list of string", value: ["a", "b"] },
      ],
      inputs: {
        event: [{ name: "payload.json", from: "payload" }],
        data: [{ name: "data.csv", url: "https://example.com/data.csv" }],
      },
      environment: { MODE: "slow" },
      metadata: { who: "octo" },
    });
  });

  await t.step("credentials are not there, also of a request that is kept whole", async () => {
    const actions = [train({ environment: { ALL: "{headers['x-token']}" } })];
    const results = await tried({ actions });
    for (const { actions: [action] } of results) {
      assertMatch(action.error, /environment\/ALL: expected a value/);
    }
    assert(!JSON.stringify(results).includes(token));
  });

  await t.step("one delivery", async () => {
    const { body: { results } } = await service.api("GET", "deliveries/?trigger=tried");
    const [{ id: delivery_id }] = results;
    const found = await tried({ delivery_id, actions: [train({ if: "body.ref == 'main'" })] });
    assertEquals(found.length, 1);
    assertEquals(found[0].delivery_id, delivery_id);
    assertMatch(found[0].actions[0].skipped, /body\.ref == 'main'; body\.ref is "none"/);
  });

  await t.step("requests that are sent, with failures and what they stop", async () => {
    const [{ actions }] = await tried({
      requests: [json({ n: "many" })],
      actions: [
        train({ parameters: { epochs: "{body.n}" } }),
        train({ parameters: { ref: "{body.none}" }, on_failure: "stop" }),
        train({}),
      ],
    });
    assertMatch(actions[0].error, /"epochs" cannot take this value: "many" is not an integer/);
    assertMatch(actions[1].error, /parameters\/ref: expected a value/);
    assertMatch(actions[2].skipped, /Action 1 \(run_execution\) failed/);
  });

  await t.step("a long body", async () => {
    const most = { body: "x".repeat(1024 * 1024) };
    const results = await tried({ requests: [{ body: `${most.body}x` }], actions: [train({})] });
    assertEquals(results, [{ actions: [], not_tried: "The body is longer than 1 MiB" }]);
    assertEquals((await tried({ requests: [most], actions: [train({})] }))[0].not_tried, undefined);
  });

  await t.step("the nodes of a pipeline", async () => {
    const [{ actions: [action] }] = await tried({
      requests: [json({ rev: "v2" })],
      actions: [{
        type: "run_pipeline",
        pipeline: "both",
        parameters: { rev: "{body.rev}", "two.epochs": 7 },
      }],
    });
    assertEquals(action.pipeline, "both");
    const executions: ShownExecution[] = action.executions;
    const shown = executions.map(({ node, parameters, inputs }) => [
      node,
      parameters.map(({ value }) => value),
      inputs.event,
    ]);
    assertEquals(shown, [
      ["one", ["v2", 2], undefined],
      ["two", [7], [{ name: "file", from: "edge" }]],
    ]);
    // An edge brings that of the second node.
    assertEquals(executions.map(({ environment }) => environment), [{ MODE: "fast" }, {}]);
  });

  await t.step("a default file that no edge brings", async () => {
    const [{ actions: [action] }] = await tried({
      requests: [json({})],
      actions: [train({ step: "pick" })],
    });
    const executions: ShownExecution[] = action.executions;
    assertEquals(executions.map(({ inputs }) => inputs), [
      { model: [{ name: "file", url: "datum://" }] },
    ]);
  });

  await t.step("the request of an http_request, with its secrets masked", async () => {
    const secrets = { token: "the-token-of-the-job", key: "the-key-of-the-signature" };
    const request = {
      type: "http_request",
      url: "https://ci.example/jobs/{body.ref}?n={body.n}",
      headers: {
        "X-Ref": "{body.ref}",
        Authorization: { secret: secrets.token, prefix: "Bearer " },
      },
      body: { ref: "{body.ref}", done: "{callback_url}" },
      sign: { preset: "github", secret: secrets.key },
      wait: "callback",
    };
    const [{ actions }] = await tried({
      requests: [json({ ref: "a/b", n: 7, long: "x".repeat(300_000) })],
      actions: [
        request,
        { ...request, wait: "none", body: "{body.none}" },
        { ...request, if: "body.n == 8" },
        { ...request, wait: "none", body: "{body.long}{body.long}" },
      ],
    });
    assertEquals(actions[0], {
      action: "http_request",
      http_request: {
        method: "POST",
        url: "https://ci.example/jobs/a%2Fb?n=7",
        headers: {
          "content-type": "application/json",
          "x-ref": "a/b",
          authorization: "Bearer ********",
        },
        body: JSON.stringify({
          ref: "a/b",
          done: `${service.url}/api/v0/callbacks/********/********/`,
        }),
        sign: "github",
      },
    });
    assertMatch(actions[1].error, /^Cannot perform http_request: body: expected a value/);
    assertMatch(actions[2].skipped, /body\.n == 8/);
    assertMatch(actions[3].error, /^Cannot store the HTTP request: it has 600\d\d\d bytes/);
    for (const secret of Object.values(secrets)) {
      assert(!JSON.stringify(actions).includes(secret), secret);
    }
  });

  await t.step("mistakes have pointers", async () => {
    const wrong = { actions: [train({ parameters: { ref: "{bdy.x}" } })] };
    const { status, body } = await service.api("POST", path, wrong);
    assertEquals([status, body.errors[0].pointer], [422, "/actions/0/parameters/ref"]);
    const both = { requests: [json({})], delivery_id: id };
    assertEquals((await service.api("POST", path, both)).status, 422);
    assertEquals((await service.api("POST", path, { delivery_id: id })).status, 409);
    const other = await service.trigger({
      name: "other",
      project: "tried",
      actions: [{ type: "fetch_repository" }],
    });
    await (await fetch(other.url, { method: "POST", body: "{}" })).body?.cancel();
    const { body: { results } } = await service.api("GET", "deliveries/?trigger=other");
    const ofOther = { delivery_id: results[0].id };
    assertEquals((await service.api("POST", path, ofOther)).status, 409);
  });

  await t.step("nothing was launched", async () => {
    assertEquals(await counts(), before);
  });
});
