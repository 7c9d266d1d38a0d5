/**
 * Many runs that wait for their turn: what they cost a launch, a start, memory and pages, and how long it takes
 * until a queue is worked down.
 *
 * @module
 */
import { newId } from "../../src/platform/ids.ts";
import type { Write } from "../../src/store/commit/change.ts";
import { openStore } from "../../src/store/open_store.ts";
import { burstWrite, holdWrites } from "../../src/store/records/held_runs.ts";
import type { Pace } from "../../src/store/records/pace.ts";
import { acceptWrites, newPending } from "../../src/store/records/runs.ts";
import type { Store } from "../../src/store/store.ts";
import { cpuOf, firstAnswer } from "./against.ts";
import type { Bench } from "./bench.ts";
import { pause, quantile } from "./measuring.ts";
import { paced } from "./paced.ts";
import { makeProject } from "./project.ts";
import { OPERATORS_TOKEN, post, SECRET, type Sent, sign, triggerId } from "./requests.ts";
import { metric, type ServeProcess, spawnServe } from "./servers.ts";
import { atMost, below, type Row } from "./table.ts";

const KEYS = 10_000;
const RUNS_OF_KEY = 10;
const LAUNCHES_PER_SECOND = 200;
/** Pairs of windows: one of each service. */
const PAIRS = 12;
const WINDOW_S = 5;
const TIMES_MAX = 1.2;
/** The processor time of a process without that of its children. */
const OWN_FIELDS = 2;
const DAY_MS = 24 * 60 * 60_000;
const MIB = 1024 * 1024;
const BODY = new TextEncoder().encode("{}");
/** Records in one write to the committer. */
const AT_ONCE = 2_000;
const POLL_MS = 200;

const [PLAIN, BURSTS, OTHERS, QUEUE] = [triggerId(0), triggerId(1), triggerId(2), triggerId(3)];
const ACTIONS = [{ type: "fetch_repository" }];
const key = "{body.key}";

/** Measures a service with runs that wait against one without. */
export async function measurePace(bench: Bench): Promise<void> {
  const keys = bench.isQuick ? KEYS / 10 : KEYS;
  const runs = keys * RUNS_OF_KEY;
  const what = `${runs.toLocaleString("en")} runs of ${keys.toLocaleString("en")} keys wait`;
  await using empty = await started(bench, undefined);
  await using full = await started(bench, (store) => fill(store, keys, burstOf));
  bench.add(below(20, {
    what: `start to first accepted launch, ${what}`,
    value: full.started_ms / 1_000,
    unit: "s",
    detail: `${(empty.started_ms / 1_000).toFixed(1)} s where none waits`,
  }));
  for (const [name, launch] of Object.entries({ "": launchOf(PLAIN), " into a burst": burst() })) {
    const rows = await inPairs(bench, `launches/s${name}, ${what}`, { empty, full, launch });
    for (const row of rows) bench.add(row);
  }
  const grown = await rss_mib(full) - await rss_mib(empty);
  bench.add(below(150, { what: `memory more, ${what}`, value: grown, unit: "MiB" }));
  for (const path of ["runs/", `runs/?trigger=${OTHERS}&status=pending`]) {
    const value = quantile(await pages_ms(full, path), 0.5);
    bench.add(below(50, { what: `GET ${path.replace(OTHERS, "ID")}, ${what}`, value, unit: "ms" }));
  }
  await workedDown(bench, keys);
}

/** Measures how long it takes until a queue is worked down whose runs have no work of their own. */
async function workedDown(bench: Bench, keys: number): Promise<void> {
  const runs = keys * RUNS_OF_KEY;
  await using server = await started(bench, (store) => fill(store, keys, queuedOf));
  const began_ms = performance.now();
  while (await metric(server.port, "hooklaunch_waiting_runs") > 0) await pause(POLL_MS);
  const seconds = (performance.now() - began_ms + server.started_ms) / 1_000;
  bench.add(below(runs / 500, {
    what: `${runs.toLocaleString("en")} runs of a queue with ${keys.toLocaleString("en")} keys`,
    value: seconds,
    unit: "s",
    detail: `${Math.round(runs / seconds)} runs/s from the start of the process`,
  }));
}

