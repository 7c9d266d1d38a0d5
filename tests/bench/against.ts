/**
 * This checkout against one commit, or against adnanh/webhook, in pairs: both services run, and take turns. A
 * launch has HMAC, a rate limit, 1 KiB, and the action `fetch_repository`; that of adnanh/webhook HMAC and the
 * command `/bin/true`.
 *
 * Ratios of single figures say little on a machine whose speed drifts: what counts is the median of the
 * ratios of all pairs, and the processor time, which others on the machine hardly change.
 *
 * @module
 */
import type { Bench } from "./bench.ts";
import { pause, quantile, run } from "./measuring.ts";
import { makeProject } from "./project.ts";
import { launches, post, SECRET, type Sent, sign, triggerId } from "./requests.ts";
import {
  type Checkout,
  metrics,
  type ServeProcess,
  settled,
  spawnServe,
  startWebhook,
} from "./servers.ts";
import { load } from "./wrk.ts";

const ROOT = new URL("../../", import.meta.url).pathname;
/** The clock ticks of a second in `/proc`, as `getconf CLK_TCK` says on Linux. */
const TICKS_PER_S = 100;
const ACCEPTED_WITHIN_MS = 300_000;
const SETTLED_WITHIN_MS = 120_000;
const POLL_MS = 2;
const MIB = 1024 * 1024;
const CONNECTIONS = [32, 128];
const POLL_CONNECTIONS = 32;
const WEBHOOK_CONNECTIONS = 64;
/** The time for the last commands of adnanh/webhook, of which it tells nothing. */
const WEBHOOK_REST_MS = 2_000;
/** The value of `--against` that stands for adnanh/webhook, where another one is a commit. */
export const WEBHOOK = "webhook";

/** One figure of both, measured one after the other. */
export interface Pair {
  what: string;
  unit: string;
  now: number;
  then: number;
}

/** A figure of one of both. */
type Figure = readonly [what: string, unit: string, value: number];

/** One of the checkouts, with a data folder. */
interface Contender {
  start(): ServeProcess;
}

/** Measures each figure in turn, and returns all pairs. */
export function measureAgainst(bench: Bench, other: string): Promise<Pair[]> {
  return other === WEBHOOK ? againstWebhook(bench) : againstCommit(bench, other);
}

/** A server of which launches are measured, and what waits until its work is done. */
type Measured = Pick<ServeProcess, "port" | "pid"> & { rest(): Promise<unknown> };

async function againstWebhook(bench: Bench): Promise<Pair[]> {
  const { start } = await contender(bench, { root: ROOT, config: await tasksOf(ROOT) });
  await using server = start();
  await firstLaunch(server);
  await using webhook = await startWebhook(bench, 1);
  const service = { ...server, rest: () => settled(server.port, SETTLED_WITHIN_MS) };
  const other = { ...webhook, rest: () => pause(WEBHOOK_REST_MS) };
  const pairs: Pair[] = [];
  for (let round = 0; round < roundsOf(bench); round++) {
    const measure = (one: Measured) => figuresBesideWebhook(bench, one);
    pairs.push(...await inPairs<Measured>([service, other], round, measure));
  }
  return pairs;
}

async function figuresBesideWebhook(
  bench: Bench,
  { port, pid, rest }: Measured,
): Promise<Figure[]> {
  const options = { port, connections: WEBHOOK_CONNECTIONS, requests: launches(1) };
  await load(bench, { ...options, seconds: 1 });
  await rest();
  const before_ms = await cpuOf(pid);
  const { per_second, p99_ms, refused, failed } = await load(bench, options);
  if (refused + failed > 0) throw new Error(`${refused + failed} launches were not accepted`);
  await rest();
  const launch_us = (await cpuOf(pid) - before_ms) * 1_000 / (per_second * bench.seconds);
  const what = `${WEBHOOK_CONNECTIONS} connections, `;
  return [
    [`${what}launches`, "/s", per_second],
    [`${what}p99`, "ms", p99_ms],
    [`${what}processor time with its work`, "µs", launch_us],
  ];
}

async function againstCommit(bench: Bench, commit: string): Promise<Pair[]> {
  await using then = await checkedOut(bench, commit);
  const now: Checkout = { root: ROOT, config: await tasksOf(ROOT) };
  const both = [await contender(bench, now), await contender(bench, then)] as const;
  const pairs: Pair[] = [];
  const rounds = [...Array(roundsOf(bench)).keys()];
  for (const round of rounds) pairs.push(...await inPairs(both, round, startFigures));
  await using first = both[0].start();
  await using second = both[1].start();
  for (const server of [first, second]) await firstLaunch(server);
  for (const round of rounds) {
    pairs.push(...await inPairs([first, second], round, (one) => figuresOf(bench, one)));
  }
  return pairs;
}

