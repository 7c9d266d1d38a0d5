/** The pages of triggers over HTTP: making, changing, testing them; secrets; two operators. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { startService, type TestService } from "../../data.ts";
import { type Browser, loggedIn, textOf } from "./fixture.ts";

const WORK = {
  project: "files",
  action: { type: "run_execution", step: "copy", payload_input_name: "labels" },
};
const SECRET = "a-secret-of-the-form";

/** Sends the form of a new trigger. */
async function make(browser: Browser, fields: Record<string, string> = {}) {
  return await browser.post("triggers/new", {
    csrf: await browser.csrf(),
    name: "made",
    provider: "hmac/github",
    secret: SECRET,
    work: JSON.stringify(WORK),
    filter: "",
    ...fields,
  });
}

async function stored(service: TestService, name = "made") {
  return (await service.api("GET", `triggers/?name=${name}`)).body.results[0];
}

Deno.test("a trigger is made by a form, whose mistakes are at their fields", async (t) => {
  await using service = await startService();
  const browser = await loggedIn(service);
  await t.step("the form offers the project's steps and their inputs", async () => {
    const { text } = await browser.get("triggers/new");
    for (const label of ["copy, the payload as its input labels", "echo", ">GitHub<"]) {
      assertStringIncludes(text, label);
    }
  });
  await t.step("mistakes", async () => {
    const { status, text } = await make(browser, { name: "a/b", secret: "", filter: "body.(" });
    assertEquals(status, 422);
    assert(!text.includes('role="alert"'), "each is at its field");
    for (const id of ["name", "secret", "filter"]) {
      const [field = ""] = new RegExp(`<label for="${id}">.*?</div></div>`, "s").exec(text) ?? [];
      assertStringIncludes(field, 'class="problem"', id);
    }
    assertStringIncludes(text, 'value="a/b"');
    assertEquals(await stored(service), undefined);
  });
  await t.step("a secret without a provider is a mistake, not dropped", async () => {
    const { status, text } = await make(browser, { provider: "" });
    assertEquals(status, 422);
    const [field = ""] = /<label for="secret">.*?<\/div><\/div>/s.exec(text) ?? [];
    assertStringIncludes(field, "choose who sends, or leave it empty");
    assertEquals(await stored(service), undefined);
  });
  await t.step("made", async () => {
    const { status, headers, text } = await make(browser, { filter: "body.n > 1", keep: "on" });
    assertEquals([status, headers.get("location")], [303, "/triggers/made"], text);
    const { conditions, actions, keep_refused } = await stored(service);
    assertEquals(conditions.map(({ type }: { type: string }) => type), ["hmac", "payload_filter"]);
    assertEquals([actions[0].payload_input_name, keep_refused], ["labels", "24h"]);
    const page = await browser.get("triggers/made");
    assert(!page.text.includes(SECRET));
    const seen = textOf(page);
    for (const part of ["/api/v0/launch/", "hmac , as GitHub does it", "body.n > 1", "stored"]) {
      assertStringIncludes(seen.replaceAll("&gt;", ">"), part);
    }
    assertEquals((await make(browser)).status, 409);
  });
  await t.step("a signed test launches", async () => {
    const { id } = await stored(service);
    const csrf = await browser.csrf();
    const send = (body: string) => browser.post(`triggers/${id}/test`, { csrf, body, headers: "" });
    await send('{"n": 2}');
    assertStringIncludes(textOf(await browser.get("triggers/made")), "was answered 200");
    await send('{"n": 1}');
    const { body } = await service.api("GET", "deliveries/?trigger=made");
    assertEquals(body.results.map(({ outcome }: { outcome: string }) => outcome), [
      "filtered",
      "accepted",
    ]);
  });
  await t.step("a schedule shows what comes, and launches now", async () => {
    const { id } = await stored(service);
    const schedule = [{ cron: "0 12 * * *", timezone: "Asia/Kolkata", payload: { n: 3 } }];
    await service.api("PATCH", `triggers/${id}/`, { schedule });
    assertStringIncludes(textOf(await browser.get("triggers/made")), "12:00+05:30 Asia/Kolkata");
    const csrf = await browser.csrf();
    const sent = await browser.post(`triggers/${id}/schedule`, { csrf, index: "0" });
    assertEquals(sent.status, 303);
    const page = textOf(await browser.get((sent.headers.get("location") ?? "").slice(1)));
    assertStringIncludes(page, "Scheduled");
    const { body } = await service.api("GET", "audit/");
    assertStringIncludes(JSON.stringify(body.results[0]), `triggers/${id}/schedule/run`);
  });
  await t.step("it is disabled, and deleted", async () => {
    const { id } = await stored(service);
    const csrf = await browser.csrf();
    await browser.post(`triggers/${id}/enable`, { csrf, enabled: "false" });
    assertEquals((await stored(service)).enabled, false);
    await browser.post(`triggers/${id}/delete`, { csrf });
    assertEquals(await stored(service), undefined);
    assertEquals((await browser.get("triggers/made")).status, 404);
  });
});

