/** Listening to a trigger: each delivery comes once, with its request as it came. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import type { ShownDelivery } from "../../../src/http/api/delivery_views.ts";
import type { ListenedDelivery } from "../../../src/http/api/listen_stream.ts";
import { newId } from "../../../src/platform/ids.ts";
import { Listeners } from "../../../src/triggers/listeners.ts";
import { HMAC_CONDITION, signature, startService, TestClock } from "../../data.ts";
import { type Followed, followPath } from "./fixture.ts";

const ACTIONS = [{ type: "run_execution", step: "echo" }];
/** A body that is not valid UTF-8. */
const BYTES = Uint8Array.from({ length: 300_000 }, (_, index) => index * 7 % 256);

async function nextOf(followed: Followed): Promise<ListenedDelivery> {
  const event = await followed.next();
  assert(event !== undefined, "the stream has ended");
  const listened: ListenedDelivery = JSON.parse(event.data);
  assertEquals([event.event, event.id], ["message", listened.delivery.id]);
  return listened;
}

function headerOf({ headers }: ListenedDelivery, name: string): string | undefined {
  return headers.find(([each]) => each === name)?.[1];
}

Deno.test("who listens to a trigger gets each request as it came, whatever came of it", async (t) => {
  // All comes within one window of 15 s, however slow the machine is.
  const clock = new TestClock(Date.now());
  await using service = await startService({ clock });
  const { id, url } = await service.trigger({
    conditions: [HMAC_CONDITION, { type: "deduplication", in: "header", name: "x-id" }],
    actions: ACTIONS,
    response: { type: "text", text: "{run_id}" },
  });
  const at = `${service.url}/api/v0/triggers/${id}/listen/`;
  const post = async (body: BodyInit, headers: Record<string, string>, query = "") => {
    const answer = await fetch(url + query, { method: "POST", body, headers });
    const text = await answer.text();
    clock.time_ms++;
    return { status: answer.status, text };
  };
  const unheard = await post("before", { ...signature("before"), "x-id": "0" });
  await using all = await followPath(at, {}, {});
  await using refused = await followPath(at, {}, { outcome: "refused" });

  const CASES: [
    what: string,
    body: string | Uint8Array,
    headers: Record<string, string>,
    status: number,
  ][] = [
    ["accepted", BYTES, { ...signature(BYTES), "x-id": "1", "content-type": "x/y" }, 200],
    ["repeat", BYTES, { ...signature(BYTES), "x-id": "1" }, 200],
    ["refused", "changed", { ...signature("as it was"), "x-id": "2" }, 400],
    // Its head is enough to refuse it.
    ["refused", "unsigned", { authorization: "Bearer of-nobody", "x-id": "3" }, 400],
    ["accepted", "", { ...signature(""), "x-id": "4" }, 200],
  ];
  const seen: ListenedDelivery[] = [];
  for (const [what, body, headers, status] of CASES) {
    await t.step(`${what}, ${body.length} bytes`, async () => {
      const sent = await post(body.slice(), headers, "?a=1&token=not-masked");
      assertEquals(sent.status, status);
      const listened = await nextOf(all);
      seen.push(listened);
      assertEquals(listened.delivery.outcome, what);
      assertEquals([listened.exact, listened.method], [true, "POST"]);
      assertEquals(listened.query, "a=1&token=not-masked");
      for (const [name, value] of Object.entries(headers)) {
        assertEquals(headerOf(listened, name.toLowerCase()), value);
      }
      const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
      assert(Uint8Array.fromBase64(listened.body ?? "none").every((each, i) => each === bytes[i]));
      assertEquals(listened.delivery.size, bytes.length);
    });
  }
  await t.step("a filter", async () => {
    assertEquals((await nextOf(refused)).delivery.id, seen[2]?.delivery.id);
    assertEquals((await nextOf(refused)).delivery.id, seen[3]?.delivery.id);
  });
  await t.step("past ones come as they are stored where nobody listened", async () => {
    await using past = await followPath(at, {}, { from: "2026-01-31T12:00:00Z" });
    const first = await nextOf(past);
    assertEquals([first.delivery.id, first.exact], [unheard.text, false]);
    assertEquals(Uint8Array.fromBase64(first.body ?? ""), new TextEncoder().encode("before"));
    assertEquals(headerOf(first, "x-signature"), undefined);
    for (const listened of seen) assertEquals(requestOf(await nextOf(past)), requestOf(listened));
  });
  await t.step("behind a delivery, and after a lost connection", async () => {
    const [first, second] = seen.map(({ delivery }) => delivery.id);
    assert(first !== undefined && second !== undefined);
    await using behind = await followPath(at, {}, { after: first });
    assertEquals((await nextOf(behind)).delivery.id, second);
    // What came within 15 s before comes again: the client knows it.
    await using again = await followPath(at, { "last-event-id": second }, {});
    const ids = [(await nextOf(again)).delivery.id, (await nextOf(again)).delivery.id];
    assertEquals(ids, [unheard.text, first]);
  });
  await t.step("the audit log tells who has listened", async () => {
    const { body: { results } } = await service.api("GET", "audit/?operation=listenToTrigger");
    const [, behind, past, refused] = results;
    assertEquals(behind.path, `/triggers/${id}/listen/`);
    assertEquals(behind.changes, [{ pointer: "/after", after: seen[0]?.delivery.id }]);
    assertEquals(past.changes, [{ pointer: "/from", after: "2026-01-31T12:00:00Z" }]);
    assertEquals(refused.changes, [{ pointer: "/outcome", after: "refused" }]);
    assertEquals(refused.author, { name: "HOOKLAUNCH_ADMIN_TOKEN" });
  });
  await t.step("who may listen", async () => {
    const other = await service.trigger({ actions: ACTIONS });
    const TOKENS: [settings: object, status: number][] = [
      [{ scope: "read" }, 403],
      [{ scope: "operate", triggers: [other.id] }, 403],
      [{ scope: "operate", triggers: [id] }, 200],
      [{ scope: "operate" }, 200],
    ];
    for (const [index, [settings, status]] of TOKENS.entries()) {
      const { body: { token } } = await service.api("POST", "tokens/", {
        name: `listener-${index}`,
        ...settings,
      });
      await using followed = await followPath(at, { authorization: `Bearer ${token}` }, {});
      assertEquals(followed.response.status, status, JSON.stringify(settings));
    }
    const { body: { token } } = await service.api("POST", "tokens/", {
      name: "listener",
      scope: "operate",
    });
    // A request with the trigger's own token would tell it.
    const secret = "a-token-that-is-long-enough";
    const told = await service.trigger({
      conditions: [{ type: "static_token", in: "header", name: "X-Token", secrets: [secret] }],
      actions: ACTIONS,
    });
    for (
      const [by, exact] of [[{}, true], [{ authorization: `Bearer ${token}` }, false]] as const
    ) {
      const of = at.replace(id, told.id);
      await using followed = await followPath(of, by, { from: "2026-01-31T12:00:00Z" });
      if (exact) {
        const sent = { method: "POST", body: "told", headers: { "x-token": secret } };
        await (await fetch(told.url, sent)).body?.cancel();
      }
      const listened = await nextOf(followed);
      assertEquals([listened.exact, JSON.stringify(listened).includes(secret)], [exact, exact]);
      assertEquals(Uint8Array.fromBase64(listened.body ?? ""), new TextEncoder().encode("told"));
    }
    await using none = await followPath(at.replace(id, newId(0)), {}, {});
    assertEquals(none.response.status, 404);
    await using wrong = await followPath(at, {}, { since: "2h" });
    assertMatch(await wrong.response.text(), /"pointer":"\/since"/);
    assertEquals(wrong.response.status, 422);
  });
});

