/**
 * The console's pages, where a million deliveries and 10,000 triggers are stored: the time and the size of each.
 *
 * @module
 */
import { Browser } from "../http/console/fixture.ts";
import type { Bench } from "./bench.ts";
import { quantile } from "./measuring.ts";
import { deliveryIdOf } from "./prefill.ts";
import { OPERATORS_TOKEN, triggerId } from "./requests.ts";
import { serverOn } from "./servers.ts";
import { below } from "./table.ts";

const AIM_MS = 50;
const AIM_KB = 100;
const TRIES = 30;

/** Measures pages on a data folder with many deliveries. */
export async function measureConsole(bench: Bench): Promise<void> {
  await using server = await serverOn(bench, "service", "deliveries");
  const browser = new Browser(`http://127.0.0.1:${server.port}`);
  await browser.logIn(OPERATORS_TOKEN);
  for (const [what, address] of await consolePages(browser)) {
    const times_ms: number[] = [];
    let bytes = 0;
    for (let count = 0; count <= TRIES; count++) {
      const began_ms = performance.now();
      const { status, text } = await browser.get(address);
      if (status !== 200) throw new Error(`${address} answered ${status}: ${text}`);
      // The first loads what it needs.
      if (count > 0) times_ms.push(performance.now() - began_ms);
      bytes = text.length;
    }
    bench.add(below(AIM_MS, {
      what,
      value: quantile(times_ms, 0.5),
      unit: "ms",
      detail: `p95 ${quantile(times_ms, 0.95).toFixed(1)} ms`,
    }));
    bench.add(below(AIM_KB, { what: `${what}: size`, value: bytes / 1_000, unit: "kB" }));
  }
}

/** The addresses of the pages, by what they are. */
export async function consolePages(browser: Browser): Promise<[what: string, address: string][]> {
  const found = await browser.get(`deliveries?delivery_id=${deliveryIdOf(1)}`);
  const [, delivery = ""] = /href="deliveries\/([^"]+)"/.exec(found.text) ?? [];
  const { text } = await browser.get(`deliveries/${delivery}`);
  const [, execution = ""] = /href="executions\/([^"]+)"/.exec(text) ?? [];
  const trigger = `trigger-${triggerId(0)}`;
  return [
    ["overview", ""],
    ["deliveries", "deliveries"],
    ["deliveries of a busy trigger", `deliveries?trigger=${triggerId(0)}`],
    ["deliveries that were refused", "deliveries?outcome=refused"],
    ["deliveries with a text that is rare", "deliveries?text=needle"],
    ["one delivery", `deliveries/${delivery}`],
    ["replays", "replays"],
    ["the form of a replay", `replays/new?trigger=${trigger}`],
    ["triggers", "triggers"],
    ["a page in the middle of the triggers", `triggers?cursor=${triggerId(5_000)}`],
    ["a trigger by its name", `triggers?name=${trigger}`],
    ["a busy trigger", `triggers/${trigger}`],
    ["the form of a trigger", `triggers/${trigger}/edit`],
    ["the form of a new trigger", "triggers/new"],
    ["executions", "executions"],
    ["executions of a busy trigger", `executions?trigger=${trigger}`],
    ["executions that failed: none", "executions?status=error"],
    ["one execution", `executions/${execution}`],
    ["pipelines: none", "pipelines"],
    ["projects", "projects"],
    ["a project", "projects/bench"],
    ["engines", "engines"],
    ["instances", "instances"],
    ["access", "access"],
    ["settings", "settings"],
    ["documentation", "docs/pipelines/"],
  ];
}
