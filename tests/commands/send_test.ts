import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { ADMIN_TOKEN, HMAC_CONDITION, SECRET, startService } from "../data.ts";
import { runHosted as run } from "./hosted.ts";
import { run as runAlone } from "./process.ts";

const TOKEN = { HOOKLAUNCH_ADMIN_TOKEN: ADMIN_TOKEN };
const SIGNED = [
  { ...HMAC_CONDITION, signed_content: "{timestamp}.{body}" },
  { type: "timestamp", in: "header", name: "X-Timestamp", format: "unix_s", tolerance: 300 },
];

Deno.test("send signs a file as the trigger asks for, and says what came of it", async (t) => {
  await using service = await startService({ env: { TOKEN: "from-the-environment" } });
  const file = `${service.folder}/event.json`;
  await Deno.writeTextFile(file, '{"action":"opened"}');
  const cases: [name: string, conditions: unknown[], args: string[]][] = [
    ["nothing", [], []],
    ["hmac and time", SIGNED, []],
    ["github", [{ type: "hmac", preset: "github", secrets: [SECRET] }], []],
    ["stripe", [{ type: "hmac", preset: "stripe", secrets: [SECRET] }], []],
    ["slack", [{ type: "hmac", preset: "slack", secrets: [SECRET] }], []],
    ["standard webhooks", [{
      type: "hmac",
      preset: "standard_webhooks",
      secrets: ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"],
    }], []],
    ["gitlab", [{ type: "static_token", preset: "gitlab", secrets: ["{env:TOKEN}"] }], []],
    ["query", [{ type: "static_token", in: "query", name: "token", secrets: [SECRET] }], []],
    ["jwt", [{ type: "jwt", algorithms: ["HS256"], secrets: [SECRET.repeat(2)] }], []],
    ["an id of the delivery", [{ type: "deduplication", in: "header", name: "X-Id" }], []],
    ["an id that a preset knows", [
      { type: "static_token", preset: "gitlab", secrets: [SECRET] },
      { type: "deduplication" },
    ], []],
    ["a further header", [{
      type: "payload_filter",
      expression: "headers['x-event'] == 'go' && content_type == 'application/json'",
    }], ["--header", "X-Event: go"]],
    ["another content type, as a header", [
      { type: "payload_filter", expression: "content_type == 'text/plain'" },
    ], ["--header", "Content-Type: text/plain"]],
    ["another content type, and two headers", [
      {
        type: "payload_filter",
        expression: "content_type == 'text/plain' && headers['x-one'] == '1'",
      },
      { type: "payload_filter", expression: "headers['x-two'] == 'a: b'" },
    ], ["--content-type", "text/plain", "--header", "X-One:1", "--header", "X-Two:  a: b "]],
  ];
  for (const [name, conditions, args] of cases) {
    await t.step(name, async () => {
      const trigger = await service.trigger({ conditions });
      const { code, printed } = await run(
        ["send", trigger.id, file, "--url", service.url, ...args],
        TOKEN,
      );
      assertEquals(code, 0, printed);
      assertStringIncludes(printed, '200 {"status":"accepted"}');
      const { body } = await service.api("GET", `triggers/${trigger.id}/runs/`);
      assertEquals(body.results[0].payload.size, 19);
      assert(!printed.includes(SECRET) && !printed.includes("from-the-environment"));
    });
  }
});

Deno.test("send takes files of up to 16 MiB, and says what of a header cannot be", async () => {
  await using service = await startService();
  const { id } = await service.trigger({ conditions: [HMAC_CONDITION] });
  const file = `${service.folder}/large`;
  const size = 16 * 1024 * 1024;
  await Deno.writeFile(file, new Uint8Array(size).fill(7));
  const args = ["send", id, file, "--url", service.url];
  const { code, printed } = await run(args, TOKEN);
  assertEquals(code, 0, printed);
  const { body } = await service.api("GET", `triggers/${id}/runs/`);
  assertEquals(body.results[0].payload.size, size);
  await Deno.truncate(file, 20_000_000);
  assertStringIncludes((await run(args, TOKEN)).printed, "at most 24 MiB, found a longer one");
  await Deno.truncate(file, 2);
  for (const [line, what] of [["a b: x", "name"], ["x: ☃", "value"]] as const) {
    const refused = await run([...args, "--header", line], TOKEN);
    assertEquals(refused.code, 1);
    assertMatch(refused.printed, new RegExp(`Cannot accept .*/headers/.*${what} of`));
  }
});