Deno.test("streams show what their token may see now, also once the trigger has changed", async () => {
  await using service = await startService();
  const [mine, second] = [
    await service.trigger({ name: "mine", actions: ACTIONS }),
    await service.trigger({ name: "second", actions: ACTIONS }),
  ];
  const by = async (settings: { name: string; triggers?: string[] }) => {
    const { body } = await service.api("POST", "tokens/", { scope: "operate", ...settings });
    return { authorization: `Bearer ${body.token}` };
  };
  const limited = await by({ name: "limited", triggers: ["mine", "second"] });
  const at = `${service.url}/api/v0/triggers/${mine.id}/listen/`;
  await using all = await followPath(at, await by({ name: "all" }), {});
  await using own = await followPath(at, limited, {});
  await using list = await followPath(`${service.url}/api/v0/deliveries/?follow`, limited);
  const secret = "a-token-that-is-long-enough";
  const post = async (url: string) => {
    const sent = { method: "POST", body: "{}", headers: { "x-token": secret } };
    const answer = await fetch(url, sent);
    assertEquals(answer.status, 200, await answer.text());
  };
  const deliveryIn = async (followed: Followed): Promise<ShownDelivery> =>
    JSON.parse((await followed.next())?.data ?? "null");
  await post(mine.url);
  assertEquals([(await nextOf(all)).exact, (await nextOf(own)).exact], [true, true]);
  assertEquals((await deliveryIn(list)).trigger_id, mine.id);

  const conditions = [
    { type: "static_token", in: "header", name: "X-Token", secrets: [secret] },
  ];
  const path = `triggers/${mine.id}/`;
  assertEquals((await service.api("PATCH", path, { conditions })).status, 200);
  await post(mine.url);
  for (const followed of [all, own]) {
    const listened = await nextOf(followed);
    assertEquals([listened.exact, JSON.stringify(listened).includes(secret)], [false, false]);
  }

  assertEquals((await service.api("PATCH", path, { name: "of others" })).status, 200);
  await post(mine.url);
  const { delivery } = await nextOf(all);
  assertEquals(delivery.trigger, "of others");
  assertEquals(await own.next(), undefined);
  await post(second.url);
  const listed: ShownDelivery[] = [];
  while (listed.at(-1)?.trigger_id !== second.id) listed.push(await deliveryIn(list));
  assert(!listed.some(({ id }) => id === delivery.id), "it is of a trigger of others");
});