function roundsOf({ isQuick }: Bench): number {
  return isQuick ? 4 : 10;
}

/** Returns a line for each figure: the medians of both, and the ratio of each pair. */
export function againstTable(pairs: readonly Pair[], commit: string): string {
  const head = ["figure".padEnd(46), "now".padStart(12), commit.slice(0, 8).padStart(12)];
  const lines = Map.groupBy(pairs, ({ what }) => what).values().map((found) => {
    const unit = found[0]?.unit ?? "";
    const ratios = found.map(({ now, then }) => now / then);
    const middle = (values: readonly number[]) => quantile(values, 0.5);
    const figure = (value: number) => `${value.toFixed(value < 100 ? 1 : 0)} ${unit}`.padStart(12);
    return [
      (found[0]?.what ?? "").padEnd(46),
      figure(middle(found.map(({ now }) => now))),
      figure(middle(found.map(({ then }) => then))),
      middle(ratios).toFixed(2).padStart(8),
      `  ${quantile(ratios, 0).toFixed(2)}–${quantile(ratios, 1).toFixed(2)}`,
    ].join("");
  });
  return [[...head, "ratio".padStart(8), "  of pairs"].join(""), ...lines].join("\n");
}

/** Checks a commit out into a temporary folder. */
async function checkedOut(bench: Bench, commit: string): Promise<Checkout & AsyncDisposable> {
  const root = `${bench.folder}/against`;
  await run("git", ["worktree", "add", "--quiet", "--detach", root, commit], ROOT);
  return bench.owned({
    root,
    config: await tasksOf(root),
    [Symbol.asyncDispose]: () => run("git", ["worktree", "remove", "--force", root], ROOT),
  });
}

async function tasksOf(root: string): Promise<Checkout["config"]> {
  return JSON.parse(await Deno.readTextFile(`${root}/deno.json`));
}

async function contender(bench: Bench, checkout: Checkout): Promise<Contender> {
  const folder = await Deno.makeTempDir({ dir: bench.folder, prefix: "contender-" });
  const config = `${folder}/hooklaunch.yaml`;
  await Deno.writeTextFile(config, JSON.stringify(await configuration(bench)));
  const start = () => spawnServe(bench, `${folder}/data`, checkout, ["--config", config]);
  // The first start compiles what the others find compiled.
  await startFigures({ start });
  return { start };
}

async function startFigures({ start }: Contender): Promise<Figure[]> {
  const began_ms = performance.now();
  await using server = start();
  await firstLaunch(server);
  const start_ms = performance.now() - began_ms;
  const cpu_ms = await cpuOf(server.pid, 2);
  // The next start finds nothing to go on with.
  await settled(server.port, SETTLED_WITHIN_MS);
  return [
    ["start to first accepted launch", "ms", start_ms],
    ["processor time until then", "ms", cpu_ms],
  ];
}

/** The figures that both commits measure under the same names. */
async function configuration(bench: Bench) {
  const repository = await makeProject(bench.folder);
  const header = { header: "X-Signature", prefix: "sha256=" };
  return {
    projects: [{ name: "clock", repository }],
    triggers: [{
      id: triggerId(0),
      name: "signed",
      project: "clock",
      conditions: [
        { type: "hmac", algorithm: "sha256", ...header, secrets: [SECRET] },
        { type: "rate_limit", period: 60, quota: 1_000_000 },
      ],
      actions: [{ type: "fetch_repository" }],
      response: { type: "text", text: "{run_id}" },
    }],
  };
}

/** Waits for the first launch that a service accepts. */
function firstLaunch(server: ServeProcess): Promise<string> {
  const [launch] = launches(1);
  if (launch === undefined) throw new Error("There is no launch");
  return firstAnswer(server, launch);
}

/** Waits for the first answer of a service that is starting. */
export async function firstAnswer({ port, ended }: ServeProcess, launch: Sent): Promise<string> {
  let hasEnded = false;
  void ended.then(() => hasEnded = true);
  const until_ms = performance.now() + ACCEPTED_WITHIN_MS;
  for (;;) {
    try {
      return await send(port, launch);
    } catch (error) {
      const isOver = hasEnded || performance.now() > until_ms;
      if (!(error instanceof TypeError) || isOver) throw error;
      // It does not listen yet.
      await pause(POLL_MS);
    }
  }
}

async function send(port: number, { method, path, headers, body }: Sent): Promise<string> {
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, { method, headers, body });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`A request was answered ${answer.status}: ${text}`);
  return text;
}