Deno.test("a test says how it ended, and a second one is no repeat", async (t) => {
  await using service = await startService();
  const browser = await loggedIn(service);
  const csrf = await browser.csrf();
  await make(browser, { deduplication: "on", filter: "body.n != 0" });
  const { id } = await stored(service);
  const headersOf = (text: string) => /name="headers"[^>]*>([^<]*)</.exec(text)?.[1]?.trim() ?? "";
  const test = async (headers: string, body = '{"n": 1}') => {
    await browser.post(`triggers/${id}/test`, { csrf, body, headers });
    const { text } = await browser.get("triggers/made");
    const [, tone, said = "", delivery = ""] =
      /class="notice (\w+)"[^>]*>(The test[^<]*)<a href="(deliveries\/[^"]+)"/.exec(text) ?? [];
    assertEquals((await browser.get(delivery)).status, 200, text);
    return { tone, said, next: headersOf(text) };
  };
  let headers = headersOf((await browser.get("triggers/made")).text);
  assertStringIncludes(headers, "x-github-delivery: ");
  for (const round of ["first", "second"]) {
    const { tone, said, next } = await test(headers);
    assertEquals([tone, said], ["ok", "The test was answered 200: accepted. "], round);
    if (round === "first") headers = next;
  }
  for (
    const [name, outcome, body] of [
      ["repeat", ["waiting", "200: a repeat of an earlier delivery"], '{"n": 1}'],
      ["filtered", ["waiting", "400: filtered by payload_filter, "], '{"n": 0}'],
    ] as const
  ) {
    await t.step(name, async () => {
      const { tone, said } = await test(headers, body);
      assertEquals(tone, outcome[0]);
      assertStringIncludes(said, outcome[1]);
    });
  }
  await t.step("refused", async () => {
    const secrets = [{ value: "{env:NOT_SET}" }];
    const conditions = [{ type: "hmac", preset: "github", secrets }];
    await service.api("PATCH", `triggers/${id}/`, { conditions });
    const { tone, said } = await test("");
    assertEquals(tone, "bad");
    assertStringIncludes(said, "The test was answered 400: refused by hmac, ");
  });
  await t.step("a request that cannot be sent is refused in one sentence", async () => {
    const { text } = await browser.post(`triggers/${id}/test`, { csrf, headers: "x y: 1" });
    assertEquals([...text.matchAll(/Expected a name of letters/g)].length, 1, text);
  });
});

Deno.test("a trigger's page counts as its lists do, and has units", async () => {
  await using service = await startService();
  await service.trigger({
    name: "counted",
    conditions: [
      { type: "ip_allowlist", ranges: ["127.0.0.0/8"] },
      { type: "hmac", preset: "github", secrets: [SECRET, "{env:NOT_SET}"] },
      { type: "deduplication", window: 5_400, in: "header", name: "x-own-id" },
      { type: "rate_limit", quota: 10, period: 3_600 },
    ],
  });
  const seen = textOf(await (await loggedIn(service)).get("triggers/counted"));
  for (
    const part of [
      "Condition 2 (hmac), secret 2: Matches nothing",
      "Condition 3 (deduplication): No signature covers",
      "window 90 min",
      "period 1 h",
    ]
  ) assertStringIncludes(seen, part);
});

