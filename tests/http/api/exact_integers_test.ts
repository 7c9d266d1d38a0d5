/** Integers beyond 2^53 in settings: exact up to 64 bits where they have a place, and refused elsewhere. */
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { ADMIN_TOKEN, endOfRun, startService, type TestService } from "../../data.ts";
import { runHosted } from "../../commands/hosted.ts";
import { loggedIn } from "../console/fixture.ts";

const TOKEN = { HOOKLAUNCH_ADMIN_TOKEN: ADMIN_TOKEN };
const ID = "9007199254740993";
const BESIDE = "9007199254740992";
const LARGEST = "9223372036854775807";
const SMALLEST = "-9223372036854775808";
const BEYOND = "9223372036854775808";

/** Saves a trigger whose settings are written as JSON. */
async function save(service: TestService, settings: string) {
  const answer = await fetch(`${service.url}/api/v0/triggers/`, {
    method: "POST",
    headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
    body: `{"project":"files",${settings}}`,
  });
  return { status: answer.status, body: await answer.json() };
}

const ACTIONS = '"actions":[{"type":"run_execution","step":"echo"}]';
const filter = (list: string) => `"conditions":[{"type":"payload_filter",${list}}],${ACTIONS}`;

const lists: [op: string, value: string, passes: string[], refused: string[]][] = [
  ["eq", ID, [ID], [BESIDE, `"${ID}"`]],
  ["ne", ID, [BESIDE], [ID]],
  ["in", `[1, ${ID}, ${SMALLEST}]`, ["1", ID, SMALLEST], [BESIDE, LARGEST]],
  ["not_in", `[${ID}]`, [BESIDE], [ID]],
  ["gt", ID, [LARGEST], [ID, BESIDE, SMALLEST]],
  ["le", SMALLEST, [SMALLEST], ["-9223372036854775807"]],
];

Deno.test("a list of filters compares integers of 64 bits exactly", async () => {
  await using service = await startService();
  for (const [index, [op, value, passes, refused]] of lists.entries()) {
    const list = `"all":[{"path":"body.id","op":"${op}","value":${value}}]`;
    const { status, body } = await save(service, `"name":"list-${index}",${filter(list)}`);
    assertEquals(status, 201, JSON.stringify(body));
    for (const [ids, expected] of [[passes, 200], [refused, 400]] as const) {
      for (const id of ids) {
        const answer = await fetch(body.url, { method: "POST", body: `{"id":${id}}` });
        assertEquals([answer.status, await answer.text().then(() => id)], [expected, id], op);
      }
    }
    // What is shown can be sent again.
    const { conditions, name, actions } = (await service.api("GET", `triggers/${body.id}/`)).body;
    const again = { name, project: "files", conditions, actions };
    const put = await service.api("PUT", `triggers/${body.id}/`, again);
    assertEquals([put.status, put.body.conditions], [200, conditions]);
  }
});

Deno.test("a number that has no place is refused, with its field", async () => {
  await using service = await startService();
  const table: [settings: string, pointer: string | undefined, RegExp][] = [
    [
      filter(`"all":[{"path":"body.id","op":"eq","value":${BEYOND}}]`),
      undefined,
      /can be kept as it is, found 9223372036854775808: put it in quotes/,
    ],
    [
      filter(`"all":[{"path":"body.id","op":"eq","value":{"int64":"${BEYOND}"}}]`),
      "/conditions/0/all/0/value/int64",
      /at most 64 bits/,
    ],
    [
      `"response":{"type":"json","json":{"id":${ID}}},${ACTIONS}`,
      "/response/json/id",
      /found 9007/,
    ],
    [
      `"conditions":[{"type":"rate_limit","period":1,"quota":${ID}}],${ACTIONS}`,
      "/conditions/0/quota",
      /found 9007199254740993/,
    ],
  ];
  for (const [settings, pointer, detail] of table) {
    const { status, body } = await save(service, `"name":"n",${settings}`);
    assertEquals(status, 422, JSON.stringify(body));
    if (pointer !== undefined) assertEquals(body.errors[0].pointer, pointer);
    assertMatch(body.detail, detail);
  }
});

