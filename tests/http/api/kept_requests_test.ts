/** Refused requests that a trigger keeps: shown without credentials, within limits, and for their time alone. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import {
  type ApiAnswer,
  eventually,
  HMAC_CONDITION,
  signature,
  startService,
  TestClock,
  type TestService,
} from "../../data.ts";

type Json = ApiAnswer["body"];

const ECHO = [{ type: "run_execution", step: "echo" }];
const TOKEN = {
  type: "static_token",
  in: "header",
  name: "X-Token",
  secrets: ["the-right-token-of-all"],
};

async function send(
  url: string,
  body: string | Uint8Array<ArrayBuffer>,
  headers: Record<string, string> = {},
): Promise<number> {
  const answer = await fetch(url, { method: "POST", body, headers });
  await answer.body?.cancel();
  return answer.status;
}

/** Waits until the newest delivery is found, kept or not as expected, and reads it. */
function newest(service: TestService, isKept: boolean, query = ""): Promise<Json> {
  return eventually(async () => {
    const { body: { results } } = await service.api("GET", `deliveries/?limit=1${query}`);
    if (results.length === 0) return undefined;
    const { body } = await service.api("GET", `deliveries/${results[0].id}/`);
    return (body.kept_until !== undefined) === isKept ? body : undefined;
  }, { what: "the delivery" });
}

