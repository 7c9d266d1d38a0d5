/** Refused requests that were kept, once the mistake is mended: the doctor says which it was, and they launch. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import {
  type ApiAnswer,
  endOfExecution,
  endOfRun,
  eventually,
  HMAC_CONDITION,
  SECRET,
  signature,
  startService,
  TestClock,
  type TestService,
} from "../../data.ts";

type Json = ApiAnswer["body"];

const ECHO = [{ type: "run_execution", step: "echo" }];
const WRONG = { ...HMAC_CONDITION, secrets: ["not-the-right-secret"] };
const TIMESTAMP = { type: "timestamp", in: "header", name: "X-T", format: "unix_s", tolerance: 60 };
const ONCE = { type: "deduplication", in: "header", name: "X-Id" };

async function send(
  url: string,
  body: string,
  headers: Record<string, string> = {},
): Promise<string> {
  return await (await fetch(url, { method: "POST", body, headers })).text();
}

/** The ids of kept deliveries of an outcome, oldest first, when there are so many. */
async function kept(service: TestService, count: number, outcome = "refused"): Promise<string[]> {
  return await eventually(async () => {
    const { body: { results } } = await service.api("GET", `deliveries/?outcome=${outcome}`);
    const details = await Promise.all(
      results.map(({ id }: Json) => service.api("GET", `deliveries/${id}/`)),
    );
    const found = details.filter(({ body }) => body.kept_until).map(({ body }) => body.id);
    return found.length === count ? found.reverse() : undefined;
  }, { what: `${count} kept requests` });
}

async function ended(service: TestService, id: string): Promise<Json> {
  return await eventually(async () => {
    const { body } = await service.api("GET", `replays/${id}/`);
    return body.state === "running" ? undefined : body;
  }, { what: "the end of the replay" });
}

Deno.test("a refused request launches once its trigger is mended, and its delivery says so", async () => {
  await using service = await startService();
  const { id, url } = await service.trigger({
    name: "mended",
    conditions: [WRONG],
    keep_refused: "1h",
  });
  await send(`${url}?ref=main`, "labels", { ...signature("labels"), "x-github-event": "push" });
  const [delivery = ""] = await kept(service, 1);
  const again = (body?: unknown) => service.api("POST", `deliveries/${delivery}/replay/`, body);

  const refused = await again();
  assertEquals(refused.status, 409);
  assertStringIncludes(refused.body.detail, 'trigger "mended" refuses it: conditions/0 (hmac)');
  await service.api("PATCH", `triggers/${id}/`, { conditions: [HMAC_CONDITION] });
  const made = await again();
  assertEquals([made.status, made.body.replay_of], [201, delivery], JSON.stringify(made.body));
  const run = await endOfRun(service, made.body.id);
  assertEquals([run.payload.size, run.request.query], [6, "ref=main"]);
  assertEquals(run.request.headers["x-github-event"], "push");
  assert(!("x-signature" in run.request.headers));

  const edited = await again({ body: btoa("edited") });
  assertEquals(edited.status, 201);
  const payload = await fetch(`${service.url}/api/v0/runs/${edited.body.id}/payload/`, {
    headers: { authorization: `Bearer ${service.service.parts.settings.adminToken}` },
  });
  assertEquals(await payload.text(), "edited");
  await endOfRun(service, edited.body.id);
  const { body: { replays, kept_until } } = await service.api("GET", `deliveries/${delivery}/`);
  assert(kept_until);
  assertEquals(replays.map(({ id }: Json) => id), [edited.body.id, made.body.id]);
  const [{ differences }] = replays;
  assertEquals(differences[0].what, "delivery");
  assertEquals(differences[0].after, "accepted");
  assertStringIncludes(differences[0].before, "refused by hmac");
  const wrong = await again({ body: "{}" });
  assertEquals([wrong.status, wrong.body.errors[0].pointer], [422, "/body"]);
});

