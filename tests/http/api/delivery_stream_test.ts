/** Following the deliveries as server-sent events, over real HTTP. */
import { assert, assertEquals } from "@std/assert";
import { newId } from "../../../src/platform/ids.ts";
import { entryWrites } from "../../../src/store/records/trigger_log_entries.ts";
import {
  type ApiAnswer,
  endOfExecution,
  endOfRun,
  HMAC_CONDITION,
  signature,
  startService,
} from "../../data.ts";
import { type Followed, followPath } from "./fixture.ts";

type Json = ApiAnswer["body"];

const RESPONSE = { type: "text", text: "{run_id}" };
const ECHO = [{ type: "run_execution", step: "echo" }];

async function nextDelivery(followed: Followed): Promise<Json> {
  const event = await followed.next();
  assert(event !== undefined, "the stream has ended");
  const delivery = JSON.parse(event.data);
  assertEquals([event.event, event.id], ["message", delivery.id]);
  return delivery;
}

async function post(url: string, headers: Record<string, string> = {}): Promise<string> {
  return await (await fetch(url, { method: "POST", body: "a", headers })).text();
}

Deno.test("each new delivery that a filter wants is an event, and comes again when its execution ends", async () => {
  await using service = await startService();
  const first = await service.trigger({
    name: "first",
    conditions: [HMAC_CONDITION],
    actions: ECHO,
    response: RESPONSE,
  });
  const second = await service.trigger({ name: "second", actions: ECHO });
  const { actions } = await endOfRun(service, await post(first.url, signature("a")));
  await endOfExecution(service, actions[0]?.created?.execution_id);
  const at = `${service.url}/api/v0/deliveries/?follow`;
  await using all = await followPath(at);
  await using refused = await followPath(`${at}&outcome=refused`);
  assertEquals(all.response.headers.get("content-type"), "text/event-stream");

  const runId = await post(first.url, signature("a"));
  let accepted = await nextDelivery(all);
  assertEquals([accepted.id, accepted.outcome, accepted.trigger], [runId, "accepted", "first"]);
  while (accepted.executions[0]?.status !== "complete") {
    accepted = await nextDelivery(all);
    assertEquals(accepted.id, runId);
  }
  await post(first.url);
  const { id, outcome } = await nextDelivery(all);
  assertEquals(outcome, "refused");
  assertEquals((await nextDelivery(refused)).id, id);
  await post(second.url);
  assertEquals((await nextDelivery(all)).trigger, "second");
});

Deno.test("what came before a stream began is an event when it changes, also after a reconnection", async () => {
  await using service = await startService();
  const { url } = await service.trigger({
    name: "long",
    actions: [{ type: "run_execution", step: "slow" }],
    response: RESPONSE,
  });
  const runId = await post(url);
  const { execution_id } = (await endOfRun(service, runId)).actions[0]?.created ?? {};
  const at = `${service.url}/api/v0/deliveries/?follow&trigger=long`;
  await using first = await followPath(at);
  await using resumed = await followPath(at, { "last-event-id": runId });
  // Both have read once then.
  const later = await post(url);
  for (const followed of [first, resumed]) assertEquals((await nextDelivery(followed)).id, later);
  await service.api("POST", `executions/${execution_id}/stop/`);
  for (const followed of [first, resumed]) {
    let changed;
    do changed = await nextDelivery(followed); while (
      changed.id !== runId || changed.executions[0]?.status !== "stopped"
    );
  }
});

Deno.test("a stream of changes alone tells of new deliveries, whichever", async () => {
  await using service = await startService();
  const { url, id } = await service.trigger({ actions: ECHO, response: RESPONSE });
  const at = `${service.url}/api/v0/deliveries/?follow&only_changes`;
  await using all = await followPath(at);
  await post(url);
  const event = await all.next();
  assertEquals([event?.event, event?.id, event?.data], ["message", "", "{}"]);
  // A limited token sees the deliveries of its own triggers alone.
  const settings = { name: "limited", scope: "read", triggers: [id] };
  const { body } = await service.api("POST", "tokens/", settings);
  await using limited = await followPath(at, { authorization: `Bearer ${body.token}` });
  const runId = await post(url);
  assertEquals((await nextDelivery(limited)).id, runId);
});

