/** The list of deliveries in the console. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { endOfRun, eventually, HMAC_CONDITION, signature, startService } from "../../data.ts";
import { Browser, loggedIn, textOf } from "./fixture.ts";

const HOSTILE = `"><script>alert(1)</script><img src=x onerror=alert(1)>`;

Deno.test("the list shows what came, finds it by its filters, and no text of a sender is HTML", async (t) => {
  await using service = await startService();
  const trigger = await service.trigger({
    name: "signed",
    conditions: [HMAC_CONDITION, { type: "deduplication", in: "header", name: "X-Id", window: 60 }],
    response: { type: "text", text: "{run_id}" },
  });
  const other = await service.trigger({ name: "open" });
  const send = async (url: string, body: string, headers: Record<string, string>) =>
    await (await fetch(url, { method: "POST", body, headers })).text();
  const id = await send(trigger.url, HOSTILE, { ...signature(HOSTILE), "x-id": HOSTILE });
  await endOfRun(service, id);
  await send(trigger.url, HOSTILE, { "x-signature": `sha256=${HOSTILE}` });
  await send(other.url, "{}", {});
  const browser = await loggedIn(service);
  const rows = async (query = ""): Promise<string[]> => {
    const { status, text } = await browser.get(`deliveries${query}`);
    assertEquals(status, 200, text);
    assert(!/<script>|<img/i.test(text), text);
    assert(
      !/(href|action|src)="\//.test(text.replace('<base href="/">', "")),
      "addresses are relative",
    );
    const found = [...text.matchAll(/<tr id="row-.*?<\/tr>/gs)].map(([row]) => row);
    // A search for a text comes as far as it can in its time.
    const [, older] = /<a href="deliveries([^"]*)" rel="next">/.exec(text) ?? [];
    return older === undefined ? found : [...found, ...await rows(older.replaceAll("&amp;", "&"))];
  };
  await t.step("all, newest first", async () => {
    const [newest = "", refused = "", accepted = "", ...none] = await rows();
    assertEquals(none, []);
    assertStringIncludes(newest, ">open<");
    assertStringIncludes(refused, "hmac: ");
    assertStringIncludes(accepted, `href="deliveries/${id}"`);
    assertStringIncludes(accepted, "&lt;script&gt;");
  });
  for (
    const [query, count] of [
      ["?outcome=refused", 1],
      ["?trigger=signed", 2],
      ["?trigger=signed&outcome=accepted", 1],
      ["?text=onerror", 1],
      ["?text=nowhere", 0],
      ["?outcome=&trigger=&text=", 3],
    ] as const
  ) {
    await t.step(query, async () => assertEquals((await rows(query)).length, count));
  }
  await t.step("a filter without a field is shown, and kept with those that have one", async () => {
    const { text } = await browser.get("deliveries?condition=hmac&from=2026-01-01T00:00:00Z");
    const [form = ""] = /<form class="filters".*?<\/form>/s.exec(text) ?? [];
    assertStringIncludes(form, 'name="condition" value="hmac"');
    assertStringIncludes(form, 'name="from" value="2026-01-01T00:00:00Z"');
    assertStringIncludes(textOf({ text: form }), "condition: hmac");
  });
  await t.step("a filter that is wrong", async () => {
    const { status, text } = await browser.get(`deliveries?trigger=${encodeURIComponent(HOSTILE)}`);
    assertEquals(status, 422);
    assert(!text.includes("<script>"), text);
  });
  await t.step("a limited token sees its own trigger's alone", async () => {
    const settings = { name: "limited", scope: "read", triggers: ["open"] };
    const { body } = await service.api("POST", "tokens/", settings);
    const limited = await loggedIn(service, body.token);
    const { text } = await limited.get("deliveries");
    assertEquals([text.includes(">open<"), text.includes(">signed<")], [true, false]);
    assertEquals((await limited.get("access")).status, 403);
  });
  await t.step("the stream tells of new ones, with a session alone", async () => {
    const follow = (from: Browser) =>
      fetch(`${service.url}/deliveries/events?trigger=open`, {
        headers: { cookie: [...from.cookies].map((each) => each.join("=")).join("; ") },
      });
    const nobody = await follow(new Browser(service.url));
    assertEquals([nobody.status, await nobody.text()], [401, ""]);
    const answer = await follow(browser);
    assertEquals(answer.headers.get("content-type"), "text/event-stream");
    const reader = (answer.body ?? new ReadableStream()).pipeThrough(new TextDecoderStream())
      .getReader();
    await send(other.url, "{}", {});
    let seen = "";
    while (!seen.includes("data: ")) seen += (await reader.read()).value;
    assertStringIncludes(seen, '"trigger":"open"');
    await reader.cancel();
  });
  await t.step(
    "a page that is loaded again after a change has it, however soon another asked",
    async () => {
      const cookie = [...browser.cookies].map((each) => each.join("=")).join("; ");
      const answer = await fetch(`${service.url}/deliveries/events`, { headers: { cookie } });
      const reader = (answer.body ?? new ReadableStream()).pipeThrough(new TextDecoderStream())
        .getReader();
      const again = async () => await browser.get("deliveries", { "x-console-refresh": "1" });
      await reader.read();
      for (const body of ["one", "two"]) {
        await again();
        const id = await send(trigger.url, body, { ...signature(body), "x-id": body });
        let told = "";
        while (!told.includes("data: ")) told = (await reader.read()).value ?? "";
        assertStringIncludes((await again()).text, `row-${id}`);
      }
      await reader.cancel();
    },
  );
});

Deno.test("before anything has come, the list says what to do", async () => {
  await using service = await startService();
  const { text } = await (await loggedIn(service)).get("deliveries");
  assertStringIncludes(text, "Nothing has arrived yet");
});

Deno.test("a run that failed is told in the list, on its page, in a replay and on the overview", async () => {
  await using service = await startService();
  const { id, url } = await service.trigger({
    name: "broken",
    actions: [{ type: "run_execution", step: "none" }],
    response: { type: "text", text: "{run_id}" },
  });
  const runId = await (await fetch(url, { method: "POST", body: "{}" })).text();
  await endOfRun(service, runId);
  const browser = await loggedIn(service);
  for (const address of ["deliveries", `deliveries/${runId}`]) {
    assertMatch(textOf(await browser.get(address)), /✓ accepted .*run ✕ error/, address);
  }
  assertMatch(textOf(await browser.get("")), /broken : 1 run failed in the last 24 hours/);
  const { body } = await service.api("GET", `triggers/${id}/activity/`);
  assertEquals(body.hours.at(-1).failed_runs, 1);
  const replay = await service.api("POST", "replays/", { filter: { trigger: "broken" } });
  await eventually(async () => {
    const text = textOf(await browser.get(`replays/${replay.body.id}`));
    const isOver = text.includes("✓ complete 1 of 1");
    return isOver && text.match(/run ✕ error/g)?.length === 2 || undefined;
  });
});