Deno.test("send follows nobody who sends on, and says what could not be signed", async () => {
  const options = { hostname: "127.0.0.1", port: 0, onListen() {} };
  const id = "01900000-0000-7000-8000-000000000000";
  const asked: string[] = [];
  await using server = Deno.serve(options, ({ url }) => {
    const { pathname, search } = new URL(url);
    asked.push(pathname + search);
    if (pathname.endsWith("/triggers/")) {
      return Response.json({ results: [{ id, name: "t" }], next: null });
    }
    if (!pathname.endsWith("/sign/")) return Response.redirect(`${new URL(url).origin}/other`, 307);
    const problems = [{ pointer: "/0/secrets", detail: "There is none" }];
    const signed = { url: "https://hooks.example.com/?a=b", headers: {}, body_base64: "" };
    return Response.json({ ...signed, notes: [], problems });
  });
  const url = `http://127.0.0.1:${server.addr.port}/`;
  const { code, printed } = await run(["send", "t", "--url", url], TOKEN);
  assertEquals(code, 1);
  assertMatch(printed, /^conditions\/0\/secrets: There is none\n.*It redirects to another address/);
  assertEquals(asked.at(-1), `/api/v0/launch/${id}/?a=b`);
  const header = await run(["send", "t", "--header", "no colon", "--url", url], TOKEN);
  assertMatch(header.printed, /--header: Expected a name, a colon and a value, found "no colon"/);
});

Deno.test("send says that an answer broke off", async () => {
  const signed = { url: "https://hooks.example.com/", headers: {}, body_base64: "" };
  const broken = () =>
    new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(new TextEncoder().encode("{")),
      pull: (controller) => controller.error(new Error("broken")),
    });
  const options = { hostname: "127.0.0.1", port: 0, onListen() {}, onError: () => new Response() };
  await using server = Deno.serve(options, ({ url }) => {
    const { pathname } = new URL(url);
    if (pathname.endsWith("/triggers/")) {
      return Response.json({ results: [{ id: "0", name: "t" }], next: null });
    }
    return pathname.endsWith("/sign/")
      ? Response.json({ ...signed, notes: [], problems: [] })
      : new Response(broken());
  });
  const url = `http://127.0.0.1:${server.addr.port}`;
  const { code, printed } = await runAlone(["send", "t", "--url", url], TOKEN);
  assertEquals(code, 1);
  assertMatch(printed, /^hooklaunch: Cannot read the service's answer 200: .*\n$/);
});

Deno.test("send --follow prints the logs of what it launches, and its exit code says how that ended", async (t) => {
  await using service = await startService();
  const file = [
    { step: { name: "says", image: "debian", command: "echo to-out; echo to-err >&2" } },
    { step: { name: "fails", image: "debian", command: "echo last-words; exit 3" } },
    {
      pipeline: {
        name: "Both",
        nodes: [{ name: "only", type: "execution", step: "says" }],
        edges: [],
      },
    },
  ];
  await Deno.writeTextFile(`${service.folder}/project/valohai.yaml`, JSON.stringify(file));
  const says = { type: "run_execution", step: "says" };
  const fails = { type: "run_execution", step: "fails" };
  const cases: [name: string, actions: unknown[], code: number, printed: string[], end: string][] =
    [
      ["an execution", [says], 0, ["to-out", "to-err"], "complete"],
      ["two, of which one fails", [fails, says], 2, ["last-words", "to-out"], "error"],
      ["a pipeline", [{ type: "run_pipeline", pipeline: "Both" }], 0, ["to-out"], "complete"],
    ];
  for (const [name, actions, code, lines, end] of cases) {
    await t.step(name, async () => {
      const { id } = await service.trigger({ actions });
      const sent = await run(["send", id, "-f", "--url", service.url], TOKEN);
      assertEquals(sent.code, code, sent.printed);
      for (const line of lines) {
        assertEquals(
          sent.printed.split("\n").filter((each) => each === line).length,
          1,
          sent.printed,
        );
      }
      assertMatch(sent.printed, new RegExp(`\nwork: ${end}\n$`));
    });
  }
  const json = await run(["send", "t", "-f", "--json", "--url", service.url], TOKEN);
  assertStringIncludes(json.printed, "'-f, --follow' cannot be used with option '--json'");
});

