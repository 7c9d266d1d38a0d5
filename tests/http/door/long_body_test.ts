/** Fields of a long body are read in the Worker: the answers are those to a short one. */
import { assertEquals } from "@std/assert";
import { HMAC_CONDITION, signature, startService } from "../../data.ts";
import { TestClock } from "../../surroundings.ts";
import { play, REJECTED } from "../scenario.ts";

const LONG = new Array(60_000).fill(1);
const TOKEN = { type: "static_token", in: "body", name: "/auth/token", secrets: ["let-me-in"] };
const TIME = { type: "timestamp", in: "body", name: "sent", format: "unix_s", tolerance: 300 };
const DELIVERY = { type: "deduplication", in: "body", name: "/event/id" };
const EACH = {
  type: "static_token",
  in: "body",
  each: "/value",
  name: "clientState",
  secrets: ["let-me-in"],
};
const NAMES = Object.fromEntries(Array.from({ length: 2_000 }, (_, i) => [`name${i}`, i]));

Deno.test("fields of a long body are found, missed and compared as those of a short one", async (t) => {
  // Its time stands still: reasons tell it.
  const clock = new TestClock(Date.now());
  await using service = await startService({ clock });
  const trigger = await service.trigger({
    conditions: [TOKEN, TIME, DELIVERY],
    response: { type: "text", text: "{run_id}" },
  });
  const path = new URL(trigger.url).pathname;
  const sent = Math.floor(clock.now() / 1_000);
  const right = { auth: { token: "let-me-in" }, sent, event: { id: "e" } };
  const wrong: [name: string, parts: Record<string, unknown>][] = [
    ["another token", { auth: { token: "let-me-out" } }],
    ["a token that is a number", { auth: { token: 5 } }],
    ["a token that is a list", { auth: { token: ["let-me-in"] } }],
    ["no token", { auth: {} }],
    ["no object of the token", { auth: null }],
    ["an old time", { sent: sent - 1_000 }],
    ["no time", { sent: undefined }],
    ["an id that is an object", { event: { id: {} } }],
    ["an id that is too long", { event: { id: "x".repeat(70_000) } }],
    ["an id that is not exact", { event: { id: 2 ** 70 } }],
  ];
  const reasonOf = async (body: Record<string, unknown>) => {
    await play(service.url, {
      name: "refused",
      path,
      body: JSON.stringify(body),
      expectedStatus: 400,
      expectedBody: REJECTED,
    });
    const { body: log } = await service.api("GET", `triggers/${trigger.id}/log/?limit=1`);
    const { condition, reason } = log.results[0];
    return { condition, reason };
  };
  for (const [name, parts] of wrong) {
    await t.step(name, async () => {
      const short = await reasonOf({ ...right, ...parts });
      assertEquals(await reasonOf({ ...right, ...parts, list: LONG }), short);
      assertEquals(await reasonOf({ ...right, ...parts, ...NAMES }), short);
    });
  }
  await t.step("accepted, and a repeat is told", async () => {
    const send = async (body: unknown) => {
      const answer = await fetch(trigger.url, { method: "POST", body: JSON.stringify(body) });
      return [answer.status, await answer.text()];
    };
    const first = await send({ ...right, list: LONG });
    assertEquals(first[0], 200);
    assertEquals(await send({ ...right, list: LONG }), first);
    assertEquals(await send(right), first);
    const { body } = await service.api("GET", `triggers/${trigger.id}/runs/`);
    assertEquals(body.results.length, 1);
  });
  await t.step("a token in each element of a list", async () => {
    const { url } = await service.trigger({ conditions: [EACH] });
    const send = async (states: string[], expectedStatus: number) => {
      const value = states.map((clientState) => ({ clientState, resource: "x" }));
      const body = JSON.stringify({ value, list: LONG });
      await play(service.url, { name: "each", path: new URL(url).pathname, body, expectedStatus });
    };
    await send(Array(10).fill("let-me-in"), 200);
    await send([...Array(9).fill("let-me-in"), "let-me-out"], 400);
    await send([], 400);
    await send(Array(1_001).fill("let-me-in"), 400);
  });
  await t.step("a form", async () => {
    const { url } = await service.trigger({ conditions: [{ ...TOKEN, name: "token" }] });
    for (const [token, expectedStatus] of [["let-me-in", 200], ["let-me-out", 400]] as const) {
      const fields = [["token", token], ...LONG.map((_, i) => [`f${i}`, "1"])];
      await play(service.url, {
        name: "form",
        path: new URL(url).pathname,
        headers: { "content-type": "application/x-www-form-urlencoded" },
        body: new URLSearchParams(fields).toString(),
        expectedStatus,
      });
    }
  });
  await t.step("a filter beside it sees the whole body", async () => {
    const filter = { type: "payload_filter", expression: "size(body.list) == 60000" };
    const { url } = await service.trigger({ conditions: [TOKEN, filter] });
    const body = JSON.stringify({ ...right, list: LONG });
    await play(service.url, {
      name: "filter",
      path: new URL(url).pathname,
      body,
      expectedStatus: 200,
    });
  });
  await t.step("a signature is checked without it", async () => {
    const { url } = await service.trigger({ conditions: [HMAC_CONDITION] });
    const body = JSON.stringify({ list: LONG });
    await play(service.url, {
      name: "signed",
      path: new URL(url).pathname,
      headers: signature(body),
      body,
      expectedStatus: 200,
    });
  });
});
