/** Values and conditions of actions that read a credential of the body: the owner is told, and reasons hide it. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { endOfRun, startService } from "../data.ts";
import { collectLog } from "../log_records.ts";

const SECRET = "the-t0ken-of-the-body";
const token = (settings: object = {}) => ({
  type: "static_token",
  in: "body",
  name: "token",
  secrets: [SECRET],
  ...settings,
});
/** Places of a token, and requests that carry it. */
const PLACES: [
  read: string,
  condition: ReturnType<typeof token>,
  sent: { query?: string; headers?: Record<string, string>; body?: object },
][] = [
  ["body.token", token(), { body: { token: SECRET } }],
  ["query.tok", token({ in: "query", name: "tok" }), { query: `?tok=${SECRET}` }],
  ["headers['x-own']", token({ in: "header", name: "X-Own" }), { headers: { "x-own": SECRET } }],
];
const check = {
  method: "POST",
  when: "body.hello == secret",
  secret: SECRET,
  response: { type: "text", text: "ok" },
};

interface Case {
  value: string;
  conditions?: object[];
  handshakes?: object[];
  told?: "Shows" | "Reads";
}

const cases: Case[] = [
  { value: "{body.token}", told: "Shows" },
  { value: "a {body['token']} b", told: "Shows" },
  { value: "{body.?token.orValue('')}", told: "Shows" },
  { value: "{body.token.lowerAscii()}", told: "Shows" },
  { value: "{body}", told: "Shows" },
  { value: "{body.map(k, body[k])}", told: "Shows" },
  { value: "{body.token}", conditions: [token({ redact: true })], told: "Reads" },
  { value: "{body.a[0].b}", conditions: [token({ name: "/a/0/b" })], told: "Shows" },
  { value: "{body.a}", conditions: [token({ name: "/a/0/b" })], told: "Shows" },
  { value: "{body.a[1].b}", conditions: [token({ each: "/a", name: "b" })], told: "Shows" },
  { value: "{body.hello}", conditions: [], handshakes: [check], told: "Shows" },
  { value: "{body.a[1].b}", conditions: [token({ name: "/a/0/b" })] },
  { value: "{body.tokens}" },
  { value: "body.token {{body.token}" },
  { value: "{headers['x-a']}" },
  { value: "{body.token}", conditions: [token({ in: "header" })] },
];

Deno.test("a value that shows a credential of the body is told when it is saved", async () => {
  await using service = await startService();
  for (const { value, conditions = [token()], handshakes = [], told } of cases) {
    const { status, body } = await service.api("POST", "triggers/?dry_run", {
      name: "shown",
      project: "files",
      conditions,
      handshakes,
      actions: [{ type: "run_execution", step: "echo", environment: { SAID: value } }],
    });
    assertEquals(status, 200, JSON.stringify(body));
    const found = body.warnings
      .filter(({ detail }: { detail: string }) => / the credential in /.test(detail))
      .map(({ pointer, detail }: { pointer: string; detail: string }) =>
        `${pointer} ${detail.split(" ")[0]}`
      );
    const expected = told === undefined ? [] : [`/actions/0/environment/SAID ${told}`];
    assertEquals(found, expected, `${value} ${JSON.stringify(conditions)}`);
  }
});

Deno.test("the reason why an action is skipped or fails shows no credential of the body", async () => {
  await using service = await startService();
  for (const condition of ["body.token == 'other'", "body.token", "body.token.startsWith('x')"]) {
    const { url } = await service.trigger({
      conditions: [token()],
      actions: [{ type: "run_execution", step: "echo", if: condition }],
      response: { type: "text", text: "{run_id}" },
    });
    const body = JSON.stringify({ token: SECRET });
    const run = await (await fetch(url, { method: "POST", body })).text();
    const { actions } = await endOfRun(service, run);
    const text = JSON.stringify(actions);
    assert(/skipped|error/.test(text) && !text.includes(SECRET), text);
  }
});

