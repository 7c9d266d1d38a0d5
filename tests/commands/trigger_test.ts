import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import {
  ADMIN_TOKEN,
  endOfRun,
  eventually,
  HMAC_CONDITION,
  SECRET,
  signature,
  startService,
} from "../data.ts";
import { TestClock } from "../surroundings.ts";
import { runHosted as run } from "./hosted.ts";
import { run as runAlone } from "./process.ts";

const TOKEN = { HOOKLAUNCH_ADMIN_TOKEN: ADMIN_TOKEN };

Deno.test("trigger list and trigger log print what there is, readably", async () => {
  await using service = await startService();
  const { url } = await service.trigger({ name: "labels", conditions: [HMAC_CONDITION] });
  const body = "x\u001b[2J\n";
  const wrong = { "x-signature": `sha256=${"0".repeat(64)}`, "content-type": "x\u0085" };
  for (const headers of [wrong, { "x-signature": "sha256=00\u0085" }, {}]) {
    await (await fetch(url, { method: "POST", headers, body })).body?.cancel();
  }
  const list = await run(["trigger", "list", "--url", service.url], TOKEN);
  assertEquals(list.code, 0, list.printed);
  assertMatch(list.printed, /^NAME +PROJECT +ENABLED +CONDITIONS +OWNER +LAUNCH URL\n/);
  assertMatch(list.printed, /\nlabels +files +yes +hmac +api +http:\S+\n/);

  const log = await run(["trigger", "log", "labels", "--url", service.url], TOKEN);
  assertEquals(log.code, 0, log.printed);
  assertStringIncludes(
    log.printed,
    "refused  hmac (conditions/0): Header X-Signature is malformed",
  );
  assertStringIncludes(log.printed, "Header X-Signature is missing");
  assertMatch(log.printed, /from 127\.0\.0\.1, 6 bytes, sha256 [0-9a-f]{64}/);
  for (const hidden of [SECRET, "\u001b", "\u0085"]) assert(!log.printed.includes(hidden));

  const json = await run(["trigger", "log", "labels", "--json", "--url", service.url], TOKEN);
  assertEquals(JSON.parse(json.printed).length, 3);
  assertStringIncludes(json.printed, "\\u0085");
  assert(!json.printed.includes("\u0085"), json.printed);
});

Deno.test("trigger log says that there is nothing in it", async () => {
  await using service = await startService();
  await service.trigger({ name: "labels" });
  const log = ["trigger", "log", "labels", "--url", service.url];
  const { code, printed } = await run(log, TOKEN);
  assertEquals([code, printed], [
    0,
    'The log of trigger "labels" is empty: no request was refused, no handshake answered, and no action or execution failed\n',
  ]);
  assertEquals((await run([...log, "--json"], TOKEN)).printed, "[]\n");
});

Deno.test("the operators' token does not go through a proxy to a service on this machine", async () => {
  await using service = await startService();
  let asked = 0;
  await using proxy = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, () => {
    asked++;
    return new Response("a proxy's");
  });
  for (const NO_PROXY of ["", "example.com"]) {
    const { code, printed } = await runAlone(["trigger", "list", "--url", service.url], {
      ...TOKEN,
      HTTP_PROXY: `http://127.0.0.1:${proxy.addr.port}`,
      NO_PROXY,
    });
    assertEquals(code, 0, printed);
  }
  assertEquals(asked, 0);
});