/** The records of a run that waits. */
type Fills = (index: number, keys: number) => readonly Write[];

const now_ms = Date.now();

function burstOf(index: number, keys: number): Write[] {
  const name = `key-${index % keys}`;
  const coalesce = { key: name, window_ms: DAY_MS, wait_max_ms: DAY_MS, keep: "all" as const };
  const joins = joinedIds[index % keys] ??= newId(now_ms);
  // One trigger has room for more.
  const trigger_id = index % 2 === 0 ? BURSTS : OTHERS;
  const burst = { trigger_id, key: name, run_id: joins, first_ms: now_ms };
  return [
    ...waitingWrites(trigger_id, { coalesce }, { order: index, joins }),
    ...index < keys ? [burstWrite({ ...burst, due_ms: now_ms + DAY_MS })] : [],
  ];
}

const joinedIds: string[] = [];

function queuedOf(index: number, keys: number): Write[] {
  const concurrency = { key: `key-${index % keys}`, limit: 1, when_full: "queue" as const };
  return waitingWrites(QUEUE, { concurrency }, { order: index });
}

function waitingWrites(
  trigger_id: string,
  pace: Pace,
  held: Parameters<typeof holdWrites>[1],
): Write[] {
  const id = newId(now_ms);
  const payload = { size: BODY.length, sha256: "", content_type: "application/json" };
  const run = {
    ...{ id, trigger_id, project: "pace", status: "pending" as const, actions: [], payload },
    created_at: new Date(now_ms).toISOString(),
    remote_ip: "192.0.2.7",
  };
  const pending = newPending({ run, actions: ACTIONS, worker: "", pace }, BODY);
  const [lists, holds] = [acceptWrites(pending, BODY), holdWrites(pending, held)];
  const keysOf = new Set(holds.map(({ key }) => JSON.stringify(key)));
  return [
    ...lists.filter(({ key }) => !keysOf.has(JSON.stringify(key))),
    ...holds.filter(({ value }) => value !== undefined),
  ];
}

async function fill(store: Store, keys: number, writes: Fills): Promise<void> {
  const runs = keys * RUNS_OF_KEY;
  for (let start = 0; start < runs; start += AT_ONCE) {
    const indexes = Array.from({ length: AT_ONCE }, (_, index) => start + index);
    await Promise.all(indexes.map((index) => store.committer.write(writes(index, keys))));
  }
}

/** The figures of one window. The processor time is that of a launch, with what else there is to do. */
interface Window {
  p99_ms: number;
  cpu_ms: number;
}

/** A service that has accepted its first launch. */
type Started = ServeProcess & { started_ms: number };

/** Starts a service twice: the second time with what was stored between, and with the configuration of the first. */
async function started(
  bench: Bench,
  between: ((store: Store) => Promise<void>) | undefined,
): Promise<Started> {
  const folder = await Deno.makeTempDir({ dir: bench.folder, prefix: "pace-" });
  const data = `${folder}/data`;
  const repository = await makeProject(bench.folder, {
    folder: `pace-${crypto.randomUUID()}`,
    image: "none",
    command: "true",
  });
  const condition = {
    type: "hmac",
    algorithm: "sha256",
    header: "X-Signature",
    prefix: "sha256=",
    secrets: [SECRET],
  };
  const common = { project: "pace", conditions: [condition], actions: ACTIONS };
  const triggers = [
    { ...common, id: PLAIN, name: "plain" },
    { ...common, id: BURSTS, name: "bursts", coalesce: { key, window: 86_400, keep: "all" } },
    { ...common, id: OTHERS, name: "others", coalesce: { key, window: 86_400, keep: "all" } },
    { ...common, id: QUEUE, name: "queue", concurrency: { key, limit: 1 } },
  ];
  const config = `${folder}/hooklaunch.yaml`;
  const projects = [{ name: "pace", repository }];
  await Deno.writeTextFile(config, JSON.stringify({ projects, triggers }));
  const flags = ["--config", config];
  const first = spawnServe(bench, data, undefined, flags);
  await firstAnswer(first, launchOf(PLAIN));
  await first.stop();
  if (between) {
    await using store = await openStore(data);
    await between(store);
  }
  const began_ms = performance.now();
  const server = spawnServe(bench, data, undefined, flags);
  await firstAnswer(server, launchOf(PLAIN));
  return { ...server, started_ms: performance.now() - began_ms };
}

