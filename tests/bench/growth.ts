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
import { type Server, type ServerMode, serverOn, settled } from "./servers.ts";
import { idleStarts } from "./start.ts";
import { atLeast, atMost } from "./table.ts";

/** A figure that can be measured on any data folder. */
interface Figure {
  what: string;
  unit: string;
  /** Where next to nothing is stored, if that is not the empty data folder. */
  little?: Stock;
  /** What it is measured on, if not the service with an engine that does nothing. */
  mode?: ServerMode;
  /** Whether less of it is better. */
  isTime?: boolean;
  /** How often at most it is measured in turn. */
  roundsMax?: number;
  measure(bench: Bench, server: Server): Promise<number>;
}

const SHARE = 0.85;
const SETTLED_WITHIN_MS = 60_000;

const figures: readonly Figure[] = [
  ...LAUNCH_KINDS.map((kind): Figure => ({
    what: `launches, ${kindText(kind)}`,
    unit: "/s",
    little: stockOf(kind),
    measure: async (bench, server) => (await launchLoad(bench, server, kind)).per_second,
  })),
  ...LARGE_PAYLOADS.map(({ text, payload_bytes }): Figure => ({
    what: `payloads of ${text}`,
    unit: "MiB/s",
    measure: (bench, server) => payloadMib(bench, server, payload_bytes),
  })),
  {
    what: "refused requests",
    unit: "/s",
    measure: async (bench, server) => (await refusedLoad(bench, server)).per_second,
  },
  ...POLLS.map(({ text, request }): Figure => ({
    what: `run info ${text}`,
    unit: "/s",
    measure: async (bench, server) => (await pollLoad(bench, server, request)).per_second,
  })),
  {
    what: "acceptance to command started, idle, p50",
    unit: "ms",
    mode: "real_engine",
    isTime: true,
    measure: async (_bench, server) => quantile(await idleStarts(server, 20), 0.5),
  },
  {
    what: "runs completed",
    unit: "/s",
    // It takes half a minute.
    roundsMax: 2,
    measure: async (bench, server) => (await sustained(bench, server)).ended,
  },
];

/** Measures all figures in turn on a full data folder and on an empty one. */
export async function measureGrowth(bench: Bench): Promise<void> {
  for (const figure of figures) {
    const { little = "empty", mode = "service", roundsMax = Infinity } = figure;
    // To copy the full data folder takes longer than what is measured on it, so both servers stay.
    await using before = await serverOn(bench, mode, little);
    await using after = await serverOn(bench, mode, "full");
    const measureOn = async (server: Server) => {
      const value = await figure.measure(bench, server);
      if (await settled(server.port, SETTLED_WITHIN_MS)) return { value };
      throw new Error(
        `${figure.what}: runs were still under way ${SETTLED_WITHIN_MS / 1_000} s later`,
      );
    };
    const found = await inTurn(Math.min(bench.rounds, roundsMax), {
      before: () => measureOn(before),
      after: () => measureOn(after),
    });
    const held = {
      what: `full: ${figure.what}`,
      value: found.after.value,
      unit: figure.unit,
      floor: found.before.value,
      floor_what: "the same, empty",
    };
    bench.add(figure.isTime ? atMost(1 / SHARE, held) : atLeast(SHARE, held));
  }
}