Deno.test("a kept request is judged at the time at which it came, and a repeat launches nothing", async () => {
  const clock = new TestClock();
  await using service = await startService({ clock });
  const { id, url } = await service.trigger({
    conditions: [WRONG, TIMESTAMP, ONCE],
    actions: ECHO,
    keep_refused: "1d",
    response: { type: "text", text: "{run_id}" },
  });
  const headers = {
    ...signature("x"),
    "x-t": String(Math.floor(clock.now() / 1_000)),
    "x-id": "evt_1",
  };
  await send(url, "x", headers);
  const [delivery = ""] = await kept(service, 1);
  await service.api("PATCH", `triggers/${id}/`, { conditions: [HMAC_CONDITION, TIMESTAMP, ONCE] });
  clock.time_ms += 6 * 3_600_000;
  const { status, body } = await service.api("POST", `deliveries/${delivery}/replay/`);
  assertEquals(status, 201, JSON.stringify(body));
  assertEquals(body.delivery_id, "evt_1");
  const twice = await service.api("POST", `deliveries/${delivery}/replay/`);
  assertEquals(twice.status, 409);
  assertStringIncludes(twice.body.detail, `has made run ${body.id}`);
  // Its provider sends it again as well.
  headers["x-t"] = String(Math.floor(clock.now() / 1_000));
  assertEquals(await send(url, "x", headers), body.id);
});

Deno.test("all refused requests of a condition are counted, launched, and compared", async () => {
  await using service = await startService();
  const filter = { type: "payload_filter", expression: "body.ok" };
  const { id, url } = await service.trigger({
    name: "many",
    conditions: [WRONG, filter],
    actions: ECHO,
    keep_refused: "1h",
  });
  for (const body of ['{"ok":true,"n":1}', '{"ok":true,"n":2}', '{"ok":false}']) {
    await send(url, body, signature(body));
  }
  await send(url, "signed by nobody", signature("x", "another secret"));
  const ids = await kept(service, 4);
  await service.api("PATCH", `triggers/${id}/`, { conditions: [HMAC_CONDITION, filter] });
  const settings = { filter: { trigger: "many", outcome: "refused", condition: "hmac" } };
  const dry = await service.api("POST", "replays/", { ...settings, dry_run: true });
  assertEquals([dry.status, dry.body], [200, { state: "dry_run", count: 4 }]);
  const made = await service.api("POST", "replays/", { ...settings, rate: 1_000 });
  const { launched, failed, skipped, error } = await ended(service, made.body.id);
  assertEquals([launched, failed, skipped], [2, 2, 0]);
  assertStringIncludes(error, "refuses it");

  const results = `replays/${made.body.id}/results/`;
  const { body: page } = await service.api("GET", results);
  assertEquals(page.results.map(({ before }: Json) => before.id), ids);
  assertEquals(page.results.map(({ after }: Json) => after?.outcome), [
    "accepted",
    "accepted",
    undefined,
    undefined,
  ]);
  const { body: first } = await service.api("GET", `${results}?limit=1`);
  const { searchParams } = new URL(first.next);
  const { body: rest } = await service.api(
    "GET",
    `${results}?cursor=${searchParams.get("cursor")}`,
  );
  assertEquals(rest.results.map(({ before }: Json) => before.id), ids.slice(1));

  await eventually(async () => {
    const { body: { results } } = await service.api("GET", "executions/");
    return results.every(({ ended_at }: Json) => ended_at) || undefined;
  }, { what: "the end of all executions" });
  const again = await service.api("POST", "replays/", {
    ...settings,
    rate: 1_000,
    only_without_success: true,
  });
  const second = await ended(service, again.body.id);
  assertEquals([second.launched, second.failed, second.skipped], [0, 2, 2]);
});

Deno.test("an old run and its replay stand side by side, with what differs", async () => {
  await using service = await startService();
  const write = (command: string) =>
    Deno.writeTextFile(
      `${service.folder}/project/valohai.yaml`,
      JSON.stringify([{ step: { name: "s", image: "i", command } }]),
    );
  await write("echo a > $VH_OUTPUTS_DIR/a; exit 3");
  const { url } = await service.trigger({
    actions: [{ type: "run_execution", step: "s" }],
    response: { type: "text", text: "{run_id}" },
  });
  const before = await endOfRun(service, await send(url, ""));
  await endOfExecution(service, before.actions[0].created.execution_id);
  await write("echo b > $VH_OUTPUTS_DIR/b");
  const { body: { id } } = await service.api("POST", "replays/", { filter: {}, rate: 100 });
  await ended(service, id);
  const differences = await eventually(async () => {
    const { body: { results: [{ after, differences }] } } = await service.api(
      "GET",
      `replays/${id}/results/`,
    );
    return after.executions[0]?.status === "complete" ? differences : undefined;
  }, { what: "the end of the new run" });
  const text = differences.map(({ what, before = "-", after = "-" }: Json) =>
    `${what}: ${before} → ${after}`
  ).join("\n");
  assertStringIncludes(text, "execution 0 (s) status: error → complete");
  assertStringIncludes(text, "execution 0 (s) exit_code: 3 → 0");
  assertStringIncludes(text, "execution 0 (s) output b: - → 2 bytes");
  assert(!text.includes("run:"), text);
});

