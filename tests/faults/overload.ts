/**
 * Many more launches than can be accepted: those that are turned away are told at once, those that are
 * taken are performed, memory stays bounded, and a moment later all is as before.
 *
 * @module
 */
import { connectionsWithin } from "./connections.ts";
import { largest, mib, times } from "./figures.ts";
import { type Findings, pause } from "./findings.ts";
import type { Probed } from "./probe.ts";
import { Sender } from "./senders.ts";
import { serve, type Served } from "./served.ts";
import { checkStored } from "./stored.ts";
import { workshop } from "./workshop.ts";

/** So many are under way at most, as the service has it. */
const UNDER_WAY_MAX = 4_096;
const PROBE = new URL("probe.ts", import.meta.url).href;
const ID = "01900000-0000-7000-8000-000000000001";
const LAUNCH = `/api/v0/launch/${ID}/`;
/** So many connections are opened at a time. */
const CONNECTING = 100;
const BODY = new TextEncoder().encode(JSON.stringify({ action: "opened", pad: "x".repeat(1_000) }));
/** What thousands of requests under way take at most, whatever comes after them. */
const RSS_BYTES_MAX = 1_536 * 1024 * 1024;
/** Generous, as the machine may be busy with other things. */
const TAKEN_MS_MAX = 10_000;
const REFUSED_MS_MAX = 3_000;
const NORMAL_MS_MAX = 10_000;
const PERFORMED_MS_MAX = 300_000;

/** How much. */
export interface OverloadSize {
  /** How many senders there are, each on a connection of its own. */
  senders: number;
  duration_ms: number;
}

/** Sends launches as fast as the answers come, over more connections than requests can be under way. */
export async function overload(
  findings: Findings,
  { senders: wanted, duration_ms }: OverloadSize,
): Promise<void> {
  const senders = await connectionsWithin(wanted, findings);
  await using shop = await workshop([{
    id: ID,
    name: "t",
    conditions: [{ type: "rate_limit", period: 31_536_000, quota: 1_000_000 }],
    // Costs next to nothing, so that it is acceptance that has too much to do.
    actions: [{ type: "fetch_repository" }],
  }]);
  {
    await using served = await serve(shop.folder);
    const calm = await flood(served, { senders: 32, duration_ms: 1_500 });
    const probing = startProbe(served.port, duration_ms);
    const full = await flood(served, { senders, duration_ms });
    const per_second = (count: number, ms: number) => Math.round(count / (ms / 1_000));
    findings.say(`${senders} senders for ${Math.round(full.lasted_ms)} ms`);
    findings.say(
      `offered ${per_second(full.taken.length + full.refused.length, full.lasted_ms)}/s, taken ` +
        `${per_second(full.taken.length, full.lasted_ms)}/s (with 32 senders: ` +
        `${per_second(calm.taken.length, calm.lasted_ms)}/s)`,
    );
    findings.say(`taken: ${times(full.taken)}`);
    findings.say(`refused with 503: ${times(full.refused)}`);
    // All senders share one process, and what they wait for is that as well: another one is the judge.
    const { taken, refused, others } = await probing;
    findings.say(`another sender, taken: ${times(taken)}`);
    findings.say(`another sender, refused: ${times(refused)}`);
    findings.check(others === 0, `Another sender was answered otherwise ${others} times`);
    findings.say(`memory: at most ${mib(full.rss_bytes)} MiB`);
    findings.check(
      full.others.size === 0,
      `Answered otherwise: ${JSON.stringify([...full.others])}`,
    );
    if (senders > UNDER_WAY_MAX * 1.1) {
      findings.check(full.refused.length > 0, "Nothing was refused");
    }
    findings.check(largest(taken) < TAKEN_MS_MAX, "A launch that was taken waited too long");
    findings.check(largest(refused) < REFUSED_MS_MAX, "A refusal came too late");
    findings.check(full.rss_bytes < RSS_BYTES_MAX, `It takes ${mib(full.rss_bytes)} MiB`);
    await checkNormal(findings, served);
    const flooded_ms = performance.now();
    await untilPerformed(served);
    const performed_ms = Math.round(performance.now() - flooded_ms);
    findings.say(`all of them performed ${performed_ms} ms later`);
    findings.say(`memory at the end: ${mib(await served.rss_bytes())} MiB`);
    served.signal("SIGTERM");
    await served.end();
    const runs = await checkStored(`${shop.folder}/data`, findings);
    const promised = calm.taken.length + full.taken.length + taken.length;
    findings.check(runs.size >= promised, `${promised} launches taken, ${runs.size} stored`);
    for (const { id, status } of runs.values()) {
      findings.check(status === "completed", `Run ${id} is ${status}`);
    }
  }
}

