/**
 * Many more launches than can be accepted: those that are turned away are told at once, those that are
 * taken are performed, memory stays bounded, and a moment later all is as before.
 *
 * @module
 */
import { connectionsWithin } from "./connections.ts";
import { largest, mib, times } from "./figures.ts";
import { type Findings, pause } from "./findings.ts";
import { load, type Loaded } from "./load.ts";
import type { Probed } from "./probe.ts";
import { Sender } from "./senders.ts";
import { serve, type Served, TOKEN } from "./served.ts";
import { checkStored } from "./stored.ts";
import { workshop } from "./workshop.ts";

const PROBE = new URL("probe.ts", import.meta.url).href;
const ID = "01900000-0000-7000-8000-000000000001";
const LAUNCH = `/api/v0/launch/${ID}/`;
const BODY = new TextEncoder().encode(JSON.stringify({ action: "opened", pad: "x".repeat(1_000) }));
/** With so many connections there is as much to do as can be done, and nothing is turned away. */
const FULL_LOAD = { connections: 64, body: BODY };
const FULL_LOAD_S_MAX = 2;
const ALONE = 20;
/** How much more memory than full load an overload may take, and each connection of it. */
const MORE_BYTES_MAX = 100 * 1024 * 1024;
const CONNECTION_BYTES_MAX = 50 * 1024;
/** Generous, as the machine may be busy with other things. */
const TAKEN_MS_MAX = 10_000;
const REFUSED_MS_MAX = 5_000;
const NORMAL_MS_MAX = 5_000;
const NORMAL_LATENCY_MS_MAX = 250;
const PERFORMED_MS_MAX = 300_000;
/** How often more than can be accepted is sent until something of it is. */
const ROUNDS_MAX = 5;

/** How much. */
export interface OverloadSize {
  /** Each sends the next launch as soon as it has the answer to the one before. */
  connections: number;
  duration_s: number;
  /** What part of full load's launches a second must be taken still. */
  leastTaken: number;
}

/** Sends launches as fast as the answers come, over more connections than launches may wait. */
export async function overload(
  findings: Findings,
  { connections: wanted, duration_s, leastTaken }: OverloadSize,
): Promise<void> {
  const connections = await connectionsWithin(wanted, findings);
  await using shop = await workshop([{
    id: ID,
    name: "t",
    conditions: [{ type: "rate_limit", period: 31_536_000, quota: 1_000_000 }],
    // Costs next to nothing, so that it is acceptance that has too much to do.
    actions: [{ type: "fetch_repository" }],
  }]);
  await using served = await serve(shop.folder);
  const url = `${served.url}${LAUNCH}`;
  const alone = await launchAlone(served);
  findings.say(`alone: ${times(alone)}; memory ${mib(await served.rss_bytes())} MiB`);
  const fullLoad = { ...FULL_LOAD, duration_s: Math.min(duration_s, FULL_LOAD_S_MAX) };
  const full = await watched(served, load(url, fullLoad));
  sayLoad(findings, "full load", full, fullLoad);
  const probing = startProbe(served.port, duration_s * 1_000);
  let over: Watched;
  let rounds = 0;
  // On a busy machine the connections alone may take so long.
  do {
    over = await watched(served, load(url, { connections, duration_s, body: BODY }));
    rounds++;
  } while (over.taken.length === 0 && rounds < ROUNDS_MAX);
  const probed = await probing;
  sayLoad(findings, "overload", over, { connections, duration_s });
  findings.say(`another sender, taken: ${times(probed.taken)}`);
  findings.say(`another sender, refused: ${times(probed.refused)}`);
  const after = await checkNormal(findings, served);
  checkAnswers(findings, { full, over, probed });
  const taken = over.taken.length / duration_s;
  const least = leastTaken * full.taken.length / fullLoad.duration_s;
  findings.check(taken >= least, `${taken} launches a second are taken, and not ${least}`);
  const more_bytes = over.rss_bytes - full.rss_bytes;
  findings.check(
    more_bytes < MORE_BYTES_MAX + connections * CONNECTION_BYTES_MAX,
    `It takes ${mib(more_bytes)} MiB more than full load`,
  );
  await checkRuns(findings, served, {
    data: `${shop.folder}/data`,
    answered: alone.length + full.taken.length + over.taken.length + probed.taken.length + after,
    // The last launch of each connection is sent and not waited for.
    unanswered: FULL_LOAD.connections + rounds * connections,
  });
}

interface Watched extends Loaded {
  /** The most memory that the service took. */
  rss_bytes: number;
}

/** Watches the service's memory while it is under load. */
async function watched(served: Served, loading: Promise<Loaded>): Promise<Watched> {
  let rss_bytes = 0;
  let isOver = false;
  const watching = (async () => {
    while (!isOver) {
      rss_bytes = Math.max(rss_bytes, await served.rss_bytes());
      await pause(250);
    }
  })();
  try {
    return { ...await loading, rss_bytes };
  } finally {
    isOver = true;
    await watching;
  }
}

