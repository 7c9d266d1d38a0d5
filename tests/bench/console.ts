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
  const found = await browser.get(`deliveries?delivery_id=${deliveryIdOf(1)}`);
  const [, id = ""] = /href="deliveries\/([^"]+)"/.exec(found.text) ?? [];
  for (const [what, address] of pages(id)) {
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

/** The pages, by what they are. */
function pages(deliveryId: string): [what: string, address: string][] {
  return [
    ["overview", ""],
    ["deliveries", "deliveries"],
    ["deliveries of a busy trigger", `deliveries?trigger=${triggerId(0)}`],
    ["deliveries that were refused", "deliveries?outcome=refused"],
    ["deliveries with a text that is rare", "deliveries?text=needle"],
    ["one delivery", `deliveries/${deliveryId}`],
    ["access", "access"],
    ["settings", "settings"],
  ];
}