Deno.test("the doctor looks into a kept delivery, and into an accepted one", async (t) => {
  await using service = await startService();
  const filter = { type: "payload_filter", expression: "body.a == 1" };
  const { id, url } = await service.trigger({
    name: "ill",
    conditions: [{ ...HMAC_CONDITION, secrets: [`${SECRET}\n`] }, filter],
    actions: ECHO,
    keep_refused: "1h",
  });
  const diagnose = async (delivery_id: string, trigger = id) =>
    await service.api("POST", `triggers/${trigger}/diagnose/`, { delivery_id });
  const body = '{"a":1}';
  await send(url, body, signature(body));
  const [refused = ""] = await kept(service, 1);

  await t.step("a kept one", async () => {
    const { body: { findings } } = await diagnose(refused);
    assertEquals(findings[0].certainty, "matches");
    assertStringIncludes(findings[0].sentence, "Signed with the secret without the white space");
  });
  await t.step("an accepted one", async () => {
    await service.api("PATCH", `triggers/${id}/`, { conditions: [HMAC_CONDITION, filter] });
    await send(url, body, signature(body));
    const { body: { results: [{ id: accepted }] } } = await service.api(
      "GET",
      "deliveries/?outcome=accepted",
    );
    const well = await diagnose(accepted);
    assertStringIncludes(well.body.findings[0].sentence, "It was accepted");
    const { body: { findings } } = await diagnose(refused);
    const before = "When it came, it was refused by conditions/0 (hmac): Header ";
    assertStringIncludes(findings[0].sentence, before);
    const conditions = [HMAC_CONDITION, { ...filter, expression: "body.a == 2" }];
    await service.api("PATCH", `triggers/${id}/`, { conditions, keep_refused: null });
    const ill = await diagnose(accepted);
    assertStringIncludes(ill.body.findings[0].sentence, "conditions/1 (payload_filter)");
  });
  await t.step("one that is not kept", async () => {
    await send(url, body, signature(body, "x"));
    const found = await eventually(async () => {
      const { body } = await service.api("GET", "deliveries/?outcome=refused&limit=1");
      return body.results[0].id === refused ? undefined : body.results[0].id;
    });
    const { status, body: answer } = await diagnose(found);
    assertEquals(status, 409);
    assertStringIncludes(answer.detail, "keep_refused");
    assertEquals((await service.api("POST", `deliveries/${found}/replay/`)).status, 409);
  });
  await t.step("one that cannot be kept, though others are", async () => {
    const token = { type: "static_token", in: "body", name: "t", secrets: [SECRET] };
    const cases: [settings: object, body: string, words: string][] = [
      [{ conditions: [{ ...token, redact: true }] }, "{}", "keeps none, as a condition has redact"],
      [{ conditions: [token] }, " ".repeat(1024 * 1024 + 1), "with bodies of up to 1 MiB, for 1h"],
    ];
    for (const [settings, body, words] of cases) {
      const other = await service.trigger({ ...settings, keep_refused: "1h" });
      await send(other.url, body);
      const found = await eventually(async () => {
        const { body } = await service.api("GET", `deliveries/?trigger=${other.id}`);
        return body.results[0]?.id;
      });
      const diagnosis = await diagnose(found, other.id);
      assertEquals(diagnosis.status, 409);
      assertStringIncludes(diagnosis.body.detail, words);
      const again = await service.api("POST", `deliveries/${found}/replay/`);
      assertStringIncludes(again.body.detail, words);
    }
  });
  await t.step("one of another trigger, and none", async () => {
    const other = await service.trigger({ conditions: [HMAC_CONDITION] });
    for (const delivery of [refused, "0190fe82-c984-7f66-8302-69874914e1c9", "x"]) {
      const { status, body } = await diagnose(delivery, other.id);
      assertEquals([status, body.errors[0].pointer], [422, "/delivery_id"]);
    }
  });
});