const failing = [
  "int(body.token)",
  "bool(body.token)",
  "timestamp('x' + body.token)",
  "body[body.token]",
  "dyn([1])[body.token]",
];

Deno.test("a value that is missing repeats no credential, in the run, in the log and with long bodies", async () => {
  await using logs = await collectLog("warning");
  await using service = await startService();
  for (const pad of ["", "x".repeat(70_000)]) {
    for (const [place, condition, sent] of PLACES) {
      for (const expression of failing) {
        const read = expression.replaceAll("body.token", place);
        const { url } = await service.trigger({
          conditions: [condition],
          actions: [{ type: "run_execution", step: "echo", environment: { SAID: `{${read}}` } }],
          response: { type: "text", text: `{run_id} {${read}}` },
        });
        const answer = await fetch(url + (sent.query ?? ""), {
          method: "POST",
          headers: sent.headers ?? {},
          body: JSON.stringify({ pad, ...sent.body }),
        });
        const [run = ""] = (await answer.text()).split(" ");
        const { actions } = await endOfRun(service, run);
        const text = JSON.stringify(actions);
        assert(/expected a value of/.test(text) && !text.includes(SECRET), text);
      }
    }
  }
  const written = JSON.stringify(logs.records);
  assert(written.includes("A value of the response"));
  assert(!written.includes(SECRET), written.slice(written.indexOf(SECRET) - 300).slice(0, 400));
});

/** Actions whose errors repeat a value. */
const repeating: object[] = [
  { type: "run_execution", step: "count", parameters: { n: "{#}" } },
  { type: "run_execution", step: "count", parameters: { n: "{# + ' '}" } },
  { type: "run_execution", step: "count", parameters: { n: "{#}" }, metadata: { all: "{body}" } },
  { type: "run_execution", step: "count", parameters: { n: "{#.upperAscii()}" } },
  { type: "run_execution", step: "count", parameters: { n: "{#.substring(0, 5)}" } },
];

