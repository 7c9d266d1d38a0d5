/**
 * Accepted launches of 1 KiB with a signature, a filter and a rate limit, each on disk before its 200.
 *
 * @module
 */
import { CONFIG_FLAGS } from "../surroundings.ts";
import type { Bench, Stock } from "./bench.ts";
import { inTurn } from "./measuring.ts";
import { launches, PAYLOAD_BYTES } from "./requests.ts";
import { measuredOn, type Server, startWebhook } from "./servers.ts";
import { atLeast } from "./table.ts";
import { type Load, underLoad } from "./wrk.ts";

/** Which launches. */
export interface LaunchKind {
  connections: number;
  triggers: number;
  payload_bytes?: number;
}

/** The launches of the table. */
export const LAUNCH_KINDS: readonly LaunchKind[] = [1, 1_000].flatMap((triggers) =>
  [32, 128].map((connections) => ({ connections, triggers }))
);

/** Measures launches against the same service without storing, bare commits, and adnanh/webhook. */
export async function measureLaunches(bench: Bench): Promise<void> {
  for (const kind of LAUNCH_KINDS) {
    const stock = stockOf(kind);
    const found = await inTurn(bench.rounds, {
      without_storing: () =>
        measuredOn([bench, "without_storing", stock], (server) => launchLoad(bench, server, kind)),
      commits: async () => ({ ...NO_LOAD, per_second: await bareCommits(bench, kind) }),
      service: () =>
        measuredOn([bench, "service", stock], (server) => launchLoad(bench, server, kind)),
      webhook: () => webhookLoad(bench, kind),
    });
    const { without_storing, commits, service, webhook } = found;
    const isCommits = commits.per_second < without_storing.per_second;
    const figure = { what: `accepted launches, ${kindText(kind)}`, unit: "/s" };
    bench.add(atLeast(0.75, {
      ...figure,
      value: service.per_second,
      floor: Math.min(commits.per_second, without_storing.per_second),
      floor_what: isCommits ? "bare group commits" : "the same without storing",
      detail: [
        times(service),
        isCommits
          ? `without storing ${Math.round(without_storing.per_second)}/s`
          : `bare group commits ${Math.round(commits.per_second)}/s`,
      ].join("; "),
    }));
    bench.add(atLeast(1, {
      ...figure,
      value: service.per_second,
      floor: webhook.per_second,
      floor_what: "adnanh/webhook with HMAC, which stores nothing",
      detail: times(webhook),
    }));
  }
}

/** Measures launches of one kind. */
export function launchLoad(
  bench: Bench,
  { port }: Server,
  { connections, triggers, payload_bytes }: LaunchKind,
): Promise<Load> {
  const requests = launches(triggers, payload_bytes);
  return underLoad(bench, "accepted", { port, connections, requests });
}

/** Launches a second of bare commits with the records of so many launches as there are connections. */
export async function bareCommits(
  bench: Bench,
  { connections, triggers, payload_bytes = PAYLOAD_BYTES }: LaunchKind,
): Promise<number> {
  const folder = await Deno.makeTempDir({ dir: bench.folder });
  const script = new URL("floor_kv.ts", import.meta.url).href;
  const numbers = [connections, triggers, payload_bytes, bench.seconds * 1_000].map(String);
  const child = bench.spawn(Deno.execPath(), {
    args: ["run", ...CONFIG_FLAGS, "--allow-all", script, folder, ...numbers],
    stdout: "piped",
  });
  const { success, stdout } = await child.output();
  await Deno.remove(folder, { recursive: true });
  if (!success) throw new Error("floor_kv.ts failed");
  return Number(new TextDecoder().decode(stdout));
}

/** The data folder that launches of one kind find, where nothing else is stored. */
export function stockOf({ triggers }: LaunchKind): Stock {
  return triggers === 1 ? "empty" : "triggers";
}

/** A kind of launches, in words. */
export function kindText({ connections, triggers }: LaunchKind): string {
  return `${connections} connections, ${triggers === 1 ? "1 trigger" : `${triggers} triggers`}`;
}

/** How long answers took. */
export function times({ p50_ms, p99_ms }: Load): string {
  return `p50 ${p50_ms.toFixed(1)} ms, p99 ${p99_ms.toFixed(1)} ms`;
}

const NO_LOAD: Load = { per_second: 0, p50_ms: 0, p99_ms: 0, refused: 0, failed: 0 };

async function webhookLoad(
  bench: Bench,
  { connections, triggers }: LaunchKind,
): Promise<Load> {
  await using server = await startWebhook(bench, triggers);
  return await launchLoad(bench, server, { connections, triggers });
}
