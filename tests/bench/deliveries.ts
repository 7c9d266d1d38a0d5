/**
 * Lists of deliveries, where a million are stored: each filter, and each page of a search that no index
 * serves.
 *
 * @module
 */
import type { Bench } from "./bench.ts";
import { quantile } from "./measuring.ts";
import { BUSY_TRIGGERS, deliveryIdOf, RARE_TEXT } from "./prefill.ts";
import { OPERATORS_TOKEN, triggerId } from "./requests.ts";
import { serverOn } from "./servers.ts";
import { below } from "./table.ts";

/** Milliseconds from the request to the whole answer, over a connection that is there already. */
const AIM_MS = 50;
const TRIES = 30;
/** Pages that are read of a search that no index serves. */
const PAGES = 60;
const DAY_MS = 24 * 60 * 60_000;

interface Page {
  results: { id: string }[];
  next: string | null;
  scanned_to?: string;
}

/** Measures lists and filters on a data folder with many deliveries. */
export async function measureDeliveries(bench: Bench): Promise<void> {
  await using server = await serverOn(bench, "service", "deliveries");
  await measureLists(bench, server.port, bench.runs);
}

/** Measures lists and filters of a service with so many deliveries, and further paths. */
export async function measureLists(
  bench: Bench,
  port: number,
  deliveries: number,
  more: readonly [what: string, path: string][] = [],
): Promise<void> {
  const url = `http://127.0.0.1:${port}/api/v0/`;
  const oldId = await idOf(url, deliveryIdOf(1));
  for (const [what, path] of [...paths(deliveries, oldId), ...more]) {
    const times_ms: number[] = [];
    let page: Page | undefined;
    for (let count = 0; count <= TRIES; count++) {
      const began_ms = performance.now();
      page = await (await ask(url + path)).json();
      // The first loads what it needs.
      if (count > 0) times_ms.push(performance.now() - began_ms);
    }
    bench.add(below(AIM_MS, {
      what,
      value: quantile(times_ms, 0.5),
      unit: "ms",
      detail: `p95 ${quantile(times_ms, 0.95).toFixed(1)} ms, ${foundText(page)}`,
    }));
  }
  for (const [what, path] of searches()) bench.add(await searched(url, what, path));
}

/** Finds a delivery by its sender's id: on a busy machine a page may end before it is found. */
async function idOf(url: string, deliveryId: string): Promise<string> {
  let next: string | null = `${url}deliveries/?limit=1&delivery_id=${deliveryId}`;
  while (next !== null) {
    const page: Page = await (await ask(next)).json();
    const [found] = page.results;
    if (found) return found.id;
    next = page.next;
  }
  throw new Error(`There is no delivery ${deliveryId}`);
}

/** The lists that are asked for, by what they are. */
function paths(deliveries: number, oldId: string): [what: string, path: string][] {
  const busy = triggerId(0);
  const quiet = triggerId(BUSY_TRIGGERS + 3);
  const time = (days: number) => new Date(Date.now() - days * DAY_MS).toISOString();
  const middle = `from=${time(151)}&to=${time(150)}`;
  const lists: [string, string][] = [
    ["all, newest", "limit=50"],
    ["all, 200 of them", "limit=200"],
    ["all, from the middle on", `to=${time(150)}`],
    ["a day in the middle", middle],
    ["a busy trigger", `trigger=${busy}`],
    ["a quiet trigger", `trigger=${quiet}`],
    ["a trigger by its name", `trigger=trigger-${quiet}`],
    ["accepted", "outcome=accepted"],
    ["refused", "outcome=refused"],
    ["filtered", "outcome=filtered"],
    ["repeats", "outcome=repeat"],
    ["unavailable: none", "outcome=unavailable"],
    ["refused by a common condition", "condition=hmac"],
    ["refused by a rare condition", "condition=ip_allowlist"],
    ["refused, of a busy trigger", `trigger=${busy}&outcome=refused`],
    ["a condition, of a quiet trigger", `trigger=${quiet}&condition=payload_filter`],
    ["a rare condition, of a busy trigger", `trigger=${busy}&condition=ip_allowlist`],
    ["the sender's id", `delivery_id=${deliveryIdOf(Math.floor(deliveries / 3))}`],
    ["a sender's id that there is not", "delivery_id=evt_none"],
    ["a text in many bodies", "text=opened"],
    ["a text in the oldest bodies", `text=${encodeURIComponent(RARE_TEXT)}`],
    ["a text, of a busy trigger", `trigger=${busy}&text=needle`],
    ["a text, of a quiet trigger", `trigger=${quiet}&text=needle`],
    ["a text, of a day in the middle", `${middle}&text=needle`],
  ];
  return [
    ...lists.map(([what, query]): [string, string] => [what, `deliveries/?${query}`]),
    ["one delivery", `deliveries/${oldId}/`],
    ["the runs of all triggers", "runs/"],
    ["the runs of a busy trigger", `runs/?trigger=${busy}`],
    ["the log of a busy trigger", `triggers/${busy}/log/`],
  ];
}

/** Searches that no index serves: each page ends in time. */
function searches(): [what: string, path: string][] {
  return [
    ["each page of a search for a text", `deliveries/?text=${encodeURIComponent(RARE_TEXT)}`],
    ["each page of a search for a condition", "deliveries/?condition=ip_allowlist"],
    ["each page of a search for an outcome", "deliveries/?outcome=unavailable"],
    [
      "each page of the same in a trigger",
      `deliveries/?trigger=${triggerId(0)}&outcome=unavailable`,
    ],
  ];
}

/** Follows the pages of a search. */
async function searched(url: string, what: string, path: string) {
  const times_ms: number[] = [];
  let next: string | null = url + path;
  let cut = 0;
  while (next !== null && times_ms.length < PAGES) {
    const began_ms = performance.now();
    const page: Page = await (await ask(next)).json();
    times_ms.push(performance.now() - began_ms);
    if (page.scanned_to !== undefined) cut++;
    next = page.next;
  }
  return below(AIM_MS, {
    what,
    value: quantile(times_ms, 0.5),
    unit: "ms",
    detail:
      `p95 ${quantile(times_ms, 0.95).toFixed(1)} ms of ${times_ms.length} pages, ${cut} with ` +
      `scanned_to, ${next === null ? "to the end" : "not to the end"}`,
  });
}

function foundText(page: Page | undefined): string {
  if (page?.results === undefined) return "one";
  return `${page.results.length} found${page.scanned_to === undefined ? "" : ", cut short"}`;
}

async function ask(url: string): Promise<Response> {
  const answer = await fetch(url, { headers: { authorization: `Bearer ${OPERATORS_TOKEN}` } });
  if (answer.ok) return answer;
  throw new Error(`${url} answered ${answer.status}: ${await answer.text()}`);
}
