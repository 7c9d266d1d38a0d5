/**
 * Accepted launches with large payloads.
 *
 * @module
 */
import type { Bench } from "./bench.ts";
import { bareCommits, type LaunchKind, launchLoad } from "./launch.ts";
import { inTurn } from "./measuring.ts";
import { type Server, serverOn } from "./servers.ts";
import { atLeast } from "./table.ts";

const KIB = 1_024;
const MIB = 1_024 * KIB;

/** The payloads of the table. */
export const LARGE_PAYLOADS = [
  { text: "64 KiB", payload_bytes: 64 * KIB },
  { text: "1 MiB", payload_bytes: MIB },
];

/** Measures launches with large payloads against writing as many bytes. */
export async function measurePayloads(bench: Bench): Promise<void> {
  for (const { text, payload_bytes } of LARGE_PAYLOADS) {
    const found = await inTurn(bench.rounds, {
      floor: async () => ({
        mib: await bareCommits(bench, kindOf(payload_bytes)) * payload_bytes / MIB,
      }),
      service: async () => {
        await using server = await serverOn(bench, "service", "empty");
        return { mib: await payloadMib(bench, server, payload_bytes) };
      },
    });
    bench.add(atLeast(0.6, {
      what: `accepted payloads of ${text}, 32 connections`,
      value: found.service.mib,
      unit: "MiB/s",
      floor: found.floor.mib,
      floor_what: "raw writes of the same chunks in group commits",
    }));
  }
}

/** MiB a second of accepted payloads. */
export async function payloadMib(
  bench: Bench,
  server: Server,
  payload_bytes: number,
): Promise<number> {
  const { per_second } = await launchLoad(bench, server, kindOf(payload_bytes));
  return per_second * payload_bytes / MIB;
}

function kindOf(payload_bytes: number): LaunchKind {
  return { connections: 32, triggers: 1, payload_bytes };
}