Deno.test("an action that fails repeats no value that is made of a credential", async () => {
  await using logs = await collectLog("warning");
  await using service = await startService();
  const step = {
    step: {
      name: "count",
      image: "debian",
      command: "true",
      parameters: [{ name: "n", type: "integer" }],
    },
  };
  await Deno.writeTextFile(`${service.folder}/project/valohai.yaml`, JSON.stringify([step]));
  const parts = /the-t|THE-T/;
  for (const action of repeating) {
    const { id, url } = await service.trigger({
      conditions: [token()],
      actions: [JSON.parse(JSON.stringify(action).replaceAll("#", "body.token"))],
      response: { type: "text", text: "{run_id}" },
    });
    const many = "metadata" in action ? Array.from({ length: 2_000 }, (_, index) => index) : [];
    const body = JSON.stringify({ token: SECRET, many });
    const run = await (await fetch(url, { method: "POST", body })).text();
    const { actions: [{ error }] } = await endOfRun(service, run);
    assertMatch(
      error,
      /The reason is not shown: it tells the value of \{.*body\.token|found none: not shown/,
    );
    const tried = await service.api("POST", `triggers/${id}/try-actions/`, {});
    assertEquals(tried.status, 200);
    const log = await service.api("GET", `triggers/${id}/log/`);
    for (const text of [error, JSON.stringify(log.body), JSON.stringify(tried.body)]) {
      assert(!parts.test(text), text);
    }
  }
  assert(!parts.test(JSON.stringify(logs.records)));
});

Deno.test("a delivery's id that is a credential is not shown, and tells repeats all the same", async () => {
  await using service = await startService();
  for (const [, condition, sent] of PLACES) {
    const { in: place, name } = condition;
    const trigger = await service.trigger({
      conditions: [condition, { type: "deduplication", in: place, name }],
      response: { type: "text", text: "{run_id}" },
    });
    const launch = async () => {
      const init = {
        method: "POST",
        headers: sent.headers ?? {},
        body: JSON.stringify(sent.body ?? {}),
      };
      return await (await fetch(trigger.url + (sent.query ?? ""), init)).text();
    };
    const run = await launch();
    assertEquals(await launch(), run);
    await endOfRun(service, run);
    for (
      const path of [
        `deliveries/?trigger=${trigger.id}`,
        `runs/${run}/`,
        `triggers/${trigger.id}/log/`,
      ]
    ) {
      const { body } = await service.api("GET", path);
      assert(!JSON.stringify(body).includes(SECRET), JSON.stringify(body));
    }
  }
});

Deno.test("an id and a reason do not tell a copy of a credential in another case", async () => {
  await using service = await startService();
  const mixed = "The-T0ken-Of-the-Body";
  const table: [conditions: object[], read: string, query: string][] = [
    [[], "query.sig", `?sig=${mixed}`],
    [[], "headers['x-api-key']", ""],
    [[token({ secrets: [mixed] })], "body.copy", ""],
    [[token({ secrets: [mixed] })], "query.q", `?q=${mixed}`],
  ];
  for (const [conditions, read, query] of table) {
    for (const made of [`${read}.upperAscii()`, `'x ' + ${read}.lowerAscii()`]) {
      const filter = { type: "payload_filter", expression: `${made} == 'none'` };
      for (const own of [[{ type: "deduplication", key: made }], [filter]]) {
        const { id, url } = await service.trigger({ conditions: [...conditions, ...own] });
        const answer = await fetch(url + query, {
          method: "POST",
          headers: { "content-type": "application/json", "x-api-key": mixed },
          body: JSON.stringify({ token: mixed, copy: mixed }),
        });
        await answer.body?.cancel();
        assertEquals(answer.status, own[0] === filter ? 400 : 200);
        const { body: log } = await service.api("GET", `triggers/${id}/log/`);
        const { body: deliveries } = await service.api("GET", `deliveries/?trigger=${id}`);
        const text = JSON.stringify([log.results, deliveries.results]);
        assert(own[0] === filter ? text.includes("not shown") : text.includes("********"), text);
        assert(!/t0ken-of/i.test(text), text);
      }
    }
  }
});

/** What tells a credential by parts, each of which is short. */
const TOLD = ["{x}.split('').join(' ')", "{x}.substring(0, 3)", "{x}.upperAscii()"];

Deno.test("no reason of a filter or a condition, and no id, tells a credential by what is made of it", async () => {
  await using service = await startService();
  const spelled = [...SECRET].join(" ");
  const parts = [SECRET, SECRET.toUpperCase(), spelled, '"the"', '"the-t'];
  for (const [place, condition, sent] of PLACES) {
    for (const told of TOLD) {
      const made = told.replace("{x}", place);
      const trigger = await service.trigger({
        conditions: [
          condition,
          { type: "payload_filter", expression: `${made} == ${made} && string(${made}) == 'none'` },
        ],
        response: { type: "text", text: "{run_id}" },
      });
      const open = await service.trigger({
        conditions: [condition, { type: "deduplication", key: `[${made}]` }],
        actions: [{ type: "run_execution", step: "echo", if: `string(${made}) == 'none'` }],
        response: { type: "text", text: "{run_id}" },
      });
      for (const { url, id } of [trigger, open]) {
        const init = {
          method: "POST",
          headers: sent.headers ?? {},
          body: JSON.stringify(sent.body ?? {}),
        };
        const answer = await fetch(url + (sent.query ?? ""), init);
        const run = await answer.text();
        if (answer.status === 200) await endOfRun(service, run);
        const { body: { results } } = await service.api("GET", `deliveries/?trigger=${id}`);
        const [{ reason = "", found = "", delivery_id = "" }] = results;
        const outcome = answer.status === 200
          ? (await service.api("GET", `runs/${run}/`)).body
          : {};
        const shown = JSON.stringify([reason, found, delivery_id, outcome.actions]);
        // Of a short part, a hash would tell it.
        if (answer.status === 200) assertEquals(delivery_id, "********");
        for (const part of parts) {
          assert(!shown.includes(JSON.stringify(part).slice(1, -1)), `${made}: ${shown}`);
        }
      }
    }
  }
});