Deno.test("a stream that is resumed has what came meanwhile, once", async () => {
  await using service = await startService();
  const { url } = await service.trigger({ conditions: [HMAC_CONDITION] });
  const at = `${service.url}/api/v0/deliveries/?follow`;
  let last: string;
  {
    await using followed = await followPath(at);
    await post(url);
    last = (await nextDelivery(followed)).id;
  }
  await post(url);
  await post(url);
  await using again = await followPath(at, { "last-event-id": last });
  const ids = [(await nextDelivery(again)).id, (await nextDelivery(again)).id];
  const { body: { results } } = await service.api("GET", "deliveries/");
  assertEquals(ids, results.map(({ id }: Json) => id).slice(0, 2).reverse());
});

Deno.test("more than are sent at once are a gap, of which the newest come", async () => {
  await using service = await startService();
  const { id: triggerId } = await service.trigger();
  const before = newId(Date.now());
  const request = { method: "POST", remote_ip: "192.0.2.7", headers: {} };
  const { committer } = service.service.parts.store;
  for (let index = 0; index < 210; index++) {
    const id = newId(Date.now());
    const time = new Date().toISOString();
    const refused = { kind: "refused" as const, condition: "hmac", reason: "no", request };
    await committer.write(entryWrites(triggerId, { id, time, ...refused }));
  }
  const at = `${service.url}/api/v0/deliveries/?follow`;
  await using followed = await followPath(at, { "last-event-id": before });
  assertEquals((await followed.next())?.event, "gap");
  const ids = [];
  for (let count = 0; count < 200; count++) ids.push((await nextDelivery(followed)).id);
  assertEquals(ids, ids.toSorted());
  const { body: { results: [newest] } } = await service.api("GET", "deliveries/");
  assertEquals(ids.at(-1), newest.id);
});

Deno.test("a gap tells a limited token no id of another trigger", async () => {
  await using service = await startService();
  await service.trigger({ name: "mine" });
  const { id: other } = await service.trigger({ name: "other" });
  const settings = { name: "limited", scope: "read", triggers: ["mine"] };
  const { body: { token } } = await service.api("POST", "tokens/", settings);
  const before = newId(Date.now());
  const request = { method: "POST", remote_ip: "192.0.2.7", headers: {} };
  for (let index = 0; index < 3; index++) {
    const id = newId(Date.now());
    const time = new Date().toISOString();
    const refused = { kind: "refused" as const, condition: "hmac", reason: "no", request };
    const { committer } = service.service.parts.store;
    await committer.write(entryWrites(other, { id, time, ...refused }));
  }
  const headers = { "last-event-id": before, authorization: `Bearer ${token}` };
  const at = `${service.url}/api/v0/deliveries/?follow&limit=2`;
  await using followed = await followPath(at, headers);
  const { event, id } = await followed.next() ?? {};
  assertEquals([event, id], ["gap", before]);
});

Deno.test("a limited token follows the deliveries of its triggers alone, until it is revoked", async () => {
  await using service = await startService();
  const mine = await service.trigger({ name: "mine", conditions: [HMAC_CONDITION] });
  const other = await service.trigger({ name: "other", conditions: [HMAC_CONDITION] });
  const { body: { id, token } } = await service.api("POST", "tokens/", {
    name: "ci",
    scope: "read",
    triggers: ["mine"],
  });
  const headers = { authorization: `Bearer ${token}` };
  const at = `${service.url}/api/v0/deliveries/`;
  await using followed = await followPath(`${at}?follow`, headers);
  await post(other.url);
  await post(mine.url);
  const { trigger, id: delivery } = await nextDelivery(followed);
  assertEquals(trigger, "mine");

  const listed = await (await fetch(at, { headers })).json();
  assertEquals(listed.results.map((each: Json) => each.trigger), ["mine"]);
  const { body: { results } } = await service.api("GET", "deliveries/?trigger=other");
  const refused = await fetch(`${at}${results[0].id}/`, { headers });
  assertEquals([refused.status, (await refused.json()).status], [403, 403]);
  const own = await fetch(`${at}${delivery}/`, { headers });
  assertEquals([own.status, (await own.json()).trigger], [200, "mine"]);

  await service.api("DELETE", `tokens/${id}/`);
  await post(mine.url);
  assertEquals(await followed.next(), undefined);
});

Deno.test("what cannot be followed is refused", async () => {
  await using service = await startService();
  const at = `${service.url}/api/v0/deliveries/?follow`;
  for (const [query, headers] of [["&outcome=lost", {}], ["", { "last-event-id": "x" }]] as const) {
    const followed = await followPath(at + query, headers);
    assertEquals(followed.response.status, 422);
    await followed.response.body?.cancel();
  }
  const head = await fetch(at, {
    method: "HEAD",
    headers: { authorization: `Bearer ${"an-operators-token-for-tests"}` },
  });
  assertEquals(head.headers.get("content-type"), "text/event-stream");
});
