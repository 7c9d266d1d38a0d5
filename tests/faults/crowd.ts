/**
 * Thousands of connections that say nothing, and of senders that send a byte now and then, beside
 * launches that must be answered as if they were alone.
 *
 * @module
 */
import { connectionsWithin } from "./connections.ts";
import { type Findings, pause } from "./findings.ts";
import { mib, times } from "./figures.ts";
import { Sender } from "./senders.ts";
import { serve } from "./served.ts";
import { workshop } from "./workshop.ts";

const ID = "01900000-0000-7000-8000-000000000001";
const LAUNCH = `/api/v0/launch/${ID}/`;
const HEAD = `POST ${LAUNCH} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n`;
/** One of so many connections is opened, and then others are let in. */
const BATCH = 100;
const RSS_BYTES_MAX = 1024 * 1024 * 1024;
const LATENCY_MS_MAX = 2_000;

/** How many there are. */
export interface CrowdSize {
  idle: number;
  slow: number;
  /** Launches beside them, one after the other. */
  launches: number;
}

/** Opens the connections, and launches beside them. */
export async function crowd(
  findings: Findings,
  { idle: wanted, slow, launches }: CrowdSize,
): Promise<void> {
  const idle = await connectionsWithin(wanted + slow, findings) - slow;
  await using shop = await workshop([{
    id: ID,
    name: "t",
    actions: [{ type: "fetch_repository" }],
  }]);
  await using served = await serve(shop.folder);
  const alone = await launchMany(findings, served.port, launches);
  const before_bytes = await served.rss_bytes();
  const connections: Deno.Conn[] = [];
  try {
    const encoder = new TextEncoder();
    for (let count = 0; count < idle + slow; count++) {
      const connection = await Deno.connect({ hostname: "127.0.0.1", port: served.port });
      connections.push(connection);
      if (count >= idle) await connection.write(encoder.encode(HEAD));
      if (count % BATCH === 0) await pause(1);
    }
    const dripping = setInterval(() => {
      for (const connection of connections.slice(idle)) {
        // One that is hung up on has nothing more to say.
        connection.write(encoder.encode("x")).catch(() => {});
      }
    }, 500);
    try {
      // Whether a sender is slow can only be told after a while.
      await pause(500);
      const beside = await launchMany(findings, served.port, launches);
      const rss_bytes = await served.rss_bytes();
      findings.say(`${idle} idle connections, ${slow} slow senders`);
      findings.say(`launches alone: ${times(alone)}`);
      findings.say(`launches beside them: ${times(beside)}`);
      findings.say(`memory: ${mib(before_bytes)} MiB, then ${mib(rss_bytes)} MiB`);
      findings.check(rss_bytes < RSS_BYTES_MAX, `It takes ${mib(rss_bytes)} MiB`);
      findings.check(Math.max(...beside) < LATENCY_MS_MAX, "A launch waited too long");
      const ready = await fetch(`${served.url}/readyz`);
      findings.check(await ready.text() === "ready\n", `/readyz answers ${ready.status}`);
    } finally {
      clearInterval(dripping);
    }
  } finally {
    for (const connection of connections) connection.close();
  }
  await pause(500);
  findings.say(`memory when they are gone: ${mib(await served.rss_bytes())} MiB`);
}

async function launchMany(findings: Findings, port: number, count: number): Promise<number[]> {
  const latencies_ms: number[] = [];
  using sender = new Sender(() => port);
  for (let turn = 0; turn < count; turn++) {
    const began_ms = performance.now();
    const outcome = await sender.post(LAUNCH, new Uint8Array(100));
    latencies_ms.push(performance.now() - began_ms);
    const status = typeof outcome === "string" ? outcome : outcome.status;
    findings.check(status === 200, `A launch was answered ${status}`);
  }
  return latencies_ms;
}