Deno.test("send --explain says which condition refuses and why, and ends with 1", async () => {
  await using service = await startService();
  await service.trigger({
    name: "filtered",
    conditions: [...SIGNED, { type: "payload_filter", expression: "body.action == 'opened'" }],
  });
  const file = `${service.folder}/event.json`;
  await Deno.writeTextFile(file, '{"action":"closed"}');
  const { code, printed } = await run(
    ["send", "filtered", file, "--explain", "--url", service.url],
    TOKEN,
  );
  assertEquals(code, 1, printed);
  assertStringIncludes(printed, "conditions/0 hmac passes");
  assertStringIncludes(printed, "conditions/1 timestamp passes");
  assertMatch(printed, /conditions\/2 payload_filter refuses: .*closed/);
  assertStringIncludes(printed, '400 {"title":"Request rejected","status":400}');

  const echo = (condition: string) => ({ type: "run_execution", step: "echo", if: condition });
  await service.trigger({
    name: "chosen",
    actions: [echo("body.action == 'closed'"), echo("body.action == 'opened'"), echo("body.none")],
  });
  const chosen = await run(["send", "chosen", file, "--explain", "--url", service.url], TOKEN);
  assertEquals(chosen.code, 0, chosen.printed);
  assertMatch(
    chosen.printed,
    /^actions\/0 run_execution launches\nactions\/1 run_execution skipped: .*body.action == 'opened'; body.action is "closed"\nactions\/2 run_execution fails: .*body.none.*\n200 /m,
  );
});

Deno.test("send --explain says that a missing variable is one of the service", async () => {
  await using service = await startService();
  const secrets = [["{env:NOT_SET}"], ["{env:NOT_SET}", "{env:NOR_THIS}"]];
  const args = ["--explain", "--url", service.url];
  const printed = await Promise.all(secrets.map(async (secrets, index) => {
    const name = `unset-${index}`;
    const conditions = [{ type: "static_token", in: "header", name: "X-Token", secrets }];
    await service.trigger({ name, conditions });
    return (await run(["send", name, ...args], TOKEN)).printed;
  }));
  assertMatch(
    printed[0] ?? "",
    /conditions\/0: No secret can be used: environment variable NOT_SET of the service is not set/,
  );
  assertStringIncludes(printed[1] ?? "", "variables NOT_SET, NOR_THIS of the service are not set");
  assert(!/NOT_SET is not set|NOR_THIS are not set/.test(printed.join("")), printed.join(""));
});

Deno.test("send --explain shows nothing of a file that a terminal would obey", async () => {
  await using service = await startService();
  await service.trigger({
    name: "opened",
    conditions: [{ type: "payload_filter", expression: "body.action == 'opened'" }],
  });
  const file = `${service.folder}/event.json`;
  await Deno.writeTextFile(file, JSON.stringify({ action: "\x1b]0;owned\x07\x9b2J" }));
  const args = ["send", "opened", file, "--explain", "--url", service.url];
  const { printed } = await run(args, TOKEN);
  assertMatch(printed, /conditions\/0 payload_filter refuses: .*owned/);
  // deno-lint-ignore no-control-regex
  assert(!/[\x00-\x09\x0b-\x1f\x7f-\x9f]/.test(printed), JSON.stringify(printed));
});

Deno.test("a dry run says what every condition thinks, launches nothing and uses no quota", async () => {
  await using service = await startService();
  const trigger = await service.trigger({
    enabled: false,
    conditions: [
      HMAC_CONDITION,
      { type: "payload_filter", expression: "body.go" },
      { type: "deduplication", in: "header", name: "X-Id" },
      { type: "rate_limit", period: 60, quota: 1 },
    ],
  });
  const path = `triggers/${trigger.id}/test/`;
  const { body } = await service.api("POST", path, { body: '{"go":false}', headers: {} });
  assertEquals(body.passed, false);
  const said = body.conditions.map(
    ({ condition, passed }: { condition: string; passed: boolean }) => `${condition} ${passed}`,
  );
  assertEquals(said, [
    "enabled false",
    "hmac false",
    "payload_filter false",
    "deduplication false",
    "rate_limit true",
  ]);
  await service.api("PATCH", `triggers/${trigger.id}/`, { enabled: true });
  const signed = await service.api("POST", `triggers/${trigger.id}/sign/`, {
    body: '{"go":true}',
    headers: { "x-id": "1" },
  });
  assertEquals(
    (await service.api("POST", path, { query: "id=1" })).body.errors[0].pointer,
    "/query",
  );
  const wrong = [
    [{ body: "a", body_base64: "YQ==" }, "Expected either body or body_base64, found both"],
    [{ remote_ip: "example.com" }, '/remote_ip: Expected an IP address, found "example.com"'],
    [{ headers: [] }, "/headers: Expected an object, found a list"],
  ] as const;
  for (const [request, says] of wrong) {
    const { status, body } = await service.api("POST", path, request);
    assertEquals([status, body.detail], [422, `Cannot accept the request to try out: ${says}`]);
  }
  for (let turn = 0; turn < 3; turn++) {
    const { headers, body_base64 } = signed.body;
    const again = await service.api("POST", path, { headers, body_base64 });
    assertEquals(again.body.passed, true, JSON.stringify(again.body));
  }
  assertEquals((await service.api("GET", `triggers/${trigger.id}/runs/`)).body.results, []);
});