Deno.test("trigger show prints one trigger, with what it checks and does, and no secret", async () => {
  await using service = await startService();
  const response = { type: "text", text: "taken" };
  const conditions = [HMAC_CONDITION, { type: "rate_limit", quota: 9, period: 60 }];
  const settings = {
    refused: { authentication: 401 },
    retention: { records: "90d" },
    concurrency: { limit: 2 },
    schedule: [{ cron: "@yearly" }],
    handshakes: [{ preset: "meta", secret: SECRET }],
  };
  const { id, url } = await service.trigger({ name: "labels", conditions, response, ...settings });
  const launched = await fetch(url, { method: "POST", body: "{}", headers: signature("{}") });
  assertEquals(await launched.text(), "taken");
  for (const nameOrId of ["labels", id]) {
    const { code, printed } = await run(["trigger", "show", nameOrId, "--url", service.url], TOKEN);
    assertEquals(code, 0, printed);
    assertMatch(printed, /^name +labels$/m);
    assertMatch(printed, /^enabled +yes$/m);
    assertStringIncludes(printed, url);
    assertMatch(
      printed,
      /^condition 0 +\{.*"type":"hmac".*"secrets":\[\{"fingerprint":"[0-9a-f]{12}","value":"\*{8}"\}\]\}$/m,
    );
    assertMatch(printed, /^quota 1 +8 of 9 left, more at 20\d\d-\S+Z$/m);
    assertMatch(printed, /^action 0 +\{"type":"run_execution",/m);
    assertMatch(printed, /^response +\{.*"text":"taken"/m);
    assertMatch(printed, /^refused +\{"authentication":401\}$/m);
    assertMatch(printed, /^retention +\{"records":"90d"\}$/m);
    assertMatch(printed, /^concurrency +\{.*"limit":2/m);
    assertMatch(printed, /^schedule +\[\{"cron":"@yearly"/m);
    assertMatch(printed, /^handshakes +\[\{"preset":"meta"/m);
    assert(!printed.includes(SECRET), printed);
  }
  const args = ["trigger", "show", "labels", "--json", "--url", service.url];
  const shown = JSON.parse((await run(args, TOKEN)).printed);
  assertEquals(shown, (await service.api("GET", `triggers/${id}/`)).body);
});

Deno.test("trigger log tells which action failed, of which run, and how much was left out", async () => {
  const clock = new TestClock();
  await using service = await startService({ clock });
  const actions = ["echo", "none"].map((step) => ({ type: "run_execution", step }));
  const { url, id } = await service.trigger({
    name: "labels",
    actions,
    response: { type: "text", text: "{run_id}" },
  });
  const launched = await (await fetch(url, { method: "POST" })).text();
  await endOfRun(service, launched);
  const log = async (...args: string[]) =>
    (await run(["trigger", "log", "labels", ...args, "--url", service.url], TOKEN)).printed;
  assertMatch(
    await log(),
    /^2026\S+ {2}failed {3}run_execution \(actions\/1\): .*\n {4}run \S+\n$/,
  );
  assertStringIncludes(await log(), launched);
  assertMatch(
    (await run(["run", "show", launched, "--url", service.url], TOKEN)).printed,
    /\naction 0 +run_execution: .*\naction 1 +run_execution: failed: .*none/,
  );

  await service.api("PATCH", `triggers/${id}/`, { enabled: false });
  for (let i = 0; i < 63; i++) await (await fetch(url, { method: "POST" })).body?.cancel();
  clock.time_ms += 60_000;
  service.service.sweep();
  assertMatch(await log("--limit", "1"), /^2026\S+ {2}3 more entries were left out\n$/);
  const list = await run(["trigger", "list", "--url", service.url], TOKEN);
  assertMatch(list.printed, /\nlabels +files +no /);
  const shown = await run(["trigger", "show", "labels", "--url", service.url], TOKEN);
  assertMatch(
    shown.printed,
    /\nenabled +no\n[^]*\nwarning 0 +.*everyone who knows the URL can launch/,
  );
});

Deno.test("trigger log tells which execution failed, of which run, and why", async () => {
  await using service = await startService();
  const steps = { passes: "true", fails: "exit 3" };
  await Deno.writeTextFile(
    `${service.folder}/project/valohai.yaml`,
    JSON.stringify(
      Object.entries(steps).map(([name, command]) => ({ step: { name, image: "i", command } })),
    ),
  );
  const { url, id } = await service.trigger({
    name: "labels",
    actions: Object.keys(steps).map((step) => ({ type: "run_execution", step })),
    response: { type: "text", text: "{run_id}" },
  });
  const run_id = await (await fetch(url, { method: "POST" })).text();
  const { actions: [, { created: { execution_id } }] } = await endOfRun(service, run_id);
  const [{ id: _id, time: _time, ...told }, ...more] = await eventually(async () => {
    const { body } = await service.api("GET", `triggers/${id}/log/`);
    return body.results.length > 0 ? body.results : undefined;
  }, { what: "the line of the execution that failed" });
  const reason = "The command ended with exit code 3";
  assertEquals(told, {
    project: "files",
    kind: "execution_failed",
    run_id,
    execution_id,
    step: "fails",
    status: "error",
    reason,
  });
  assertEquals(more, []);
  const { printed } = await run(["trigger", "log", "labels", "--url", service.url], TOKEN);
  assertEquals(
    printed.replace(/^\S+/, "TIME"),
    `TIME  failed   step fails: ${reason}\n    execution ${execution_id}\n    run ${run_id}\n`,
  );
});

Deno.test("trigger log shows nothing of a request that a terminal would obey", async () => {
  await using service = await startService();
  const conditions = [{ type: "payload_filter", expression: "body.action == 'opened'" }];
  const { url } = await service.trigger({ name: "labels", conditions });
  const body = JSON.stringify({ action: "\x1b]0;owned\x07\x9b2J" });
  await (await fetch(url, { method: "POST", body })).body?.cancel();
  const { printed } = await run(["trigger", "log", "labels", "--url", service.url], TOKEN);
  assertMatch(printed, /refused {2}payload_filter .*\n[^]*owned/);
  // deno-lint-ignore no-control-regex
  assert(!/[\x00-\x09\x0b-\x1f\x7f-\x9f]/.test(printed), JSON.stringify(printed));
});

Deno.test("trigger log tells of a body that was too large to be read", async () => {
  await using service = await startService({ settings: { payloadBytesMax: 10 } });
  const { url } = await service.trigger({ name: "labels", enabled: false });
  await (await fetch(url, { method: "POST", body: "x".repeat(11) })).body?.cancel();
  const { printed } = await run(["trigger", "log", "labels", "--url", service.url], TOKEN);
  assertMatch(
    printed,
    /refused {2}body_size: The body is too large\n +expected at most 10 bytes\n/,
  );
  assertMatch(printed, /\n +from 127\.0\.0\.1\n$/);
});

Deno.test("a trigger that there is not is an error that lists those there are", async () => {
  await using service = await startService();
  await service.trigger({ name: "labels" });
  const { code, printed } = await run(["trigger", "log", "labls", "--url", service.url], TOKEN);
  assertEquals(code, 1);
  assertStringIncludes(printed, 'There is no trigger "labls"; there are: labels');
});

Deno.test("of many triggers, the error that there is not one lists the first few", async () => {
  await using service = await startService();
  for (let index = 10; index < 33; index++) await service.trigger({ name: `many${index}` });
  const { printed } = await run(["trigger", "log", "labels", "--url", service.url], TOKEN);
  assertStringIncludes(printed, 'There is no trigger "labels"; there are: many10, ');
  assertStringIncludes(printed, "many29 and 3 more; hooklaunch trigger list shows all\n");
});

Deno.test("trigger try prints what actions would launch, and launches nothing", async () => {
  await using service = await startService();
  const { url, id: trigger } = await service.trigger({
    name: "words",
    actions: [
      { type: "run_execution", step: "echo", parameters: { word: "{body.word}" } },
      { type: "run_execution", step: "echo", if: "body.word == 'other'" },
    ],
  });
  const tried = (...args: string[]) =>
    run(["trigger", "try", "words", ...args, "--url", service.url], TOKEN);
  const none = await tried();
  assertEquals([none.code, none.printed], [
    0,
    'Trigger "words" has no delivery to try its actions on: name a file with a body\n',
  ]);
  await (await fetch(url, { method: "POST", body: '{"word":"a\\u001b[2J"}' })).body?.cancel();
  const { body: { results: [{ id }] } } = await service.api("GET", "deliveries/?trigger=words");
  for (const args of [[], ["--delivery", id], ["--delivery", id.slice(0, 8)]]) {
    const { code, printed } = await tried(...args);
    assertEquals(code, 0, printed);
    assertStringIncludes(printed, `${id}  accepted\n  actions/0 run_execution\n    step echo at ~`);
    assertStringIncludes(printed, String.raw`parameter word (string): "a\u001b[2J"`);
    assertMatch(printed, /actions\/1 run_execution {2}skipped: The condition is false/);
  }
  const file = `${service.folder}/body.json`;
  await Deno.writeTextFile(file, '{"word": 1.5}');
  assertStringIncludes((await tried(file)).printed, 'parameter word (string): "1.5"');
  assertEquals((await tried(file, "--delivery", id)).code, 1);

  // JSON has a number beyond 2^53 as a text; it is shown as what the step gets.
  const large = { type: "run_execution", step: "add", parameters: { size: "{body.size}" } };
  const config = "- step: { name: add, image: none, command: 'true', " +
    "parameters: [{ name: size, type: integer }] }";
  await service.api("POST", "projects/", { name: "sums", config });
  await service.trigger({ name: "sum", project: "sums", actions: [large] });
  await Deno.writeTextFile(file, '{"size": 9007199254740993, "word": 1.5}');
  const exact = await run(["trigger", "try", "sum", file, "--url", service.url], TOKEN);
  assertStringIncludes(exact.printed, "parameter size (integer): 9007199254740993\n");

  const request = {
    type: "http_request",
    url: "https://ci.example/{body.word}",
    headers: { authorization: { secret: "the-token-of-the-job", prefix: "Bearer " } },
    body: "say {body.word}",
    sign: { preset: "github", secret: "the-key-of-the-signature" },
  };
  await service.api("PATCH", `triggers/${trigger}/`, { actions: [request] });
  assertEquals((await tried(file)).printed.split("\n"), [
    "the file",
    "  actions/0 http_request",
    "    POST https://ci.example/1.5",
    "      header content-type: text/plain; charset=utf-8",
    "      header authorization: Bearer ********",
    "      signed as by github",
    "      body say 1.5",
    "",
  ]);
});