Deno.test("the form of a new trigger says what is wrong, and nothing else is red", async () => {
  await using service = await startService();
  const directory = `${service.folder}/nowhere`;
  await service.api("POST", "projects/", { name: "broken", directory });
  const browser = await loggedIn(service);
  const { text } = await make(browser, { quota: "abc", secret: "" });
  const fieldOf = (id: string) =>
    new RegExp(`<label for="${id}">.*?</div></div>`, "s").exec(text)?.[0] ?? "";
  assertStringIncludes(fieldOf("quota"), "Expected a number, found &quot;abc&quot;");
  assertStringIncludes(fieldOf("secret"), "Expected the secret of the provider, found nothing");
  assertStringIncludes(fieldOf("work"), "Project broken has no steps");
  assert(!fieldOf("work").includes('class="problem"'), "another project can be launched");
});

Deno.test("the work that was chosen stays chosen, of whichever project it is", async () => {
  await using service = await startService();
  const browser = await loggedIn(service);
  const config = "- step: { name: sort, image: debian, command: sort }";
  for (let place = 0; place < 10; place++) {
    assertEquals((await service.api("PUT", `projects/a${place}/`, { config })).status, 201);
  }
  const { text } = await browser.get("triggers/new");
  assertStringIncludes(text, "More projects are not listed: begin at the page of the project");
  const gone = { project: "files", action: { type: "run_execution", step: "gone" } };
  for (const work of [WORK, gone]) {
    const { status, text } = await make(browser, { name: "a/b", work: JSON.stringify(work) });
    assertEquals(status, 422);
    const selected = [...text.matchAll(/<option value="([^"]*)" selected[^>]*>([^<]*)/g)];
    const [, value = "", label = ""] = selected.at(-1) ?? [];
    assertEquals(JSON.parse(value.replaceAll("&quot;", '"')), work);
    assertEquals(label, `${work.action.step} of files`);
  }
});

Deno.test("the form of a new trigger takes the key of deliveries", async () => {
  await using service = await startService();
  const browser = await loggedIn(service);
  const { text } = await make(browser, { key: "bod.id" });
  const field = /<label for="key">.*?<\/div><\/div>/s.exec(text)?.[0] ?? "";
  assertStringIncludes(field, "Unknown variable &#39;bod&#39;");
  await make(browser, { key: " body.id " });
  const { conditions } = await stored(service);
  assertEquals(conditions.at(-1), { type: "deduplication", key: "body.id", window: 86_400 });
});

Deno.test("secrets are added, end and are removed, and a missing one is named", async () => {
  await using service = await startService();
  const browser = await loggedIn(service);
  await make(browser);
  const { id, url } = await stored(service);
  const csrf = await browser.csrf();
  const change = async (what: string, fields: Record<string, string>) => {
    const { revision } = await stored(service);
    const { status, text } = await browser.post(`triggers/${id}/secrets/${what}`, {
      csrf,
      condition: "0",
      revision: String(revision),
      ...fields,
    });
    assertEquals(status, 303, text);
  };
  await change("add", { value: "{env:NOT_SET}", name: "next" });
  assertStringIncludes(textOf(await browser.get("triggers/made")), "NOT_SET");
  assertStringIncludes(textOf(await browser.get("triggers/made")), "1 warning");
  await change("expire", { place: "0" });
  const [{ until }] = (await stored(service)).conditions[0].secrets;
  assert(Date.parse(until) > Date.now());
  await change("remove", { place: "1" });
  assertEquals((await stored(service)).conditions[0].secrets.length, 1);
  await browser.post(`triggers/${id}/test`, { csrf, body: "{}", headers: "" });
  const { body } = await service.api("GET", "deliveries/?trigger=made");
  assertEquals(body.results[0].outcome, "accepted", url);
  const late = await browser.post(`triggers/${id}/secrets/add`, {
    csrf,
    condition: "0",
    revision: "1",
    value: "late",
    name: "",
  });
  assertEquals(late.status, 412);
});

