/**
 * A sender among many others, in a process of its own, so that what it measures is the service and not
 * the crowd that floods it. Launches every few milliseconds.
 *
 * Arguments: the port, the path, milliseconds. Prints a {@linkcode Probed} as JSON.
 *
 * @module
 */
import { pause } from "./findings.ts";
import { Sender } from "./senders.ts";

const INTERVAL_MS = 20;
const NONE = { status: 0, headers: new Map<string, string>() };

/** How long the answers took, in milliseconds. */
export interface Probed {
  taken: number[];
  refused: number[];
  /** How many answers were neither 200 nor 503 with Retry-After. */
  others: number;
}

if (import.meta.main) {
  const [port = "", path = "", duration_ms = ""] = Deno.args;
  console.log(JSON.stringify(await probe(Number(port), path, Number(duration_ms))));
}

async function probe(port: number, path: string, duration_ms: number): Promise<Probed> {
  const probed: Probed = { taken: [], refused: [], others: 0 };
  using sender = new Sender(() => port);
  await sender.open();
  const until_ms = performance.now() + duration_ms;
  while (performance.now() < until_ms) {
    const sent_ms = performance.now();
    const outcome = await sender.post(path, new TextEncoder().encode("{}"));
    const took_ms = performance.now() - sent_ms;
    const { status, headers } = typeof outcome === "string" ? NONE : outcome;
    if (status === 200) probed.taken.push(took_ms);
    else if (status === 503 && headers.has("retry-after")) probed.refused.push(took_ms);
    else probed.others++;
    await pause(INTERVAL_MS);
  }
  return probed;
}