async function startProbe(port: number, duration_ms: number): Promise<Probed> {
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--allow-net", PROBE, String(port), LAUNCH, String(duration_ms)],
    stderr: "inherit",
  }).output();
  return JSON.parse(new TextDecoder().decode(stdout));
}

/** Soon a launch is taken as quickly as ever. */
async function checkNormal(findings: Findings, served: Served): Promise<void> {
  const began_ms = performance.now();
  let latency_ms = Infinity;
  while (latency_ms > 250 && performance.now() - began_ms < NORMAL_MS_MAX) {
    const sent_ms = performance.now();
    using sender = new Sender(() => served.port);
    const outcome = await sender.post(LAUNCH, BODY);
    if (typeof outcome !== "string" && outcome.status === 200) {
      latency_ms = performance.now() - sent_ms;
    }
    await pause(20);
  }
  const after_ms = Math.round(performance.now() - began_ms);
  findings.check(latency_ms <= 250, `After ${after_ms} ms a launch takes ${latency_ms} ms`);
  findings.say(`normal again after ${after_ms} ms`);
}

async function flood(
  served: Served,
  { senders, duration_ms }: OverloadSize,
): Promise<{
  taken: number[];
  refused: number[];
  others: Map<string, number>;
  lasted_ms: number;
  rss_bytes: number;
}> {
  using stack = new DisposableStack();
  const all = Array.from(
    { length: senders },
    () => stack.use(new Sender(() => served.port)),
  );
  // Not in one moment: a connection that finds the listener's queue full waits for seconds.
  for (let at = 0; at < senders; at += CONNECTING) {
    await Promise.all(all.slice(at, at + CONNECTING).map((sender) => sender.open()));
  }
  const taken: number[] = [];
  const refused: number[] = [];
  const others = new Map<string, number>();
  let rss_bytes = 0;
  const began_ms = performance.now();
  const until_ms = began_ms + duration_ms;
  const watching = (async () => {
    while (performance.now() < until_ms) {
      rss_bytes = Math.max(rss_bytes, await served.rss_bytes());
      await pause(250);
    }
  })();
  await Promise.all(all.map(async (sender) => {
    while (performance.now() < until_ms) {
      const sent_ms = performance.now();
      const outcome = await sender.post(LAUNCH, BODY);
      const took_ms = performance.now() - sent_ms;
      const kind = typeof outcome === "string" ? outcome : String(outcome.status);
      if (kind === "200") taken.push(took_ms);
      else if (kind === "503") refused.push(took_ms);
      else others.set(kind, (others.get(kind) ?? 0) + 1);
    }
  }));
  await watching;
  return { taken, refused, others, lasted_ms: performance.now() - began_ms, rss_bytes };
}

/** Waits until no run of the trigger is pending. */
async function untilPerformed(served: Served): Promise<void> {
  const until_ms = performance.now() + PERFORMED_MS_MAX;
  for (;;) {
    const runs: { status: string }[] = await served.all(`triggers/${ID}/runs/?limit=200`);
    if (runs.every(({ status }) => status !== "pending")) return;
    if (performance.now() > until_ms) throw new Error("Did not see the end of all runs");
    await pause(1_000);
  }
}