Deno.test("files and the console keep their digits, and a job gets them", async (t) => {
  await using service = await startService();
  await Deno.mkdir(`${service.folder}/big`);
  await Deno.writeTextFile(
    `${service.folder}/big/valohai.yaml`,
    `
- step:
    name: show
    image: debian
    command: echo {parameters}
    parameters:
      - { name: seed, type: integer, default: ${ID}, min: 5 }
      - { name: other, type: integer, choices: [${LARGEST}, 1], optional: true }
`,
  );
  const directory = `${service.folder}/big`;
  await service.api("PUT", "projects/big/", { name: "big", directory });
  const file = `${service.folder}/hooklaunch.yaml`;
  await t.step("hooklaunch.yaml", async () => {
    await Deno.writeTextFile(
      file,
      `triggers:
  - name: big
    project: big
    conditions:
      - { type: payload_filter, any: [{ path: body.id, op: in, value: [&id ${ID}, 7] }] }
    actions: [{ type: run_execution, step: show, parameters: { other: ${LARGEST} } }]
    response: { type: text, text: "{run_id}" }
`,
    );
    const applied = await runHosted(["apply", file, "--url", service.url], TOKEN);
    assertEquals(applied.code, 0, applied.printed);
    const again = await runHosted(["apply", file, "--check", "--url", service.url], TOKEN);
    assertEquals(again.code, 0, again.printed);
    const { body } = await service.api("GET", "triggers/?name=big");
    const { url } = body.results[0];
    const wrong = await fetch(url, { method: "POST", body: `{"id":${BESIDE}}` });
    assertEquals(wrong.status, 400, await wrong.text());
    const answer = await fetch(url, { method: "POST", body: `{"id":${ID}}` });
    assertEquals(answer.status, 200);
    const ended = await endOfRun(service, await answer.text());
    const { execution_id } = ended.actions[0].created ?? {};
    const { body: execution } = await service.api("GET", `executions/${execution_id}/`);
    assertEquals(execution.parameters, { seed: ID, other: LARGEST });
  });
  await t.step("a mistake is told with its line", async () => {
    await Deno.writeTextFile(file, `triggers:\n  - name: big\n    max_payload: ${ID}\n`);
    const refused = await runHosted(["apply", file, "--url", service.url], TOKEN);
    assertEquals(refused.code, 1);
    assertMatch(refused.printed, /max_payload: line 3, column \d+: .*found 9007199254740993/);
  });
  await t.step("what a parameter does not take", async () => {
    const run = (parameters: Record<string, unknown>) =>
      service.api("POST", "triggers/?dry_run", {
        name: "n",
        project: "big",
        actions: [{ type: "run_execution", step: "show", parameters }],
      });
    const told = async (parameters: Record<string, unknown>) =>
      JSON.stringify((await run(parameters)).body);
    assertStringIncludes(await told({ seed: BEYOND }), "is not an integer");
    assertStringIncludes(await told({ seed: SMALLEST }), "is less than the minimum 5");
    assertStringIncludes(await told({ other: ID }), "is not among the choices");
  });
  await t.step("the filter's field of the console", async () => {
    const { body: { results: [{ id, revision }] } } = await service.api(
      "GET",
      "triggers/?name=big",
    );
    const browser = await loggedIn(service);
    const { status, text } = await browser.post(`triggers/${id}/edit`, {
      csrf: await browser.csrf(),
      revision: String(revision),
      name: "big",
      project: "big",
      filter_0: `{"all":[{"path":"body.id","op":"eq","value":${LARGEST}}]}`,
      conditions: "[]",
      actions: `[{"type":"run_execution","step":"show","parameters":{"seed":${LARGEST}}}]`,
      response: "",
    });
    assertEquals(status, 303, text);
    const { body } = await service.api("GET", `triggers/${id}/`);
    assertEquals(body.conditions[0].all[0].value, { int64: LARGEST });
    assertEquals(body.actions[0].parameters, { seed: LARGEST });
  });
});
