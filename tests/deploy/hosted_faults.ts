/**
 * A platform under load: processes come and go at random moments, by SIGINT and by SIGKILL, crons come late and
 * twice. Whatever was accepted runs once, and what waits goes on when only crons come.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import type { Findings, Random } from "../faults/findings.ts";
import { signature } from "../data.ts";
import { startReceiver } from "../http/receiver.ts";
import { eventually } from "../surroundings.ts";
import { makeTrigger, relay } from "./launching.ts";
import { MEMORY_MIB_MAX, STOP_MS, Timeline, TOKEN } from "./platform.ts";
import { Router } from "./router.ts";

/** An instance that was killed is taken for gone after 15 s; a cron comes each minute. */
const END_MS_MAX = 240_000;
/** The runs whose records are asked for at the end. */
const RUNS_ASKED_MAX = 50;
const OPERATOR = { authorization: `Bearer ${TOKEN}` };

/** Options of {@linkcode hostedFaults}. */
interface HostedFaultsOptions {
  /** The stops of processes at random moments. */
  stops: number;
  /** Launches between two stops. */
  launches: number;
  /** The processes that run at once. */
  most: number;
  /** The share of stops that kill at once. */
  kills: number;
  idle_ms?: number;
}

/** Does so. */
export async function hostedFaults(
  findings: Findings,
  random: Random,
  { stops, launches, most, kills, idle_ms = 5_000 }: HostedFaultsOptions,
): Promise<void> {
  await using timeline = new Timeline();
  await using receiver = startReceiver();
  await using router = new Router({ timeline, most, idle_ms });
  const setup = await timeline.start();
  const path = await makeTrigger(setup, relay(receiver.port));
  assertEquals((await setup.stop(STOP_MS)).code, 0);
  const accepted = new Map<string, string>();
  let unclear = 0;
  let refused = 0;
  const launch = async (name: string) => {
    const body = JSON.stringify({ name });
    const headers = { ...signature(body), "content-type": "application/json" };
    try {
      const answer = await router.fetch(path, { method: "POST", body, headers });
      const text = await answer.text();
      if (answer.status === 200) accepted.set(JSON.parse(text).run, name);
      else if (answer.status === 503) refused++;
      else findings.check(false, `a launch was answered with ${answer.status}: ${text}`);
    } catch {
      // Its process ended: whether it was stored is not known.
      unclear++;
    }
  };
  for (let stop = 0; stop < stops; stop++) {
    while (router.size < most) router.start();
    const sent = Array.from({ length: launches }, (_, index) => launch(`${stop}.${index}`));
    if (random.int(3) === 0) void Promise.all([router.tick("sweep"), router.tick("sweep")]);
    // At any moment of them.
    const before = random.int(launches);
    await Promise.all(sent.slice(0, before));
    router.stopOne(random.float() < kills ? 0 : undefined);
    await Promise.all(sent);
  }
  await router.stopAll();
  const began_ms = performance.now();
  // From now on nothing comes but crons.
  const all = () => new Set(receiver.at("/hook").map(({ body }) => JSON.parse(body).run as string));
  const missing = () => [...accepted.keys()].filter((run) => !all().has(run));
  let ticks = 0;
  while (missing().length > 0 && performance.now() - began_ms < END_MS_MAX) {
    ticks++;
    findings.check(await router.tick("sweep"), "a cron failed");
  }
  findings.check(missing().length === 0, `${missing().length} accepted launches were lost`);
  const runsOf = new Map<string, Set<string>>();
  for (const { body } of receiver.at("/hook")) {
    const { hello, run } = JSON.parse(body);
    runsOf.set(hello, (runsOf.get(hello) ?? new Set()).add(run));
  }
  for (const [name, runs] of runsOf) {
    findings.check(runs.size === 1, `the launch ${name} ran ${runs.size} times`);
  }
  for (const [run, name] of [...accepted].slice(-RUNS_ASKED_MAX)) {
    await eventually(async () => {
      const answer = await router.fetch(`/api/v0/runs/${run}/`, { headers: OPERATOR });
      const { status } = answer.status === 200 ? await answer.json() : await answer.text();
      return status === "completed" ? true : undefined;
    }, { what: `the end of the launch ${name}` });
  }
  const mib = router.memory_mib;
  findings.check(mib < MEMORY_MIB_MAX, `a process had ${mib} MiB`);
  findings.say(
    `${accepted.size} launches accepted, ${refused} turned away, ${unclear} cut off, ` +
      `${receiver.at("/hook").length} requests sent; ` +
      `${router.counts.starts} starts, ${router.counts.stops} stops, ${router.counts.idleStops} idle, ` +
      `${router.counts.kills} kills; ${mib} MiB at most; ${ticks} crons did the rest`,
  );
}