function sayLoad(
  findings: Findings,
  what: string,
  { taken, refused, rss_bytes }: Watched,
  { connections, duration_s }: { connections: number; duration_s: number },
): void {
  const per_second = (count: number) => Math.round(count / duration_s);
  const offered = taken.length + refused.length;
  findings.say(
    `${what}, ${connections} connections for ${duration_s} s: offered ${per_second(offered)}/s, ` +
      `taken ${per_second(taken.length)}/s, refused ${per_second(refused.length)}/s; ` +
      `${(offered / taken.length).toFixed(1)} times what is taken; memory ${mib(rss_bytes)} MiB`,
  );
  findings.say(`${what}, taken: ${times(taken)}`);
  if (refused.length > 0) findings.say(`${what}, refused: ${times(refused)}`);
}

function checkAnswers(
  findings: Findings,
  { full, over, probed }: { full: Watched; over: Watched; probed: Probed },
): void {
  const others = [...full.others, ...over.others];
  findings.check(others.length === 0, `Answered otherwise: ${JSON.stringify(others)}`);
  findings.check(
    probed.others === 0,
    `Another sender had ${probed.others} answers that were neither 200 nor 503 with Retry-After`,
  );
  findings.check(over.taken.length > 0, "Nothing was taken");
  const taken_ms = Math.max(largest(over.taken), largest(probed.taken));
  findings.check(taken_ms < TAKEN_MS_MAX, `A launch that was taken waited ${taken_ms} ms`);
  const refused_ms = Math.max(largest(over.refused), largest(probed.refused));
  findings.check(refused_ms < REFUSED_MS_MAX, `A refusal took ${refused_ms} ms`);
}

/** Launches one after the other; answers how long each took. */
async function launchAlone({ port }: Served): Promise<number[]> {
  const latencies_ms: number[] = [];
  using sender = new Sender(() => port);
  while (latencies_ms.length < ALONE) {
    const sent_ms = performance.now();
    const outcome = await sender.post(LAUNCH, BODY);
    if (typeof outcome === "string" || outcome.status !== 200) throw new Error("Cannot launch");
    latencies_ms.push(performance.now() - sent_ms);
  }
  return latencies_ms;
}

async function startProbe(port: number, duration_ms: number): Promise<Probed> {
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--allow-net", PROBE, String(port), LAUNCH, String(duration_ms)],
    stderr: "inherit",
  }).output();
  return JSON.parse(new TextDecoder().decode(stdout));
}

/** Soon launches are taken as quickly as ever. Answers how many it took to see that. */
async function checkNormal(findings: Findings, served: Served): Promise<number> {
  const began_ms = performance.now();
  let latency_ms = Infinity;
  let taken = 0;
  using sender = new Sender(() => served.port);
  while (latency_ms > NORMAL_LATENCY_MS_MAX && performance.now() - began_ms < NORMAL_MS_MAX) {
    const sent_ms = performance.now();
    const outcome = await sender.post(LAUNCH, BODY);
    const isTaken = typeof outcome !== "string" && outcome.status === 200;
    if (isTaken) {
      latency_ms = performance.now() - sent_ms;
      taken++;
    } else {
      await pause(20);
    }
  }
  const after_ms = Math.round(performance.now() - began_ms);
  findings.check(
    latency_ms <= NORMAL_LATENCY_MS_MAX,
    `After ${after_ms} ms a launch takes ${latency_ms} ms`,
  );
  findings.say(`normal again after ${after_ms} ms: a launch takes ${Math.round(latency_ms)} ms`);
  return taken;
}

/** Every launch that was answered 200 is a run that has ended, and none has ended twice. */
async function checkRuns(
  findings: Findings,
  served: Served,
  { data, answered, unanswered }: { data: string; answered: number; unanswered: number },
): Promise<void> {
  const began_ms = performance.now();
  const ended = await untilPerformed(served);
  findings.say(`all performed ${Math.round(performance.now() - began_ms)} ms later`);
  findings.say(`memory at the end: ${mib(await served.rss_bytes())} MiB`);
  served.signal("SIGTERM");
  await served.end();
  const runs = await checkStored(data, findings);
  findings.say(`${answered} answered 200, ${runs.size} runs stored, ${ended} ended`);
  findings.check(
    runs.size >= answered && runs.size <= answered + unanswered,
    `${answered} launches were taken, and ${runs.size} runs are stored`,
  );
  findings.check(ended === runs.size, `${runs.size} runs are stored, and ${ended} have ended`);
  for (const { id, status } of runs.values()) {
    findings.check(status === "completed", `Run ${id} is ${status}`);
  }
}

/** Waits until no run has work before it, and answers how many have ended. */
async function untilPerformed(served: Served): Promise<number> {
  const until_ms = performance.now() + PERFORMED_MS_MAX;
  for (;;) {
    const metrics = await (await fetch(`${served.url}/metrics`, {
      headers: { authorization: `Bearer ${TOKEN}` },
    })).text();
    const sum = (name: string) =>
      [...metrics.matchAll(new RegExp(`^${name}(?:{.*})? (\\d+)$`, "gm"))]
        .reduce((total, [, value]) => total + Number(value), 0);
    if (sum("hooklaunch_backlog") === 0) return sum("hooklaunch_run_seconds_count");
    if (performance.now() > until_ms) throw new Error("Did not see the end of all runs");
    await pause(500);
  }
}
