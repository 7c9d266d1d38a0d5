/**
 * Growth: the figures again where much is stored, against the same where next to nothing is.
 *
 * @module
 */
import type { Bench, Stock } from "./bench.ts";
import { kindText, LAUNCH_KINDS, launchLoad, stockOf } from "./launch.ts";
import { inTurn, quantile } from "./measuring.ts";
import { LARGE_PAYLOADS, payloadMib } from "./payloads.ts";
import { pollLoad, POLLS } from "./polls.ts";
import { refusedLoad } from "./refused.ts";
import { sustained } from "./runs.ts";
import { idleStarts } from "./start.ts";
import { atLeast, atMost } from "./table.ts";

/** A figure that can be measured on any data folder. */
interface Figure {
  what: string;
  unit: string;
  /** Where next to nothing is stored, if that is not the empty data folder. */
  little?: Stock;
  /** Whether less of it is better. */
  isTime?: boolean;
  measure(bench: Bench, stock: Stock): Promise<number>;
}

const SHARE = 0.85;

const figures: readonly Figure[] = [
  ...LAUNCH_KINDS.map((kind): Figure => ({
    what: `launches, ${kindText(kind)}`,
    unit: "/s",
    little: stockOf(kind),
    measure: async (bench, stock) => (await launchLoad(bench, "service", stock, kind)).per_second,
  })),
  ...LARGE_PAYLOADS.map(({ text, payload_bytes }): Figure => ({
    what: `payloads of ${text}`,
    unit: "MiB/s",
    measure: (bench, stock) => payloadMib(bench, stock, payload_bytes),
  })),
  {
    what: "refused requests",
    unit: "/s",
    measure: async (bench, stock) => (await refusedLoad(bench, stock)).per_second,
  },
  ...POLLS.map(({ text, request }): Figure => ({
    what: `run info ${text}`,
    unit: "/s",
    measure: async (bench, stock) =>
      (await pollLoad(bench, stock, { request, whileLaunching: false })).per_second,
  })),
  {
    what: "acceptance to command started, idle, p50",
    unit: "ms",
    isTime: true,
    measure: async (bench, stock) => quantile(await idleStarts(bench, stock), 0.5),
  },
  {
    what: "runs completed",
    unit: "/s",
    measure: async (bench, stock) => (await sustained(bench, stock)).ended,
  },
];

/** Measures all figures on a full data folder and on an empty one. */
export async function measureGrowth(bench: Bench): Promise<void> {
  for (const { what, unit, little = "empty", isTime = false, measure } of figures) {
    // Once each: the copies of the full data folder take longer than what is measured on them.
    const { before, after } = await inTurn(1, {
      before: async () => ({ value: await measure(bench, little) }),
      after: async () => ({ value: await measure(bench, "full") }),
    });
    const held = {
      what: `full: ${what}`,
      value: after.value,
      unit,
      floor: before.value,
      floor_what: "the same, empty",
    };
    bench.add(isTime ? atMost(1 / SHARE, held) : atLeast(SHARE, held));
  }
}
