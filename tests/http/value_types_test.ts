/** Types of values that are known when a trigger is saved: what a step can never take is told then. */
import { assertEquals, assertMatch } from "@std/assert";
import { startService } from "../data.ts";

const PROJECT = `
- step:
    name: typed
    image: debian
    command: echo {parameters}
    parameters:
      - { name: whole, type: integer, optional: true }
      - { name: number, type: float, optional: true }
      - { name: text, type: string, optional: true }
      - { name: must, type: string, default: x }
      - { name: flag, type: flag }
      - { name: mode, type: string, choices: [fast, slow], optional: true }
      - { name: size, type: integer, choices: [1, 2], optional: true }
      - { name: many, type: integer, multiple: separate, optional: true }
- step:
    name: needy
    image: debian
    command: echo {parameters}
    inputs: [{ name: data }]
    parameters: [{ name: must, type: string }]
- pipeline:
    name: one
    parameters: [{ name: whole, targets: [node.parameters.whole], default: 1 }]
    nodes: [{ name: node, type: execution, step: typed }]
    edges: []
`;

/** Values by their parameter, and what is told of them; nothing where the request may make them right. */
const parameters: [name: string, value: unknown, told?: RegExp][] = [
  ["whole", "{body.n}"],
  ["whole", "{headers['x-count']}"],
  ["whole", "1{body.n}"],
  ["whole", "{body.commits.size()}"],
  ["whole", "{body.a ? 1 : body.n}"],
  ["whole", "{body.a + 1}"],
  ["whole", "{body.?a.orValue(1)}"],
  ["whole", "{received_at.getFullYear()}"],
  ["whole", "{body.?a.orValue(null)}"],
  ["whole", "{body.a ? '7' : '8'}"],
  ["whole", "{body.a == 1}", /expected an integer, found \{body.a == 1\}: true or false$/],
  ["whole", "{has(body.a)}", /found \{has\(body.a\)\}: true or false/],
  ["whole", "{body.a.exists(x, x > 1)}", /true or false/],
  ["whole", "{body.?a.orValue('none')}", /: a text such as "none"/],
  ["whole", "{body.a ? 1 : 'x'}", /: a text such as "x"/],
  ["whole", "v{body.n}", /found v\{body.n\}: a text$/],
  ["whole", "{run_id}", /: a text such as "0190a000-/],
  ["whole", "{received_at}", /: a text such as "2026-/],
  ["whole", "{body.n ? [1] : [2]}", /: a list$/],
  ["whole", "{body.n ? 1 : {'a': body.n}}", /: a map$/],
  ["whole", "{body.n.map(x, x)}", /: a list$/],
  ["whole", "{body.n ? 1.5 : 2.0}", /: a number such as 1.5/],
  ["whole", "{{x}", /: a text such as "\{x\}"/],
  ["number", "{double(body.n)}"],
  ["number", "1.{body.n}e-3"],
  ["number", "{body.n}%", /expected a number, found \{body.n\}%: a text/],
  ["number", "{body.n.contains('x')}", /true or false/],
  ["text", "{body.a == 1}"],
  ["text", "{size(body.a)}"],
  ["text", "{body.x.lowerAscii()} {body.y}"],
  ["text", "{body.a.split(',')}", /expected text, found .*: a list/],
  ["text", "{base64.decode(body.a)}", /found .*: a value that JSON does not have/],
  [
    "text",
    "of {body.a.split(',')}",
    /Expected a text, .* of \{body.a.split\(','\)\}, found a list/,
  ],
  ["text", "{body.?a.orValue(null)}"],
  ["must", "{body.?a.orValue(null)}", /found .*: null/],
  ["flag", "{body.on}"],
  ["flag", "{body.on == 'x'}"],
  ["flag", "{headers['x-on']}"],
  ["flag", "{body.a ? 'yes' : 'no'}"],
  ["flag", "o{body.n}"],
  ["flag", "{size(body.a)}", /expected true or false, found .*: a number/],
  ["flag", "{body.a ? 'maybe' : 'no'}", /a text such as "maybe"/],
  ["flag", "x{body.n}", /a text$/],
  ["mode", "{body.mode}"],
  ["mode", "{body.quick ? 'fast' : 'slow'}"],
  ["mode", "f{body.mode}"],
  ["mode", "{body.quick ? 'fast' : 'slower'}", /of \["fast","slow"\], found .*"slower"/],
  ["mode", "{body.mode}er", /found \{body.mode\}er: a text/],
  ["mode", "{size(body.mode)}", /a number/],
  ["mode", "{body.mode == 'fast'}", /true or false/],
  ["size", "{body.n}"],
  ["size", "{size(body.n)}"],
  ["size", "{body.a ? 1 : 3}", /an integer of \[1,2\], found .*: a number such as 3/],
  ["many", "{body.all}"],
  ["many", "{body.all.map(x, x.n)}"],
  ["many", ["{body.a}", "{body.b}", 3]],
  ["many", ["{body.a}", "{body.b == 1}"], /found \{body.b == 1\}: true or false/],
  ["many", ["{body.a ? [1] : [2]}"], /a list/],
  ["many", "{body.all == 1}", /values, each of them an integer, found .*: true or false/],
];

type Told = { pointer: string; detail: string }[];

Deno.test("values of known types are checked when their trigger is saved", async (t) => {
  await using service = await startService();
  const directory = `${service.folder}/typed`;
  await Deno.mkdir(directory);
  await Deno.writeTextFile(`${directory}/valohai.yaml`, PROJECT);
  await service.api("PUT", "projects/typed/", { name: "typed", directory });

  let triggers = 0;
  const told = async (action: Record<string, unknown>): Promise<Told> => {
    const settings = { name: `typed-${++triggers}`, project: "typed", actions: [action] };
    const { status, body } = await service.api("POST", "triggers/", settings);
    assertEquals(status, 201, JSON.stringify(body));
    return body.warnings.filter(({ pointer }: Told[number]) => pointer !== "/conditions");
  };
  const one = (found: Told, pointer: string, detail: RegExp) => {
    assertEquals(found.map((each) => each.pointer), [pointer], JSON.stringify(found));
    assertMatch(found[0]?.detail ?? "", detail);
  };

  for (const [name, value, detail] of parameters) {
    await t.step(`${name}: ${JSON.stringify(value)}`, async () => {
      const action = { type: "run_execution", step: "typed", parameters: { [name]: value } };
      const found = await told(action);
      if (detail === undefined) assertEquals(found, []);
      else one(found, `/actions/0/parameters/${name}`, detail);
    });
  }
  await t.step("variables, metadata, and HTTP requests", async () => {
    const list = /Expected a text, a number, true or false of \{body.a.split.*\}, found a list/;
    const step = { type: "run_execution", step: "typed" };
    one(
      await told({ ...step, environment: { A: "{body.a.split(',')}" } }),
      "/actions/0/environment/A",
      list,
    );
    assertEquals(await told({ ...step, environment: { A: "{body.a}{1}" } }), []);
    assertEquals(await told({ ...step, metadata: { a: "{body.a.split(',')}" } }), []);
    one(
      await told({ ...step, metadata: { a: ["x{body.a.split(',')}"] } }),
      "/actions/0/metadata/a/0",
      list,
    );
    const request = { type: "http_request", url: "https://example.com/" };
    assertEquals(await told({ ...request, body: "{body.a.split(',')}" }), []);
    one(await told({ ...request, body: { a: "x{body.a.split(',')}" } }), "/actions/0/body/a", list);
    one(
      await told({ ...request, headers: { "x-a": "{body.a.split(',')}" } }),
      "/actions/0/headers/x-a",
      list,
    );
    one(
      await told({ ...request, url: "https://example.com/{body.a.split(',')}" }),
      "/actions/0/url",
      list,
    );
  });
  await t.step("pipelines and their nodes", async () => {
    for (const name of ["whole", "node.whole"]) {
      const pipeline = { type: "run_pipeline", pipeline: "one" };
      assertEquals(await told({ ...pipeline, parameters: { [name]: "{body.n}" } }), []);
      const found = await told({ ...pipeline, parameters: { [name]: "{body.n == 1}" } });
      one(
        found,
        "/actions/0/pipeline",
        /node "node": .*"whole" .*an integer, found .*true or false/,
      );
    }
  });
  await t.step("what is missing", async () => {
    const found = await told({ type: "run_execution", step: "needy" });
    assertEquals(found.map(({ detail }) => detail), [
      'Cannot run step "needy": its parameter "must" has no value',
      'Cannot run step "needy": its input "data" has no file',
    ]);
  });
});
