/**
 * What a trigger notices of others that are at their limits: launches of one trigger at a constant rate, and
 * `/healthz`, while attackers do their worst. Each attacker is measured alone, and then all at once.
 *
 * @module
 */
import { serve, type Served, TOKEN } from "../faults/served.ts";
import { type Attacker, ATTACKERS } from "./attackers.ts";
import type { Bench } from "./bench.ts";
import { pause, quantile } from "./measuring.ts";
import { type Paced, paced } from "./paced.ts";
import { payload, sign } from "./requests.ts";
import { below } from "./table.ts";

const LAUNCHES_PER_SECOND = 50;
const HEALTH_INTERVAL_MS = 50;
/** The time from the start of an attack to the measurement. */
const WARM_UP_MS = 2_000;
const AIMS_MS = { p50: 15, p99: 100, health: 250, stop: 2_000 };
const SECRET = "the secret of the trigger that is not attacked";
const QUIET = "01900000-0000-7000-8000-000000000001";

/** Measures launches and `/healthz` beside each attacker, and beside all of them. */
export async function measureIsolation(bench: Bench): Promise<void> {
  const cases: { name: string; attackers: readonly Attacker[] }[] = [
    { name: "nothing", attackers: [] },
    ...ATTACKERS.map((attacker) => ({ name: attacker.name, attackers: [attacker] })),
    { name: "all of that at once", attackers: ATTACKERS },
  ];
  for (const { name, attackers } of cases) await measureBeside(bench, name, attackers);
}

async function measureBeside(
  bench: Bench,
  name: string,
  attackers: readonly Attacker[],
): Promise<void> {
  const folder = await Deno.makeTempDir({ dir: bench.folder, prefix: "isolation-" });
  const id = (index: number) => QUIET.replace(/1$/, String(index + 2));
  await writeConfiguration(folder, attackers, id);
  const flags = ["--max-executions", "2"];
  await using service = await serve(folder, { flags, onSpawn: (child) => bench.own(child) });
  await using attacks = new AsyncDisposableStack();
  for (const [index, attacker] of attackers.entries()) {
    const url = `${service.url}/api/v0/launch/${id(index)}/`;
    attacks.use(await attacker.begin({ url, spawn: (...args) => bench.spawn(...args) }));
  }
  await pause(WARM_UP_MS);
  const over = new AbortController();
  const health = watchHealth(service, over.signal);
  const body = payload(1_024);
  const request = {
    method: "POST",
    path: `/api/v0/launch/${QUIET}/`,
    headers: { "content-type": "application/json", "x-signature": sign(body, SECRET) },
    body,
  } as const;
  const seconds = bench.isQuick ? 5 : 15;
  const launched = await paced({
    port: service.port,
    request,
    per_second: LAUNCHES_PER_SECOND,
    seconds,
  });
  over.abort();
  addRows(bench, name, launched, await health);
  await stopExecutions(bench, name, service);
}

function addRows(bench: Bench, name: string, launched: Paced, health_ms: number): void {
  const what = (figure: string) => `${LAUNCHES_PER_SECOND} launches/s beside ${name}, ${figure}`;
  const detail = `slowest ${launched.max_ms.toFixed(0)} ms`;
  const { p50_ms, p99_ms } = launched;
  bench.add(below(AIMS_MS.p50, { what: what("p50"), value: p50_ms, unit: "ms", detail }));
  bench.add(below(AIMS_MS.p99, { what: what("p99"), value: p99_ms, unit: "ms" }));
  const slowest = `slowest /healthz beside ${name}`;
  bench.add(below(AIMS_MS.health, { what: slowest, value: health_ms, unit: "ms" }));
}

/** Returns the longest time that `/healthz` took, in milliseconds. */
async function watchHealth({ url }: Served, signal: AbortSignal): Promise<number> {
  const times_ms: number[] = [];
  while (!signal.aborted) {
    const began_ms = performance.now();
    await (await fetch(`${url}/healthz`)).text();
    times_ms.push(performance.now() - began_ms);
    await pause(HEALTH_INTERVAL_MS);
  }
  return quantile(times_ms, 1);
}

/** Stops what is running, and measures how long that takes. */
async function stopExecutions(bench: Bench, name: string, service: Served): Promise<void> {
  const { results } = await service.api("executions/?status=started");
  if (results.length === 0) return;
  const headers = { authorization: `Bearer ${TOKEN}` };
  const began_ms = performance.now();
  const stopping: string[] = [];
  for (const { id } of results) {
    const url = `${service.url}/api/v0/executions/${id}/stop/`;
    const { status } = await (await fetch(url, { method: "POST", headers })).json();
    // One that stays started has ended its command already: nothing is left to stop.
    if (status !== "started") stopping.push(id);
  }
  if (stopping.length === 0) return;
  for (const id of stopping) {
    while ((await service.api(`executions/${id}/`)).ended_at === undefined) await pause(10);
  }
  const value = performance.now() - began_ms;
  const what = `stopping ${stopping.length} executions beside ${name}`;
  bench.add(below(AIMS_MS.stop, { what, value, unit: "ms" }));
}

async function writeConfiguration(
  folder: string,
  attackers: readonly Attacker[],
  id: (index: number) => string,
): Promise<void> {
  await Deno.mkdir(`${folder}/quiet`);
  await Deno.writeTextFile(`${folder}/quiet/valohai.yaml`, "[]");
  const projects = [{ name: "quiet", directory: "./quiet" }];
  const hmac = { type: "hmac", header: "x-signature", prefix: "sha256=", secrets: [SECRET] };
  const triggers: Record<string, unknown>[] = [{
    id: QUIET,
    name: "quiet",
    project: "quiet",
    conditions: [{ ...hmac, algorithm: "sha256" }],
    actions: [{ type: "fetch_repository" }],
  }];
  for (const [index, { project, trigger }] of attackers.entries()) {
    const name = `attacked-${index}`;
    await Deno.mkdir(`${folder}/${name}`);
    await Deno.writeTextFile(`${folder}/${name}/valohai.yaml`, project);
    projects.push({ name, directory: `./${name}` });
    triggers.push({ id: id(index), name, project: name, ...trigger });
  }
  await Deno.writeTextFile(`${folder}/hooklaunch.yaml`, JSON.stringify({ projects, triggers }));
}