function launchOf(trigger: string): Sent {
  const body = JSON.stringify({ key: "one" });
  return post(trigger, { "x-signature": sign(body) }, body);
}

function burst(): Sent {
  return launchOf(BURSTS);
}

/** Measures launches at a full service by those at an empty one, in turn: the median of the pairs' ratios counts. */
async function inPairs(
  { isQuick }: Bench,
  what: string,
  { empty, full, launch }: { empty: ServeProcess; full: ServeProcess; launch: Sent },
): Promise<Row[]> {
  const seconds = isQuick ? 2 : WINDOW_S;
  const load = { request: launch, per_second: LAUNCHES_PER_SECOND, seconds };
  const window = async ({ port, pid }: ServeProcess): Promise<Window> => {
    const before_ms = await cpuOf(pid, OWN_FIELDS);
    const { p99_ms } = await paced({ port, ...load });
    const cpu_ms = await cpuOf(pid, OWN_FIELDS) - before_ms;
    return { p99_ms, cpu_ms: cpu_ms / (LAUNCHES_PER_SECOND * seconds) };
  };
  // What a service does first is slow: compiling, and memory that grows.
  for (const server of [empty, full]) await window(server);
  const pairs: [empty: Window, full: Window][] = [];
  for (let pair = 0; pair < (isQuick ? 2 : PAIRS); pair++) {
    const isEmptyFirst = pair % 2 === 0;
    const one = await window(isEmptyFirst ? empty : full);
    const other = await window(isEmptyFirst ? full : empty);
    pairs.push(isEmptyFirst ? [one, other] : [other, one]);
  }
  return [
    rowOf(`p99 of ${LAUNCHES_PER_SECOND} ${what}`, pairs, ({ p99_ms }) => p99_ms),
    rowOf(`processor time of one of ${LAUNCHES_PER_SECOND} ${what}`, pairs, ({ cpu_ms }) => cpu_ms),
  ];
}

function rowOf(
  what: string,
  pairs: readonly [empty: Window, full: Window][],
  figure: (window: Window) => number,
): Row {
  const ratios = pairs.map(([empty, full]) => figure(full) / figure(empty));
  const [least = NaN, ratio = NaN, most = NaN] = [0, 0.5, 1].map((share) =>
    quantile(ratios, share)
  );
  const row = atMost(TIMES_MAX, {
    what,
    value: quantile(pairs.map(([, full]) => figure(full)), 0.5),
    unit: "ms",
    floor: quantile(pairs.map(([empty]) => figure(empty)), 0.5),
    floor_what: `none waits; the median of ${pairs.length} pairs, which are ` +
      `${least.toFixed(2)} to ${most.toFixed(2)}`,
  });
  return { ...row, ratio, met: ratio <= TIMES_MAX };
}

async function rss_mib({ pid }: ServeProcess): Promise<number> {
  const status = await Deno.readTextFile(`/proc/${pid}/status`);
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? NaN) * 1_024 / MIB;
}

async function pages_ms({ port }: ServeProcess, path: string): Promise<number[]> {
  const headers = { authorization: `Bearer ${OPERATORS_TOKEN}` };
  const times_ms: number[] = [];
  for (let count = 0; count < 30; count++) {
    const began_ms = performance.now();
    const answer = await fetch(`http://127.0.0.1:${port}/api/v0/${path}`, { headers });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${path} was answered ${answer.status}: ${text}`);
    times_ms.push(performance.now() - began_ms);
  }
  return times_ms;
}
