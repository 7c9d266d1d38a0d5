/** A filter that an attacker keeps busy takes nothing from other triggers, and its owner is told why. */
import { assert, assertEquals, assertGreater, assertLess } from "@std/assert";
import { serve } from "./served.ts";
import { workshop } from "./workshop.ts";

const LIGHT = "01900000-0000-7000-8000-000000000001";
const HEAVY = "01900000-0000-7000-8000-000000000002";
const OTHER_HEAVY = "01900000-0000-7000-8000-000000000003";
const PER_SECOND = 25;
/** So many at least, and until the attack was answered in both ways. */
const LIGHT_MIN = 100;
const LIGHT_MAX = 1_500;
const SENDERS = 12;
/** Evaluated in the thread that answers requests, half of the launches would take more than a second. */
const MEDIAN_MS_MAX = 250;
const MOST_MS_MAX = 1_000;

const expression = "body.list.all(x, body.list.exists(y, y > x))";

Deno.test("a filter under attack does not keep launches of other triggers waiting", async () => {
  const filtered = { conditions: [{ type: "payload_filter", expression }] };
  const actions = [{ type: "fetch_repository" }];
  await using shop = await workshop([
    { id: LIGHT, name: "light", actions },
    { id: HEAVY, name: "heavy", actions, ...filtered },
    { id: OTHER_HEAVY, name: "other", actions, ...filtered },
  ]);
  await using service = await serve(shop.folder);
  const urlOf = (id: string) => `${service.url}/api/v0/launch/${id}/`;
  const post = async (id: string, body: string, init: RequestInit = {}) => {
    const answer = await fetch(urlOf(id), { method: "POST", body, ...init });
    await answer.body?.cancel();
    return answer;
  };
  const numbers = `{"list":[${Array.from({ length: 900_000 }, (_, i) => i % 10)}]}`;
  const attack = new AbortController();
  const statuses = new Map<number, number>();
  const senders = Array.from({ length: SENDERS }, async () => {
    while (!attack.signal.aborted) {
      // What is under way in the end is not waited for.
      const answer = await post(HEAVY, numbers, attack).catch(() => undefined);
      if (answer === undefined) break;
      statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
      if (answer.status === 503) assertGreater(Number(answer.headers.get("retry-after")), 0);
    }
  });
  const times_ms: number[] = [];
  const isEnough = (sent: number) => sent >= LIGHT_MIN && statuses.size >= 2;
  for (let sent = 0; sent < LIGHT_MAX && !isEnough(sent); sent++) {
    const began_ms = performance.now();
    assertEquals((await post(LIGHT, '{"a":1}')).status, 200);
    const taken_ms = performance.now() - began_ms;
    times_ms.push(taken_ms);
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, 1_000 / PER_SECOND - taken_ms)));
  }
  // The other one's evaluations take turns with those of the attacked.
  const other = await post(OTHER_HEAVY, `{"list":[${Array.from({ length: 9_000 }, () => 1)},2,0]}`);
  assertEquals(other.status, 400);
  attack.abort();
  await Promise.all(senders);
  times_ms.sort((a, b) => a - b);
  assertLess(times_ms[Math.floor(times_ms.length / 2)] ?? 0, MEDIAN_MS_MAX);
  assertLess(times_ms[Math.floor(times_ms.length * 0.95)] ?? 0, MOST_MS_MAX);
  assertEquals([...statuses.keys()].sort(), [400, 503]);
  const { results } = await service.api(`triggers/${HEAVY}/log/`);
  const reasons = results.map(({ reason }: { reason?: string }) => reason);
  assert(reasons.includes("Payload filter failed: it took longer than 2000 ms"), `${reasons}`);
  assert(reasons.some((reason: string) => /^Answered 503: .*waited/.test(reason)), `${reasons}`);
});