/** Measures both, every other time the second first. */
async function inPairs<T>(
  [first, second]: readonly [T, T],
  round: number,
  measure: (one: T) => Promise<Figure[]>,
): Promise<Pair[]> {
  const isFirst = round % 2 === 0;
  const earlier = await measure(isFirst ? first : second);
  const later = await measure(isFirst ? second : first);
  const [now, then] = isFirst ? [earlier, later] : [later, earlier];
  return now.map(([what, unit, value], index) => (
    { what, unit, now: value, then: then[index]?.[2] ?? NaN }
  ));
}

async function figuresOf(bench: Bench, server: ServeProcess): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const connections of CONNECTIONS) {
    figures.push(...await launchFigures(bench, server, connections));
  }
  return [...figures, ...await pollFigures(bench, server)];
}

async function pollFigures(bench: Bench, server: ServeProcess): Promise<Figure[]> {
  const { port, pid } = server;
  const body = JSON.stringify({ run_id: await firstLaunch(server) });
  await settled(port, SETTLED_WITHIN_MS);
  const poll = post(`${triggerId(0)}/run`, { "x-signature": sign(body) }, body);
  const options = { port, connections: POLL_CONNECTIONS, requests: [poll] };
  await load(bench, { ...options, seconds: 1 });
  const before_ms = await cpuOf(pid, 2);
  const { per_second, refused, failed } = await load(bench, options);
  if (refused + failed > 0) throw new Error(`${refused + failed} polls were not answered`);
  const poll_us = (await cpuOf(pid, 2) - before_ms) * 1_000 / (per_second * bench.seconds);
  const what = `${POLL_CONNECTIONS} connections, `;
  return [
    [`${what}run info with HMAC`, "/s", per_second],
    [`${what}processor time of a run info`, "µs", poll_us],
  ];
}

async function launchFigures(
  bench: Bench,
  { port, pid }: ServeProcess,
  connections: number,
): Promise<Figure[]> {
  const requests = launches(1);
  await load(bench, { port, connections, requests, seconds: 1 });
  const before = await look(port, pid);
  const { p99_ms, failed } = await load(bench, { port, connections, requests });
  if (failed > 0) throw new Error(`${failed} launches were not answered`);
  const after = await look(port, pid);
  // The work that is left would take the processor from what is measured next.
  if (!await settled(port, SETTLED_WITHIN_MS)) throw new Error("Runs do not come to their end");
  const last = await look(port, pid);
  const accepted = after.accepted - before.accepted;
  const endedMeanwhile = after.ended - before.ended;
  const seconds = (after.time_ms - before.time_ms) / 1_000;
  const run_us = (last.cpu_ms - after.cpu_ms) * 1_000 / (last.ended - after.ended);
  const launch_us = (after.cpu_ms - before.cpu_ms) * 1_000 - endedMeanwhile * run_us;
  const what = `${connections} connections, `;
  return [
    [`${what}launches`, "/s", accepted / seconds],
    [`${what}p99`, "ms", p99_ms],
    [`${what}processor time of a launch`, "µs", launch_us / accepted],
    [`${what}processor time of its run`, "µs", run_us],
    [`${what}runs that end meanwhile`, "/s", endedMeanwhile / seconds],
    [`${what}memory at the end`, "MiB", after.rss_mib],
  ];
}

/** The counters of a service at one moment. */
interface Look {
  time_ms: number;
  accepted: number;
  ended: number;
  rss_mib: number;
  /** Of all its threads. */
  cpu_ms: number;
}

async function look(port: number, pid: number): Promise<Look> {
  const [accepted = NaN, ended = NaN, bytes = NaN] = await metrics(port, [
    ["hooklaunch_launch_seconds_count", 'status="200"'],
    ["hooklaunch_run_seconds_count", ""],
    ["hooklaunch_memory_bytes", ""],
  ]);
  const cpu_ms = await cpuOf(pid, 2);
  return { time_ms: performance.now(), accepted, ended, rss_mib: bytes / MIB, cpu_ms };
}

/** Returns a process's processor time: its own in two fields, with that of its ended children in all four. */
export async function cpuOf(pid: number, fields = 4): Promise<number> {
  // The name of the command, in parentheses, may hold spaces: these are the 12th to 15th behind it.
  const stat = await Deno.readTextFile(`/proc/${pid}/stat`);
  const times = stat.slice(stat.lastIndexOf(")") + 2).split(" ").slice(11, 11 + fields).map(Number);
  return times.reduce((sum, ticks) => sum + ticks, 0) * 1_000 / TICKS_PER_S;
}