Deno.test("the second of two editors sees what the first changed, and keeps what was typed", async () => {
  await using service = await startService();
  const { id } = await service.trigger({ name: "both" });
  const browser = await loggedIn(service);
  const { text } = await browser.get("triggers/both/edit");
  const revision = (from: string) => /name="revision" value="(\d+)"/.exec(from)?.[1] ?? "";
  const { actions, conditions } = await stored(service, "both");
  const form = {
    csrf: await browser.csrf(),
    name: "both",
    project: "files",
    keep_refused: "12h",
    conditions: JSON.stringify(conditions),
    actions: JSON.stringify(actions),
    response: "",
  };
  await service.api("PATCH", `triggers/${id}/`, { keep_refused: "6h" });
  const conflict = await browser.post(`triggers/${id}/edit`, { ...form, revision: revision(text) });
  assertEquals(conflict.status, 412);
  for (const part of ["Somebody else saved this trigger", "/keep_refused", "6h", 'value="12h"']) {
    assertStringIncludes(conflict.text, part);
  }
  const wrong = await browser.post(`triggers/${id}/edit`, {
    ...form,
    revision: revision(conflict.text),
    conditions: "[{]",
    actions: "[]",
  });
  assertEquals(wrong.status, 422);
  assertStringIncludes(wrong.text, "Expected JSON");
  const again = await browser.post(`triggers/${id}/edit`, {
    ...form,
    revision: revision(conflict.text),
  });
  assertEquals(again.status, 303, again.text);
  assertEquals((await stored(service, "both")).keep_refused, "12h");
});