Deno.test("a dry run tells of each quota that is used up, with the reason of the trigger's log", async () => {
  await using service = await startService();
  const quotas = [[3_600, 1], [60, 1], [60, 2]];
  const trigger = await service.trigger({
    conditions: quotas.map(([period, quota]) => ({ type: "rate_limit", period, quota })),
  });
  const launch = async () => {
    const answer = await fetch(trigger.url, { method: "POST" });
    await answer.body?.cancel();
    return answer.status;
  };
  assertEquals([await launch(), await launch()], [200, 400]);
  const { body } = await service.api("POST", `triggers/${trigger.id}/test/`, {});
  assertEquals(
    body.conditions.map(({ passed, reason }: Record<string, unknown>) => reason ?? passed),
    [
      "The quota is used up: 1 launches in 3600 s",
      "The quota is used up: 1 launches in 60 s",
      true,
    ],
  );
  const { body: log } = await service.api("GET", `triggers/${trigger.id}/log/`);
  assertEquals(log.results[0].reason, body.conditions[0].reason);
});

Deno.test("a dry run says of a repeat what it repeats, and of a handshake that it is one", async () => {
  await using service = await startService();
  const trigger = await service.trigger({
    conditions: [
      { type: "hmac", preset: "slack", secrets: [SECRET] },
      { type: "payload_filter", expression: "body.event_id != ''" },
      { type: "deduplication" },
      { type: "rate_limit", period: 60, quota: 1 },
    ],
    response: { type: "text", text: "{run_id}" },
  });
  const tried = async (body: string) => {
    const path = `triggers/${trigger.id}`;
    const { body: signed } = await service.api("POST", `${path}/sign/`, { body });
    const { headers, body_base64 } = signed;
    const { body: said } = await service.api("POST", `${path}/test/`, { headers, body_base64 });
    const verdicts = said.conditions.map((
      { condition, passed, reason = "" }: Record<string, unknown>,
    ) => `${condition} ${passed} ${reason}`.trim());
    return { headers, body, said: [said.passed, ...verdicts] };
  };
  const first = await tried('{"event_id":"1"}');
  const passing = [
    true,
    "hmac true",
    "payload_filter true",
    "deduplication true",
    "rate_limit true",
  ];
  assertEquals(first.said, passing);
  const run = await (await fetch(trigger.url, { method: "POST", ...first })).text();
  assertEquals((await tried('{"event_id":"1"}')).said, [
    ...passing.slice(0, 3),
    `deduplication true A repeat of what made run ${run}: it is answered like that one and starts nothing`,
  ]);
  assertEquals((await tried('{"event_id":"2"}')).said[0], false, "the quota is used up");
  const { said } = await tried('{"type":"url_verification","challenge":"abc"}');
  assertEquals(said.slice(0, 2), [true, "hmac true"]);
  assertMatch(said[2], /^handshake true .*nothing is started/);
  assertEquals(said.length, 3);
  await service.api("PATCH", `triggers/${trigger.id}/`, { enabled: false });
  const disabled = await tried('{"type":"url_verification","challenge":"abc"}');
  assertEquals(disabled.said.slice(0, 3), [
    false,
    "enabled false The trigger is disabled",
    "hmac true",
  ]);
});

Deno.test("a dry run takes nothing for a handshake that the door refuses by its address", async () => {
  await using service = await startService();
  const trigger = await service.trigger({
    conditions: [
      { type: "ip_allowlist", ranges: ["203.0.113.0/24"] },
      { type: "static_token", preset: "microsoft_graph", secrets: [SECRET] },
    ],
  });
  const tried = async (remote_ip: string) => {
    const request = { query: "?validationToken=abc", remote_ip };
    const { body } = await service.api("POST", `triggers/${trigger.id}/test/`, request);
    return body.conditions.map((
      { condition, passed }: Record<string, unknown>,
    ) => `${condition} ${passed}`);
  };
  assertEquals(await tried("203.0.113.7"), ["ip_allowlist true", "handshake true"]);
  assertEquals(await tried("192.0.2.7"), ["ip_allowlist false", "static_token false"]);
});

Deno.test("a trigger that leaves the door open says so when it is saved", async () => {
  await using service = await startService();
  const open = await service.api("POST", "triggers/", {
    name: "open",
    project: "files",
    actions: [{ type: "run_execution", step: "copy" }],
  });
  assertMatch(open.body.warnings[0].detail, /everyone who knows the URL can launch/);
  const unsigned = await service.api("POST", "triggers/", {
    name: "unsigned",
    project: "files",
    actions: [{ type: "run_execution", step: "copy" }],
    conditions: [HMAC_CONDITION, SIGNED[1]],
  });
  assertEquals(unsigned.body.warnings[0].pointer, "/conditions/1");
  assertMatch(unsigned.body.warnings[0].detail, /No signature covers the timestamp/);
});
