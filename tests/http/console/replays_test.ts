/** Bulk replays in the console: counted first, launched by a second click, followed, stopped. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { eventually, startService } from "../../data.ts";
import { loggedIn, textOf } from "./fixture.ts";
import { fillSample, push } from "./sample.ts";

Deno.test("the deliveries that a filter finds are counted, and launched again", async (t) => {
  await using service = await startService();
  const { triggers } = await fillSample(service);
  const browser = await loggedIn(service);
  for (const id of ["a", "b"]) await push(triggers.retrain.url, "main", id);
  const csrf = await browser.csrf();
  await t.step("they are counted, and nothing is launched", async () => {
    const list = await browser.get("deliveries?trigger=retrain");
    assertStringIncludes(list.text, 'href="replays/new?trigger=retrain"');
    const asked = await browser.get("replays/new?trigger=retrain");
    assertMatch(textOf(asked), /Launch 3 deliveries again .* outcome accepted, trigger retrain/);
    assertEquals((await service.api("GET", "replays/")).body.results, []);
    const { body } = await service.api("GET", "audit/?operation=createReplay");
    assertEquals(body.results, [], "a count changes nothing");
  });
  await t.step("of very many some are counted, and all when that is asked for", async () => {
    const quiet = await service.trigger({ name: "quiet", actions: [{ type: "fetch_repository" }] });
    const numbers = Array.from({ length: 201 }, (_, number) => String(number));
    await Promise.all(numbers.map((number) => push(quiet.url, "main", number)));
    const asked = await browser.get("replays/new?trigger=quiet");
    assertMatch(textOf(asked), /Launch at least 200 deliveries again .* Count them all/);
    const all = await browser.get("replays/new?trigger=quiet&count_all=yes");
    assertMatch(textOf(all), /Launch 201 deliveries again/);
    const dry = { filter: { trigger: "quiet" }, dry_run: true, briefly: true };
    const { body } = await service.api("POST", "replays/", dry);
    assertEquals(body, { state: "dry_run", count: 200, has_more: true });
  });
  await t.step("a replay of all", async () => {
    const { headers } = await browser.post("replays", {
      csrf,
      filter_trigger: "retrain",
      rate: "100",
    });
    const address = headers.get("location")?.slice(1) ?? "";
    const seen = await eventually(async () => {
      const page = await browser.get(address);
      return page.text.includes("data-refresh") ? undefined : textOf(page);
    });
    assertMatch(seen, /✓ complete 3 of 3 Begun .* Launched 3 Left out 0 Failed 0/);
    assertEquals(seen.match(/✓ accepted/g)?.length, 6, seen);
    assertMatch(textOf(await browser.get("replays")), /✓ complete 3 with trigger retrain 3 0/);
  });
  await t.step("one that is stopped", async () => {
    const { headers } = await browser.post("replays", {
      csrf,
      filter_trigger: "retrain",
      rate: "0.1",
    });
    const address = headers.get("location")?.slice(1) ?? "";
    assertMatch(textOf(await browser.get(address)), /Leave out the last \d ▸ running/);
    assertEquals((await browser.post(`${address}/stop`, { csrf })).status, 303);
    assertMatch(textOf(await browser.get(address)), /– stopped/);
  });
  await t.step("a mistake keeps what was typed", async () => {
    const fields = { csrf, filter_trigger: "retrain", rate: "-1", commit: "c0ffee" };
    const { status, text } = await browser.post("replays", fields);
    assertEquals(status, 422);
    assertStringIncludes(text, 'value="c0ffee"');
    assertStringIncludes(text, 'name="filter_trigger" value="retrain"');
  });
  await t.step("a token that may only read does not get there", async () => {
    const { body } = await service.api("POST", "tokens/", { name: "reader", scope: "read" });
    const reader = await loggedIn(service, body.token);
    assert(!(await reader.get("deliveries?trigger=retrain")).text.includes("replays/new"));
    assertEquals((await reader.get("replays/new?trigger=retrain")).status, 403);
  });
});

Deno.test("the page of a replay that ends while it is made has all its results", async () => {
  await using service = await startService();
  const { url } = await service.trigger({ actions: [{ type: "fetch_repository" }] });
  for (const id of ["a", "b"]) await push(url, "main", id);
  const browser = await loggedIn(service);
  const { acceptor, store: { kv } } = service.service.parts;
  const accept = acceptor.accept.bind(acceptor);
  const shown = Promise.withResolvers<void>();
  acceptor.accept = (launch) => shown.promise.then(() => accept(launch));
  const { body: { id } } = await service.api("POST", "replays/", { filter: {}, rate: 100 });
  const get = kv.get.bind(kv);
  const whenDone = () =>
    eventually(async () => {
      const { body } = await service.api("GET", `replays/${id}/`);
      return body.state === "running" ? undefined : true;
    });
  // The page's first look at the replay is answered when that has ended.
  kv.get = async (key, options) => {
    if (key[0] === "replay") {
      kv.get = get;
      shown.resolve();
      await whenDone();
    }
    return await get(key, options);
  };
  const page = await browser.get(`replays/${id}`);
  assertEquals(kv.get, get);
  const rows = (text: string) => text.match(/<tr\b/g)?.length;
  assertEquals(rows(page.text), rows((await browser.get(`replays/${id}`)).text));
  assertMatch(textOf(page), /2 of 2/);
});
