/** The page of one delivery: its story, the doctor, replays. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { endOfExecution, endOfRun, eventually, HMAC_CONDITION, startService } from "../../data.ts";
import { startReceiver } from "../receiver.ts";
import { type Browser, loggedIn, textOf } from "./fixture.ts";
import { fillSample, push } from "./sample.ts";

async function press(browser: Browser, address: string, fields: Record<string, string> = {}) {
  return await browser.post(address, { csrf: await browser.csrf(), ...fields });
}

Deno.test("a delivery is told from its arrival to its work, diagnosed, and launched again", async (t) => {
  await using service = await startService();
  const { deliveries, triggers } = await fillSample(service);
  const browser = await loggedIn(service);
  await t.step("one that completed", async () => {
    const seen = await browser.get(`deliveries/${deliveries.completed}`);
    const text = textOf(seen);
    assertMatch(
      text,
      /Arrived .* hmac ✓ passed payload_filter ✓ passed deduplication ✓ passed rate_limit ✓ passed Response .* 200\. Run ✓ complete .* All its work: ✓ complete .*run_execution retrain ✓ complete/,
    );
    assertStringIncludes(text, "x-github-event: push");
    assertStringIncludes(text, "Add labels");
    assert(!text.includes("sha256="), "credentials are masked");
    assert(!seen.text.includes('id="story" data-refresh'), "nothing of it changes any more");
  });
  await t.step("one whose execution failed", async () => {
    const text = textOf(await browser.get(`deliveries/${deliveries.failed}`));
    assertMatch(text, /✓ accepted export ✕ error .* run_execution export ✕ error/);
  });
  await t.step("one that was refused, and why", async () => {
    const address = `deliveries/${deliveries.refused}`;
    const text = textOf(await browser.get(address));
    assertMatch(text, /hmac ✕ failed Header X-Hub-Signature-256 holds a wrong signature/);
    assertMatch(text, /payload_filter – not reached/);
    const diagnosed = await press(browser, `${address}/diagnose`);
    assertEquals(diagnosed.status, 200);
    assertStringIncludes(textOf(diagnosed), "What the doctor says");
    assertMatch(textOf(diagnosed), /(possible|likely|matches) [A-Z][^.]+/);
    const again = await press(browser, `${address}/replay`);
    assertEquals(again.status, 409);
    assertStringIncludes(textOf(again), "hmac");
  });
  await t.step("a replay, with the same bytes and with others", async () => {
    const address = `deliveries/${deliveries.completed}/replay`;
    const { body: stored } = (await service.api("GET", `deliveries/${deliveries.completed}/`)).body;
    const launch = async (fields: Record<string, string>) => {
      const { headers, status, text } = await press(browser, address, fields);
      assertEquals(status, 303, text);
      const [, id = ""] = /\/deliveries\/(.+)$/.exec(headers.get("location") ?? "") ?? [];
      await endOfRun(service, id);
      return { id, ...(await service.api("GET", `deliveries/${id}/`)).body };
    };
    const same = await launch({});
    assertEquals([same.body, same.replay_of], [stored, deliveries.completed]);
    const asTyped = await launch({ body: atob(stored).replaceAll("\n", "\r\n") });
    assertEquals(asTyped.body, stored);
    const other = await launch({ body: "one\r\ntwo" });
    assertEquals(atob(other.body), "one\ntwo");
    const noticed = await browser.get(`deliveries/${other.id}`);
    assertStringIncludes(textOf(noticed), "Launched again: this is the new delivery");
    const later = textOf(await browser.get(`deliveries/${other.id}`));
    assert(!later.includes("this is the new delivery"), "it is said once");
    assertMatch(
      textOf(await browser.get(`deliveries/${deliveries.completed}`)),
      /Replay .* ago|now/,
    );
  });
  await t.step("a replay that is refused keeps what was typed", async () => {
    const fields = { body: "typed </textarea><b>", commit: "c".repeat(300) };
    const seen = await press(browser, `deliveries/${deliveries.completed}/replay`, fields);
    assertEquals(seen.status, 422);
    assertStringIncludes(seen.text, `value="${fields.commit}"`);
    assertStringIncludes(seen.text, "typed &lt;/textarea&gt;&lt;b&gt;");
  });
  await t.step("the body as a file", async () => {
    const { headers, text } = await browser.get(`deliveries/${deliveries.refused}/body`);
    assertEquals(text, '{"ref":"refs/heads/main"}');
    assertEquals(headers.get("content-type"), "application/octet-stream");
    assertMatch(headers.get("content-disposition") ?? "", /^attachment/);
  });
  await t.step("a token that may only read has no buttons, and sends nothing again", async () => {
    const { body } = await service.api("POST", "tokens/", { name: "reader", scope: "read" });
    const reader = await loggedIn(service, body.token);
    const { text } = await reader.get(`deliveries/${deliveries.completed}`);
    assert(!text.includes("/replay"), text);
    const csrf = /name="csrf" value="([^"]+)"/.exec(text)?.[1] ?? "";
    const sent = await reader.post(`deliveries/${deliveries.completed}/replay`, { csrf });
    assertEquals(sent.status, 403);
    assertStringIncludes(textOf(sent), "needs a token with the scope &quot;operate&quot;");
  });
  await t.step("while its work goes on, the page looks again", async () => {
    const slow = await service.trigger({
      name: "slow",
      actions: [{ type: "run_execution", step: "retrain", payload_input_name: "labels" }],
      response: { type: "text", text: "{run_id}" },
    });
    const id = await (await fetch(slow.url, { method: "POST", body: "{}" })).text();
    const { text } = await browser.get(`deliveries/${id}`);
    assertMatch(text, /id="story"[^>]* data-refresh="2"/);
    await endOfRun(service, id);
  });
  await t.step("none of this id", async () => {
    assertEquals((await browser.get("deliveries/none")).status, 404);
  });
  await push(triggers.retrain.url, "main", "last");
});

Deno.test("a request that is not kept says how to keep the next", async () => {
  await using service = await startService();
  const { url } = await service.trigger({
    conditions: [HMAC_CONDITION],
  });
  await (await fetch(url, { method: "POST", body: "{}" })).body?.cancel();
  const { body: { results: [{ id }] } } = await service.api("GET", "deliveries/");
  const seen = await (await loggedIn(service)).get(`deliveries/${id}`);
  assertStringIncludes(seen.text, "keep_refused: 24h");
  assert(!seen.text.includes("/diagnose"));
});

Deno.test("a delivery is looked at until its callback has been sent, which follows the end of its work", async () => {
  await using service = await startService();
  await using receiver = startReceiver();
  const goOn = Promise.withResolvers<void>();
  using stack = new DisposableStack();
  stack.defer(() => goOn.resolve());
  receiver.on("/done", () => goOn.promise.then(() => new Response()));
  const address = `http://127.0.0.1:${receiver.port}/done`;
  const { url } = await service.trigger({
    actions: [{ type: "fetch_repository" }],
    callback: { url: "{body.to}", allow: [address], private_networks: true },
    response: { type: "text", text: "{run_id}" },
  });
  const browser = await loggedIn(service);
  const id = await (await fetch(url, { method: "POST", body: JSON.stringify({ to: address }) }))
    .text();
  await receiver.arrived("/done", 1);
  assertEquals((await endOfRun(service, id)).status, "completed");
  assertMatch((await browser.get(`deliveries/${id}`)).text, /id="sent" data-refresh="\d+"/);
  goOn.resolve();
  const last = await eventually(async () => {
    const { text } = await browser.get(`deliveries/${id}`);
    return text.includes("data-refresh") ? undefined : text;
  });
  assertStringIncludes(last, address);
});

Deno.test("the page of a delivery is looked at again while a replay of it waits", async () => {
  await using service = await startService();
  const { url } = await service.trigger({
    delay: "timestamp(body.run_at)",
    response: { type: "text", text: "{run_id}" },
  });
  const run =
    await (await fetch(url, { method: "POST", body: '{"run_at":"2020-01-01T00:00:00Z"}' })).text();
  const { actions: [{ created }] } = await endOfRun(service, run);
  await endOfExecution(service, created.execution_id);
  const browser = await loggedIn(service);
  const isLookedAt = async () =>
    /<section id="story"[^>]*data-refresh="2"/.test((await browser.get(`deliveries/${run}`)).text);
  assertEquals(await isLookedAt(), false);
  const body = btoa('{"run_at":"2100-01-01T00:00:00Z"}');
  const replay = await service.api("POST", `deliveries/${run}/replay/`, { body });
  assertEquals([replay.status, replay.body.status], [201, "pending"]);
  assertEquals(await isLookedAt(), true);
});