/** Searches all deliveries for a text, of which a page comes to as many as can be read in 40 ms. */
async function search(service: TestService, text: string): Promise<Json[]> {
  const found: Json[] = [];
  let path: string | undefined = `deliveries/?text=${text}&limit=200`;
  while (path) {
    const { body }: ApiAnswer = await service.api("GET", path);
    found.push(...body.results);
    path = body.next?.replace(/^.*\/api\/v0\//, "");
  }
  return found;
}

function textOf({ body }: Json): string {
  return new TextDecoder().decode(Uint8Array.fromBase64(body));
}

Deno.test("a trigger keeps what it refuses, and no answer shows the credentials", async (t) => {
  await using service = await startService();
  const conditions = [HMAC_CONDITION, { type: "payload_filter", expression: "body.a == 1" }];
  const trigger: Json = await service.trigger({ conditions, actions: ECHO, keep_refused: "24h" });
  assertEquals(trigger.keep_refused, "24h");
  const wrong = signature('{"a":1,"fruit":"plum"}', "another secret");

  await t.step("a wrong signature", async () => {
    assertEquals(await send(`${trigger.url}?token=s3same`, '{"a":1,"fruit":"plum"}', wrong), 400);
    const found = await newest(service, true);
    assertEquals(textOf(found), '{"a":1,"fruit":"plum"}');
    assertEquals([found.outcome, found.headers["x-signature"], found.query], [
      "refused",
      "********",
      "token=********",
    ]);
    const left_ms = Date.parse(found.kept_until) - Date.now();
    assert(Math.abs(left_ms - 24 * 3_600_000) < 60_000, found.kept_until);
    const { body: log } = await service.api("GET", `triggers/${trigger.id}/log/`);
    for (const secret of [wrong["x-signature"] ?? "", "s3same"]) {
      assert(!JSON.stringify([found, log]).includes(secret));
    }
  });
  await t.step("what a filter refuses", async () => {
    await send(trigger.url, '{"a":2}', signature('{"a":2}'));
    const found = await newest(service, true, "&outcome=filtered");
    assertEquals(textOf(found), '{"a":2}');
  });
  await t.step(
    "a request without credentials, whose body would not be read otherwise",
    async () => {
      await send(trigger.url, '{"a":3}');
      assertEquals(textOf(await newest(service, true)), '{"a":3}');
    },
  );
  await t.step("a long body", async () => {
    const body = crypto.getRandomValues(new Uint8Array(65_000));
    const long = new Uint8Array(1024 * 1024);
    for (let at = 0; at < long.length; at += body.length) {
      long.set(body.subarray(0, long.length - at), at);
    }
    await send(trigger.url, long, wrong);
    const found = await eventually(async () => {
      const delivery = await newest(service, true);
      return delivery.size === long.length ? delivery : undefined;
    }, { what: "the long one" });
    assert(Uint8Array.fromBase64(found.body).every((byte, at) => byte === long[at]));
    await send(trigger.url, new Uint8Array(1024 * 1024 + 1), wrong);
    assertEquals((await newest(service, false)).body, undefined);
  });
  await t.step("a text in a kept body finds it", async () => {
    const found = await search(service, "plum");
    assertEquals(found.map(({ outcome }: Json) => outcome), ["refused"]);
  });
  await t.step("after a restart", async () => {
    await service.restart();
    const found = await newest(service, true, "&outcome=filtered");
    assertEquals(textOf(found), '{"a":2}');
  });
  await t.step("a trigger that keeps nothing", async () => {
    await service.api("PATCH", `triggers/${trigger.id}/`, { keep_refused: null });
    const { body: { url } } = await service.api("GET", `triggers/${trigger.id}/`);
    await send(url, '{"a":4}', wrong);
    assertEquals((await newest(service, false)).body, undefined);
  });
});

Deno.test("the stored head is encrypted", async () => {
  await using service = await startService();
  const { url } = await service.trigger({ conditions: [TOKEN], keep_refused: "1h" });
  await send(url, "{}", { "x-token": "a-token-that-somebody-sent" });
  await newest(service, true);
  const { store } = service.service.parts;
  const stored = await Array.fromAsync(store.kv.list<unknown>({ prefix: [] }));
  assert(!JSON.stringify(stored).includes("a-token-that-somebody-sent"));
  assert(stored.some(({ key }) => key[0] === "kept_head"));
});

Deno.test("the oldest of a trigger make room, and all go with the trigger", async () => {
  const clock = new TestClock();
  await using service = await startService({ clock });
  const { id, url } = await service.trigger({ conditions: [TOKEN], keep_refused: "1d" });
  for (let sent = 0; sent < 105; sent++) {
    // Of one minute, a trigger's log holds 60 refusals.
    if (sent === 55) clock.time_ms += 60_000;
    await send(url, `body ${sent}`, { "x-token": "wrong" });
  }
  const { kv } = service.service.parts.store;
  // What made room is removed with its body.
  await eventually(async () => {
    const bodies = await Array.fromAsync(kv.list({ prefix: ["payload"] }));
    return bodies.length === 100 && (await search(service, "body")).length === 100;
  }, { what: "100 bodies" });
  assertEquals(textOf(await newest(service, true)), "body 104");
  await service.api("DELETE", `triggers/${id}/`);
  for (const kind of ["kept", "kept_head", "payload"]) {
    assertEquals(await Array.fromAsync(kv.list({ prefix: [kind] })), [], kind);
  }
});

Deno.test("a kept request is removed after its time", async () => {
  const clock = new TestClock();
  await using service = await startService({ clock });
  const { url } = await service.trigger({ conditions: [TOKEN], keep_refused: "30m" });
  await send(url, "{}");
  const { id } = await newest(service, true);
  clock.time_ms += 31 * 60_000;
  assertEquals((await service.api("GET", `deliveries/${id}/`)).body.kept_until, undefined);
  service.service.sweep();
  const { kv } = service.service.parts.store;
  await eventually(async () => {
    const left = await Array.fromAsync(kv.list({ prefix: ["kept"] }));
    return left.length === 0 || undefined;
  }, { what: "the removal" });
  assertEquals(await Array.fromAsync(kv.list({ prefix: ["payload"] })), []);
});

Deno.test("only a time may be written", async (t) => {
  await using service = await startService();
  const { id } = await service.trigger();
  for (const keep_refused of ["24", "1w", "31d", "0h", "", 24, "1000000m"]) {
    await t.step(String(keep_refused), async () => {
      const { status, body } = await service.api("PATCH", `triggers/${id}/`, { keep_refused });
      assertEquals([status, body.errors?.[0].pointer], [422, "/keep_refused"]);
    });
  }
  const { body } = await service.api("PATCH", `triggers/${id}/`, { keep_refused: "1w" });
  assertStringIncludes(body.errors[0].detail, "24h");
});
