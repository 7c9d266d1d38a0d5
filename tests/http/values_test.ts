/** Values and conditions of actions, on one running service: what the request says is what the work gets. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { endOfRun, eventually, HMAC_CONDITION, startService, type TestService } from "../data.ts";

const PROJECT = `
- step:
    name: show
    image: debian
    command: sh -c 'printf "%s" "$SAID" > "$VH_OUTPUTS_DIR/said"' {parameters}
    inputs:
      - name: event
        optional: true
    parameters:
      - { name: text, type: string, optional: true }
      - { name: whole, type: integer, optional: true }
      - { name: number, type: float, optional: true }
      - { name: flag, type: flag }
      - { name: many, type: string, multiple: separate, optional: true }
    environment-variables:
      - { name: SAID, optional: true }
- pipeline:
    name: both
    parameters:
      - name: rev
        targets: [one.parameters.text]
        default: none
    nodes:
      - { name: one, type: execution, step: show }
    edges: []
`;

interface Case {
  name: string;
  action?: Record<string, unknown>;
  actions?: Record<string, unknown>[];
  body: string;
  type?: string;
  query?: string;
  headers?: Record<string, string>;
  parameters?: Record<string, unknown>;
  environment?: Record<string, string>;
  status?: string;
  outcomes?: (RegExp | "made")[];
}

const show = (settings: Record<string, unknown> = {}) => ({
  type: "run_execution",
  step: "show",
  ...settings,
});
const given = (parameters: Record<string, unknown>) => show({ parameters });

const HOSTILE = `'"\`$(id)\n;&&|<>\\ {x} {{ %s \u00e9\u{1F600} -n`;

const cases: Case[] = [
  {
    name: "a text",
    action: given({ text: "{body.ref}" }),
    body: '{"ref": "main"}',
    parameters: { text: "main" },
  },
  {
    name: "several in one text, with braces of its own",
    action: given({ text: "{{{body.a}}-{body.b}, { } {1}" }),
    body: '{"a": "x", "b": 7}',
    parameters: { text: "{x}-7, { } {1}" },
  },
  {
    name: "types are kept",
    action: given({ whole: "{body.n}", number: "{body.f}", flag: "{body.on}" }),
    body: '{"n": 41, "f": 0.5, "on": true}',
    parameters: { whole: 41, number: 0.5, flag: true },
  },
  {
    name: "a list becomes a multiple parameter",
    action: given({ many: "{body.names}" }),
    body: '{"names": ["a", "b c"]}',
    parameters: { many: ["a", "b c"] },
  },
  {
    name: "lists of a macro",
    action: given({ many: "{body.commits.map(c, c.id)}" }),
    body: '{"commits": [{"id": "1"}, {"id": "2"}]}',
    parameters: { many: ["1", "2"] },
  },
  {
    name: "headers, query, run and trigger",
    action: given({
      text: "{headers['x-github-event']}/{query.q}/{trigger}/{size(run_id)}",
    }),
    body: "{}",
    query: "?q=1",
    headers: { "x-github-event": "push" },
    parameters: { text: "push/1/a-headers-query-run-and-trigger/36" },
  },
  {
    name: "the time of the request",
    action: given({ whole: "{received_at.getFullYear()}" }),
    body: "{}",
    parameters: { whole: new Date().getUTCFullYear() },
  },
  {
    name: "defaults",
    action: given({ whole: "{body.?a.?b.orValue(3)}", text: "{body.?c.orValue('none')}" }),
    body: '{"a": {}, "c": "some"}',
    parameters: { whole: 3, text: "some" },
  },
  {
    name: "a form",
    action: given({ text: "{body.text}" }),
    body: "text=a+b",
    type: "application/x-www-form-urlencoded",
    parameters: { text: "a b" },
  },
  {
    name: "nothing becomes shell syntax",
    action: show({ parameters: { text: "{body.t}" }, environment: { SAID: "{body.t}" } }),
    body: JSON.stringify({ t: HOSTILE }),
    parameters: { text: HOSTILE },
    environment: { SAID: HOSTILE },
  },
  {
    name: "a whole number beyond 2^53 is exact as text",
    action: show({ environment: { SAID: "{string(9007199254740993)}" } }),
    body: "{}",
    environment: { SAID: "9007199254740993" },
  },
  {
    name: "variables take numbers as text",
    action: show({ environment: { SAID: "{body.n}", UV_THREADPOOL_SIZE: "8" } }),
    body: '{"n": 5}',
    // Node's, and not of the installer uv.
    environment: { SAID: "5", UV_THREADPOOL_SIZE: "8" },
  },
  {
    name: "a long body, in the Worker",
    action: given({ text: "{body.end}" }),
    body: JSON.stringify({ fill: "x".repeat(300_000), end: "here" }),
    parameters: { text: "here" },
  },
  {
    name: "a missing value is the error of its action",
    action: given({ text: "{body.ref}" }),
    body: "{}",
    status: "error",
    outcomes: [/parameters\/text: expected a value of \{body\.ref\}, found none: .*ref/],
  },
  {
    name: "a wrong type is the error of its action",
    action: given({ whole: "{body.n}" }),
    body: '{"n": "many"}',
    status: "error",
    outcomes: [/parameter "whole" cannot take this value: "many" is not an integer/],
  },
  {
    name: "arithmetic of an int and a double says what to write",
    action: given({ number: "{body.n * 0.5}" }),
    body: '{"n": 2}',
    status: "error",
    outcomes: [/of \{body\.n \* 0\.5\}, .*: write double\(…\) around the int/],
  },
  {
    name: "a list within a text is refused",
    action: given({ text: "x {body.n}" }),
    body: '{"n": [1]}',
    status: "error",
    outcomes: [/parameters\/text: expected a text, .* of \{body\.n\}, found a list/],
  },
  {
    name: "a choice between two steps",
    actions: [
      show({ if: "body.action == 'opened'", title: "opened" }),
      show({ if: "body.action == 'closed'", title: "closed" }),
    ],
    body: '{"action": "closed"}',
    status: "completed",
    outcomes: [/body\.action == 'opened'; body\.action is "closed"/, "made"],
  },
  {
    name: "all skipped is completed",
    action: show({ if: "has(body.a)" }),
    body: "{}",
    status: "completed",
    outcomes: [/The condition is false: has\(body\.a\)/],
  },
  {
    name: "a condition without a value is an error",
    actions: [show({ if: "body.a.b == 1" }), show()],
    body: "{}",
    status: "complete_with_error",
    outcomes: [/The condition failed: /, "made"],
  },
  {
    name: "a failure stops what is behind it",
    actions: [show({ parameters: { text: "{body.a}" }, on_failure: "stop" }), show()],
    body: "{}",
    status: "error",
    outcomes: [/found none/, /Action 0 \(run_execution\) failed, and its on_failure is stop/],
  },
  {
    name: "a failure stops nothing by default",
    actions: [show({ parameters: { text: "{body.a}" } }), show()],
    body: "{}",
    status: "complete_with_error",
    outcomes: [/found none/, "made"],
  },
];

const slug = (name: string) => `a-${name.toLowerCase()}`.replaceAll(/[^a-z0-9]+/g, "-");

// deno-lint-ignore no-explicit-any
async function launched(service: TestService, one: Case): Promise<any> {
  const { url } = await service.trigger({
    name: slug(one.name),
    project: "values",
    actions: one.actions ?? [one.action],
  });
  const answer = await fetch(url + (one.query ?? ""), {
    method: "POST",
    headers: { "content-type": one.type ?? "application/json", ...one.headers },
    body: one.body,
  });
  assertEquals(answer.status, 200, await answer.text());
  const { body } = await service.api("GET", `deliveries/?trigger=${slug(one.name)}`);
  const run_id = body.results[0].run_id;
  return await eventually(async () => {
    const run = (await service.api("GET", `runs/${run_id}/`)).body;
    return run.status === "pending" ? undefined : run;
  });
}

Deno.test("values and conditions of actions", async (t) => {
  await using service = await startService();
  await Deno.mkdir(`${service.folder}/values`);
  await Deno.writeTextFile(`${service.folder}/values/valohai.yaml`, PROJECT);
  await service.api("PUT", "projects/values/", {
    name: "values",
    directory: `${service.folder}/values`,
  });
  for (const one of cases) {
    await t.step(one.name, async () => {
      const run = await launched(service, one);
      assertEquals(run.status, one.status ?? "completed", JSON.stringify(run.actions));
      for (const [index, expected] of (one.outcomes ?? ["made"]).entries()) {
        const outcome = run.actions[index];
        if (expected === "made") assert(outcome.created?.execution_id, JSON.stringify(outcome));
        else assertMatch(outcome.error ?? outcome.skipped ?? "", expected);
      }
      const id = run.actions[0].created?.execution_id;
      if (id === undefined) return;
      const execution = (await service.api("GET", `executions/${id}/`)).body;
      for (const [name, value] of Object.entries(one.parameters ?? {})) {
        assertEquals(execution.parameters[name], value, name);
      }
      for (const [name, value] of Object.entries(one.environment ?? {})) {
        assertEquals(execution.environment_variables[name], value, name);
      }
    });
  }
  await t.step("the command gets the value, byte by byte", async () => {
    const { body } = await service.api("GET", "executions/?project=values");
    const said = await eventually(async () => {
      for (const { id, title } of body.results) {
        if (title !== "show") continue;
        const execution = (await service.api("GET", `executions/${id}/`)).body;
        if (execution.environment_variables.SAID !== HOSTILE) continue;
        if (execution.outputs.length === 0) return undefined;
        const answer = await fetch(
          `${service.url}/api/v0/executions/${id}/outputs/said`,
          { headers: { authorization: "Bearer an-operators-token-for-tests" } },
        );
        return await answer.text();
      }
    });
    assertEquals(said, HOSTILE);
  });
  await t.step("pipelines take values", async () => {
    const run = await launched(service, {
      name: "pipeline",
      action: { type: "run_pipeline", pipeline: "both", parameters: { rev: "{body.rev}" } },
      body: '{"rev": "v1"}',
    });
    const { pipeline_id } = run.actions[0].created;
    const pipeline = (await service.api("GET", `pipelines/${pipeline_id}/`)).body;
    assertEquals(JSON.stringify(pipeline).includes('"v1"'), true, JSON.stringify(pipeline));
  });
  await t.step("a replay has the values that its trigger names now, of its own body", async () => {
    const run = await launched(service, {
      name: "replayed",
      action: given({ text: "{body.ref}" }),
      body: '{"ref": "main", "n": 1}',
    });
    const edits = [
      { text: "{body.ref}-{body.n}", whole: "{body.n}" },
      {
        text: "fixed",
        whole: "{size(body.ref)}",
        many: ["{body.ref}", "{headers['content-type']}"],
      },
    ];
    const type = "application/json";
    const replays: [edit: number, sent: string | undefined, expected: Record<string, unknown>][] = [
      [0, undefined, { text: "main-1", whole: 1, many: undefined }],
      [0, '{"ref": "other", "n": 2}', { text: "other-2", whole: 2, many: undefined }],
      [1, undefined, { text: "fixed", whole: 4, many: ["main", type] }],
      [1, '{"ref": "other"}', { text: "fixed", whole: 5, many: ["other", type] }],
    ];
    for (const [edit, sent, expected] of replays) {
      const actions = [given(edits[edit] ?? {})];
      const { status } = await service.api("PATCH", `triggers/${run.trigger_id}/`, { actions });
      assertEquals(status, 200);
      const body = sent === undefined ? {} : { body: btoa(sent) };
      const replay = await service.api("POST", `deliveries/${run.id}/replay/`, body);
      assertEquals(replay.status, 201, JSON.stringify(replay.body));
      const { actions: [outcome] } = await endOfRun(service, replay.body.id);
      const execution = await service.api("GET", `executions/${outcome.created.execution_id}/`);
      const { text, whole, many } = execution.body.parameters;
      assertEquals({ text, whole, many }, expected, `edit ${edit}, ${sent ?? "the stored body"}`);
    }
  });
});

const refused: [what: string, action: Record<string, unknown>, pointer: string, detail: RegExp][] =
  [
    [
      "an unknown name",
      given({ text: "{bod.x}" }),
      "/actions/0/parameters/text",
      /Unknown variable 'bod'/,
    ],
    [
      "an unknown function",
      given({ text: "{nothing(1)}" }),
      "/actions/0/parameters/text",
      /Unknown function/,
    ],
    ["no end", given({ text: "{body.x" }), "/actions/0/parameters/text", /Expected }/],
    [
      "a variable of the service",
      given({ text: "{env:SECRET}" }),
      "/actions/0/parameters/text",
      /Syntax error/,
    ],
    [
      "within a list",
      given({ many: ["a", "{bod}"] }),
      "/actions/0/parameters/many/1",
      /Unknown variable/,
    ],
    [
      "in the environment",
      show({ environment: { A: "{b}" } }),
      "/actions/0/environment/A",
      /Unknown variable/,
    ],
    [
      "a loader's variable",
      show({ environment: { LD_PRELOAD: "x" } }),
      "/actions/0/environment/LD_PRELOAD",
      /find code/,
    ],
    [
      "a shell's variable",
      show({ environment: { bash_env: "{body}" } }),
      "/actions/0/environment/bash_env",
      /find code/,
    ],
    [
      "an installer's variable",
      show({ environment: { PIP_INDEX_URL: "{body}" } }),
      "/actions/0/environment/PIP_INDEX_URL",
      /find code/,
    ],
    [
      "a name of a variable that a shell would run",
      show({ environment: { "A=1; id; B": "x" } }),
      "/actions/0/environment/A=1; id; B",
      /letters, digits and underscores/,
    ],
    ["no bool", show({ if: "'a'" }), "/actions/0/if", /Must be true or false/],
    [
      "a condition's unknown name",
      show({ if: "bdy.x" }),
      "/actions/0/if",
      /Unknown variable 'bdy'/,
    ],
    ["no default", given({ text: "{body.?a}" }), "/actions/0/parameters/text", /orValue/],
    ["a wrong word", show({ on_failure: "never" }), "/actions/0/on_failure", /continue/],
  ];

const responses: typeof refused = [
  ["in a response", { type: "text", text: "{bdy.x}" }, "/response/text", /Unknown variable 'bdy'/],
  ["in JSON", { type: "json", json: { a: ["{x}"] } }, "/response/json/a/0", /Unknown variable 'x'/],
];

Deno.test("mistakes in values are told when a trigger is saved", async (t) => {
  await using service = await startService();
  for (const [what, settings, pointer, detail] of [...refused, ...responses]) {
    await t.step(what, async () => {
      const { status, body } = await service.api("POST", "triggers/", {
        name: slug(what),
        project: "files",
        ...(pointer.startsWith("/response")
          ? { actions: [given({})], response: settings }
          : { actions: [settings] }),
      });
      assertEquals([status, body.errors?.[0]?.pointer], [422, pointer], JSON.stringify(body));
      assertMatch(body.errors[0].detail, detail);
    });
  }
});

const answers: [what: string, response: Record<string, unknown>, body: string, expected: string][] =
  [
    ["the run alone", { type: "text", text: "{run_id}" }, "{}", "RUN"],
    [
      "a text with values",
      { type: "text", text: "{body.a} of {trigger}, { } {{x}" },
      '{"a": 1}',
      "1 of TRIGGER, { } {x}",
    ],
    [
      "JSON keeps types",
      {
        type: "json",
        json: { run: "{run_id}", n: "{body.n}", list: "{body.l}", text: "n={body.n}" },
      },
      '{"n": 5, "l": [1, "a"]}',
      '{"run":"RUN","n":5,"list":[1,"a"],"text":"n=5"}',
    ],
    ["a missing value is empty", { type: "text", text: "<{body.none}>" }, "{}", "<>"],
    [
      "XML has no markup of the sender's",
      { type: "xml", text: `<a b="{body.v}" c='{body.w}'>{body.v}</a>` },
      JSON.stringify({ v: '"><x>&', w: "' d='" }),
      `<a b="&quot;&gt;&lt;x&gt;&amp;" c='&apos; d=&apos;'>&quot;&gt;&lt;x&gt;&amp;</a>`,
    ],
    [
      "XML of a whole body has none either",
      { type: "xml", text: "{body}" },
      '{"v":"<x>"}',
      "{&quot;v&quot;:&quot;&lt;x&gt;&quot;}",
    ],
  ];

Deno.test("a header whose name has capitals, which no value finds, is told when a trigger is saved", async () => {
  await using service = await startService();
  const { body } = await service.api("POST", "triggers/?dry_run", {
    name: "capitals",
    project: "files",
    conditions: [HMAC_CONDITION],
    actions: [
      {
        type: "run_execution",
        step: "echo",
        if: "headers['X-GitHub-Event'] == 'push' && has(headers.Via)",
        environment: { A: "{headers['x-a']}{body['X']}", B: "a {headers['X-B']} b" },
      },
      {
        type: "http_request",
        url: "https://example.com/",
        headers: { "x-c": "{headers['X-C']}", authorization: { secret: "{env:SECRET_D}" } },
        body: [{ e: "{headers['X-E'] + headers['X-E']}" }],
      },
    ],
    response: { type: "json", json: { f: "{headers['X-F']} headers['X-G'] {{headers['X-G']}" } },
  });
  const told = body.warnings.filter(({ detail }: { detail: string }) => /^Never/.test(detail))
    .map(({ pointer, detail }: { pointer: string; detail: string }) => [pointer, detail]);
  const never = (name: string) =>
    `Never finds the header "${name}": write its name in lower case, "${name.toLowerCase()}"`;
  assertEquals(told, [
    ["/actions/0/if", never("X-GitHub-Event")],
    ["/actions/0/if", never("Via")],
    ["/actions/0/environment/B", never("X-B")],
    ["/actions/1/headers/x-c", never("X-C")],
    ["/actions/1/body/0/e", never("X-E")],
    ["/response/json/f", never("X-F")],
  ]);
});

Deno.test("no answer is a page that a browser runs on the console's origin", async (t) => {
  await using service = await startService();
  const types = { "text/html": true, "application/xml": true, "text/plain": false };
  for (const [content_type, isSandboxed] of Object.entries(types)) {
    await t.step(content_type, async () => {
      const response = { type: "text", text: "<script>{body.a}</script>", content_type };
      const handshake = { method: "GET", response: { ...response, text: "<b>x</b>" } };
      const { url } = await service.trigger({ response, handshakes: [handshake] });
      for (const method of ["POST", "GET"]) {
        const answer = await fetch(url, { method, ...(method === "POST" && { body: '{"a": 1}' }) });
        await answer.text();
        const policy = answer.headers.get("content-security-policy");
        assertEquals(policy, isSandboxed ? "sandbox; default-src 'none'" : null, method);
      }
    });
  }
  for (const name of ["Service-Worker-Allowed", "Content-Security-Policy", "Clear-Site-Data"]) {
    await t.step(name, async () => {
      const { status } = await service.api("POST", "triggers/", {
        name: name.toLowerCase(),
        project: "files",
        actions: [given({})],
        response: { type: "text", text: "x", headers: { [name]: "/" } },
      });
      assertEquals(status, 422);
    });
  }
});

Deno.test("responses with values of the request", async (t) => {
  await using service = await startService();
  for (const [what, response, body, expected] of answers) {
    await t.step(what, async () => {
      const name = slug(what);
      const { url } = await service.trigger({
        name,
        response: { ...response, headers: { "x-seen": "{size(body)}" } },
      });
      const answer = await fetch(url, { method: "POST", body });
      const { body: { results } } = await service.api("GET", `deliveries/?trigger=${name}`);
      assertEquals(
        [answer.status, await answer.text(), answer.headers.get("x-seen")],
        [
          200,
          expected.replaceAll("RUN", results[0].run_id).replaceAll("TRIGGER", name),
          String(Object.keys(JSON.parse(body)).length),
        ],
      );
    });
  }
});