Deno.test("a filter is tried by a button, on deliveries or a sample, and keeps its place", async (t) => {
  await using service = await startService();
  const browser = await loggedIn(service);
  const csrf = await browser.csrf();
  const post = async (address: string, fields: Record<string, string>) => {
    const page = await browser.post(address, { csrf, ...fields });
    return { ...page, seen: textOf(page).replaceAll("&quot;", '"').replaceAll("&gt;", ">") };
  };

  await t.step("of a new trigger: on a sample of who sends", async () => {
    const tried = { try: "filter", provider: "hmac/github", name: "typed" };
    const passed = await post("triggers/new", {
      ...tried,
      filter: 'body.ref == "refs/heads/main"',
    });
    assertEquals(passed.status, 200);
    assertStringIncludes(passed.seen, "A sample of GitHub passes");
    assertStringIncludes(passed.text, 'value="typed"');
    const failed = await post("triggers/new", { ...tried, filter: 'body.ref == "x"' });
    assertStringIncludes(failed.seen, "A sample of GitHub does not pass");
    assertStringIncludes(failed.seen, 'body.ref is "refs/heads/main"');
    for (
      const [provider, filter, unwrapped] of [
        [
          "signature/sns",
          "body.Message.parseJSON().Records[0].eventName.startsWith('ObjectCreated')",
          "Unwrapped by body.Message.parseJSON()",
        ],
        [
          "signature/ses",
          "body.Message.parseJSON().eventType == 'Bounce'",
          "Unwrapped by body.Message.parseJSON()",
        ],
        [
          "hmac/mandrill",
          "body.mandrill_events.parseJSON()[0].event == 'open'",
          "Unwrapped by body.mandrill_events.parseJSON()",
        ],
      ] as const
    ) {
      const wrapped = await post("triggers/new", { ...tried, provider, filter });
      assertStringIncludes(wrapped.seen, " passes");
      assertStringIncludes(wrapped.seen, unwrapped);
    }
    const wrong = await post("triggers/new", { ...tried, filter: "body.ref == " });
    assertStringIncludes(wrong.seen, "Syntax error at line 1, column 10");
  });

  const filter = { type: "payload_filter", expression: "body.n > 0" };
  const { id, url } = await service.trigger({
    name: "kept",
    conditions: [{ type: "ip_allowlist", ranges: ["127.0.0.0/8"] }, filter, {
      type: "rate_limit",
      quota: 9,
      period: 60,
    }],
  });
  const { text } = await browser.get("triggers/kept/edit");
  const field = (name: string) =>
    new RegExp(`<textarea[^>]* name="${name}"[^>]*>([^<]*)<`).exec(text)?.[1]
      ?.replaceAll("&quot;", '"').replaceAll("&gt;", ">") ?? "";
  const form = {
    name: "kept",
    project: "files",
    filter_1: field("filter_1"),
    conditions: field("conditions"),
    actions: field("actions"),
    response: "",
    revision: /name="revision" value="(\d+)"/.exec(text)?.[1] ?? "",
  };

  await t.step("of a trigger: on its deliveries", async () => {
    assertEquals(form.filter_1, "body.n > 0");
    const tried = { ...form, try: "filter_1" };
    const sample = await post(`triggers/${id}/edit`, tried);
    assertStringIncludes(sample.seen, "A plain sample does not pass");
    for (const body of ['{"n":1}', '{"n":2}']) {
      await (await fetch(url, { method: "POST", body })).body?.cancel();
    }
    assertStringIncludes(textOf(await browser.get("triggers/kept")), "7 of 9 left, more in 1 min");
    const seen = async (filter_1: string) =>
      (await post(`triggers/${id}/edit`, { ...tried, filter_1 })).seen;
    assertStringIncludes(await seen("body.n > 1"), "1 of 2 recent requests pass");
    assertStringIncludes(await seen("body.n > 1"), "body.n is 1");
    assertStringIncludes(
      await seen("body.n > 0 && body.m"),
      "field not found: m, line 1, column 19",
    );
    assertStringIncludes(
      await seen('{"all": [{"path": "body.n", "op": "eq", "value": 2}]}'),
      "1 of 2",
    );
    assertEquals((await stored(service, "kept")).conditions[1], filter, "nothing is saved");
  });

  await t.step("what typed actions would launch, on its deliveries", async () => {
    const seen = async (actions: string) =>
      (await post(`triggers/${id}/edit`, { ...form, actions, try: "actions" })).seen;
    const echo = (settings: Record<string, unknown>) =>
      JSON.stringify([{ type: "run_execution", step: "echo", ...settings }]);
    const tried = await seen(echo({ parameters: { word: "n={body.n}" } }));
    assertStringIncludes(tried, "On 2 recent requests, no action fails");
    assertStringIncludes(tried, 'word (string): "n=2"');
    assertStringIncludes(await seen(echo({ if: "body.n == 2" })), "body.n is 1");
    assertStringIncludes(await seen(echo({ parameters: { word: "{body.m}" } })), "2 fail");
    assertStringIncludes(await seen(echo({ parameters: { word: "{bdy}" } })), "Unknown variable");
    assertStringIncludes(await seen("[{"), "Expected JSON");
    const headers = { authorization: { secret: "the-token-of-the-job", prefix: "Bearer " } };
    const request = { type: "http_request", url: "https://ci.example/{body.n}", headers };
    const sent = await seen(JSON.stringify([{ ...request, body: "n={body.n}" }]));
    for (const text of ["POST https://ci.example/2", "Bearer ********", "n=2"]) {
      assertStringIncludes(sent, text);
    }
    const [, panel = ""] = sent.split("What the actions would launch");
    assert(!panel.includes("the-token-of-the-job"), panel);
  });

  await t.step("saved, a filter stays among the conditions where it was", async () => {
    const wrong = await post(`triggers/${id}/edit`, {
      ...form,
      filter_1: "body.n >",
      conditions: '[{"type":"ip_allowlist","ranges":["127.0.0.0/8"]},{"type":"rate_limit"}]',
    });
    assertEquals(wrong.status, 422);
    const [, ofFilter = ""] = /id="filter_1-about">(.*?)<\/div>/s.exec(wrong.text) ?? [];
    assertStringIncludes(ofFilter, "Syntax error at line 1");
    const [, ofOthers = ""] = /id="conditions-about">(.*?)<\/div>/s.exec(wrong.text) ?? [];
    assertStringIncludes(ofOthers, "/conditions/1/period");
    const { status } = await post(`triggers/${id}/edit`, { ...form, filter_1: "body.n >\r\n 1" });
    assertEquals(status, 303);
    const { conditions } = await stored(service, "kept");
    assertEquals(conditions.map(({ type }: { type: string }) => type), [
      "ip_allowlist",
      "payload_filter",
      "rate_limit",
    ]);
    assertEquals(conditions[1].expression, "body.n >\n 1");
  });

  await t.step("its pace and schedule are saved, changed and removed", async () => {
    const save = async (fields: Record<string, string>) => {
      const { revision } = await stored(service, "kept");
      return await post(`triggers/${id}/edit`, { ...form, ...fields, revision: `${revision}` });
    };
    const paced = {
      coalesce: '{"key":"{body.n}","window":30,"max_wait":60}',
      concurrency: '{"limit":2}',
      schedule: '[{"cron":"0 3 * * *","timezone":"Europe/Helsinki"}]',
      delay: "600",
    };
    assertEquals((await save(paced)).status, 303);
    const saved = await stored(service, "kept");
    assertEquals([saved.coalesce.max_wait, saved.concurrency.limit, saved.delay], [60, 2, 600]);
    assertEquals(saved.schedule[0].timezone, "Europe/Helsinki");
    const { text } = await browser.get("triggers/kept/edit");
    assertStringIncludes(text, '<details class="field" open><summary>Pace and schedule');
    assertMatch(text, /<input id="delay" name="delay" value="600"/);

    const wrong = await save({ ...paced, delay: "bod.at", schedule: '[{"cron":"0 3 * *"}]' });
    assertEquals(wrong.status, 422);
    const saidAt = (field: string) =>
      new RegExp(`id="${field}-about">(.*?)</div>`, "s").exec(wrong.text)?.[1] ?? "";
    assertStringIncludes(saidAt("delay"), "Unknown variable");
    assertStringIncludes(saidAt("schedule"), "/schedule/0/cron: Expected five fields");

    const changed = { coalesce: '{"key":"{body.n}","window":30}', delay: "timestamp(body.at)" };
    assertEquals((await save(changed)).status, 303);
    const { coalesce, concurrency, delay, schedule } = await stored(service, "kept");
    assertEquals([coalesce.max_wait, delay], [undefined, "timestamp(body.at)"]);
    assertEquals([concurrency, schedule ?? []], [undefined, []]);
    assertEquals((await save({})).status, 303);
    assertEquals((await stored(service, "kept")).coalesce, undefined);
  });
});

Deno.test("a reader sees a trigger and can change nothing", async () => {
  await using service = await startService();
  const { id } = await service.trigger({ name: "seen" });
  const { body } = await service.api("POST", "tokens/", { name: "reader", scope: "read" });
  const reader = await loggedIn(service, body.token);
  const { text } = await reader.get("triggers/seen");
  for (const label of ["Disable", "Edit", "Delete", "Send a test"]) {
    assert(!text.includes(`>${label}<`), label);
  }
  const csrf = await reader.csrf();
  for (const what of ["enable", "delete", "test", "edit"]) {
    const fields = { csrf, enabled: "false", body: "", headers: "", name: "seen", revision: "1" };
    assertEquals((await reader.post(`triggers/${id}/${what}`, fields)).status, 403, what);
  }
});