Deno.test("of many at once each comes once, with its request", async () => {
  await using service = await startService();
  const { id, url } = await service.trigger({
    actions: ACTIONS,
    response: { type: "text", text: "{run_id}" },
  });
  await using followed = await followPath(`${service.url}/api/v0/triggers/${id}/listen/`, {}, {});
  const post = async () => await (await fetch(url, { method: "POST", body: BYTES })).text();
  const sent = [];
  for (let round = 0; round < 5; round++) {
    sent.push(...await Promise.all(Array.from({ length: 20 }, post)));
  }
  const got: string[] = [];
  while (got.length < sent.length) {
    const { delivery, exact } = await nextOf(followed);
    assert(exact);
    got.push(delivery.id);
  }
  assertEquals(new Set(got), new Set(sent));
  assertEquals(got.length, new Set(got).size);
});

Deno.test("requests are held while someone listens, a minute longer, and within the limit of their bytes", () => {
  let timers: { left_ms: number; call: () => void }[] = [];
  const pass = (time_ms: number) => {
    for (const timer of timers) timer.left_ms -= time_ms;
    for (const { left_ms, call } of timers) if (left_ms <= 0) call();
    timers = timers.filter(({ left_ms }) => left_ms > 0);
  };
  const after = (left_ms: number, call: () => void) => {
    const timer = { left_ms, call };
    timers.push(timer);
    return () => void (timers = timers.filter((each) => each !== timer));
  };
  const listeners = new Listeners({ after }, 100_000);
  const request = (size: number) => ({
    method: "POST",
    target: "/",
    headers: new Headers(),
    body: new Uint8Array(size),
  });
  assertEquals(listeners.copy("a", request(1)), undefined);
  let told = 0;
  const end = listeners.listen("a", () => told++);
  for (const id of ["1", "2", "3"]) listeners.copy("a", request(30_000))?.(id);
  assertEquals(["1", "2", "3"].map((id) => listeners.held(id)?.body.length), [
    undefined,
    30_000,
    30_000,
  ]);
  assertEquals([told, listeners.copy("a", request(100_000))], [3, undefined]);
  end();
  pass(59_999);
  assert(listeners.has("a") && listeners.held("3"));
  const again = listeners.listen("a", () => {});
  pass(60_000);
  assert(listeners.held("3"), "someone listens again");
  again();
  pass(60_000);
  assertEquals([listeners.has("a"), listeners.held("3")], [false, undefined]);
});

function requestOf({ delivery: _, ...request }: ListenedDelivery) {
  return request;
}
