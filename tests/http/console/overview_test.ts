/** The overview and the settings in the console. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { ADMIN_TOKEN, startService } from "../../data.ts";
import { loggedIn, textOf } from "./fixture.ts";
import { fillSample } from "./sample.ts";

Deno.test("the overview says what needs attention, and counts the last 24 hours", async (t) => {
  await using service = await startService();
  const first = textOf(await (await loggedIn(service)).get(""));
  assertStringIncludes(first, "There is no trigger yet");
  assertStringIncludes(first, "hooklaunch apply hooklaunch.yaml");
  const { triggers } = await fillSample(service);
  const browser = await loggedIn(service);
  await t.step("as counted", async () => {
    const { text } = await browser.get("");
    assertMatch(textOf({ text }), /payments : 2 of 3 deliveries were refused in the last 24 hours/);
    assertMatch(textOf({ text }), /payments : 1 execution failed in the last 24 hours/);
    assertStringIncludes(text, 'href="deliveries?trigger=payments&amp;outcome=refused"');
    assertStringIncludes(text, 'aria-label="2 accepted, 1 filtered, 1 refused in 24 hours"');
  });
  await t.step("after a restart", async () => {
    await service.restart();
    const again = await loggedIn(service);
    const { text } = await again.get("");
    assertStringIncludes(text, 'aria-label="2 accepted, 1 filtered, 1 refused in 24 hours"');
    assertMatch(textOf({ text }), /payments : 1 execution failed/);
  });
  await t.step("by the API", async () => {
    service.service.parts.deliveryCounts.note(triggers.payments.id, "pipeline_error");
    const { body } = await service.api("GET", `triggers/${triggers.payments.id}/activity/`);
    assertEquals(body.hours.length, 24);
    const { from: _from, ...last } = body.hours.at(-1);
    assertEquals(last, { deliveries: { accepted: 1, refused: 2 }, failed_executions: 1 });
    assertEquals((await service.api("GET", "triggers/none/activity/")).status, 404);
    const { text } = await (await loggedIn(service)).get("");
    assertMatch(textOf({ text }), /payments : 1 pipeline failed in the last 24 hours \. /);
  });
  await t.step("a limited token sees its own trigger alone", async () => {
    const settings = { name: "limited", scope: "read", triggers: ["labels"] };
    const { body } = await service.api("POST", "tokens/", settings);
    const limited = await loggedIn(service, body.token);
    const seen = await limited.get("");
    assertEquals(seen.status, 200);
    const text = textOf(seen);
    assert(text.includes("labels") && !text.includes("payments"), text);
    assert(!text.includes("is limited to"), text);
    assertEquals((await limited.get("settings")).status, 403);
  });
});

Deno.test("settings without which less works are on the first page, and nothing dismisses them", async () => {
  const text = "The variable X is not set: less works";
  const notes = [{ text, since_ms: Date.now() }];
  await using service = await startService({ settings: { notes } });
  const browser = await loggedIn(service);
  assertStringIncludes(textOf(await browser.get("")), text);
  await service.trigger();
  const { body } = await service.api("GET", "attention/?group=setup&code=setting_missing");
  assertEquals(body.results.map((cause: { text: string }) => cause.text), [text]);
  assertEquals((await service.api("GET", "attention/?dismissed=true")).body.results, []);
  for (const address of ["", "attention"]) {
    const seen = await browser.get(address);
    assertStringIncludes(textOf(seen), text, address);
    assert(!seen.text.includes(`/${body.results[0].id}/dismiss`), address);
  }
});

Deno.test("the settings are shown, and no secret is", async () => {
  await using service = await startService({ settings: { secretKey: "ab".repeat(32) } });
  const text = textOf(await (await loggedIn(service)).get("settings"));
  assertMatch(text, /--retention-days 30 .* HOOKLAUNCH_ADMIN_TOKEN set HOOKLAUNCH_SECRET_KEY set/);
  assert(!text.includes(ADMIN_TOKEN) && !text.includes("abab"), text);
});

Deno.test("each entry of the navigation opens, whatever the token may do", async (t) => {
  await using service = await startService();
  const { labels } = (await fillSample(service)).triggers;
  const tokens = {
    reader: { scope: "read" },
    "of a trigger": { scope: "operate", triggers: ["labels"] },
    "of a project": { scope: "operate", projects: ["files"] },
  };
  for (const [name, settings] of Object.entries(tokens)) {
    await t.step(name, async () => {
      const made = { name: name.replaceAll(" ", "-"), ...settings };
      const { body } = await service.api("POST", "tokens/", made);
      const browser = await loggedIn(service, body.token);
      const { text } = await browser.get("");
      const [nav = ""] = /<nav .*?<\/nav>/s.exec(text) ?? [];
      const links = [...nav.matchAll(/href="([^"]*)"/g)].map(([, address = ""]) => address);
      assert(links.length > 6 && !links.includes("access"), nav);
      for (const address of [...links, "projects/files", `triggers/${labels.id}`]) {
        const isOther = address.startsWith("projects/") && "triggers" in settings;
        if (!isOther) assertEquals((await browser.get(address)).status, 200, address);
      }
    });
  }
});

Deno.test("the overview checks more triggers than a page has", async () => {
  await using service = await startService();
  const browser = await loggedIn(service);
  for (let made = 0; made < 51; made++) await service.trigger({ name: `t-${made}` });
  const { text } = await browser.get("");
  assertStringIncludes(textOf({ text }), "51 warnings about how triggers are set up");
  const [, next = ""] = /href="([^"]+)" rel="next"/.exec(text) ?? [];
  const [, last = ""] = /href="triggers\/[^"]+">([^<]+)</.exec((await browser.get(next)).text) ??
    [];
  assertEquals(last, "t-50");
  const settings = { name: "limited", scope: "read", triggers: [last] };
  const { body } = await service.api("POST", "tokens/", settings);
  const limited = textOf(await (await loggedIn(service, body.token)).get(""));
  assert(!limited.includes("There is no trigger yet"), limited);
  assertStringIncludes(limited, "1 warning about how triggers are set up");
});

Deno.test("of more causes than fit, the overview shows some, and says so", async () => {
  await using service = await startService();
  const browser = await loggedIn(service);
  // 200 are looked for.
  for (let made = 0; made < 100; made++) {
    const header = { type: "static_token", in: "header", secrets: ["{env:NOT_SET}"] };
    const conditions = [{ ...header, name: "x" }, {
      type: "payload_filter",
      expression: "headers['X'] == ''",
    }];
    await service.trigger({ name: `t-${made}`, conditions });
  }
  assert(!textOf(await browser.get("")).includes("More causes"));
  await service.trigger({ name: "one-more" });
  const { text } = await browser.get("");
  assertStringIncludes(textOf({ text }), "200 warnings about how triggers are set up");
  assertStringIncludes(text, '<a href="attention">More causes</a>');
  const { text: all } = await browser.get("attention");
  const [, next = ""] = /href="([^"]+)" rel="next"/.exec(all) ?? [];
  assertStringIncludes(textOf(await browser.get(next.replaceAll("&amp;", "&"))), "one-more");
});
