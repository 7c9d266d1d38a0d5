/**
 * The cost of values: launches of 100 triggers with ten values each, held in pairs against launches of 100 triggers
 * with ten literals. Processor time of the service counts, which others on the machine hardly change; that of the
 * steps' own processes does not.
 *
 * @module
 */
import { cpuOf, firstAnswer } from "./against.ts";
import type { Bench } from "./bench.ts";
import { pause, quantile } from "./measuring.ts";
import { makeProject, STEP } from "./project.ts";
import { post, SECRET, type Sent, sign, triggerId } from "./requests.ts";
import { metric, type ServeProcess, settled, spawnServe } from "./servers.ts";
import { atMost } from "./table.ts";
import { load } from "./wrk.ts";

const TRIGGERS = 100;
const CONNECTIONS = 32;
const EXECUTIONS_PER_S = 20;
const SETTLED_WITHIN_MS = 120_000;
/** The body has some 1 KiB with it. */
const PAD_BYTES = 800;

/** The values of a sender, which the trigger of comparison has as literals. */
const FIELDS = {
  action: "opened",
  name: "digits",
  branch: "refs/heads/main",
  author: "octo",
  email: "octo@example.com",
  size: 1_024,
  rate: 0.001,
  epochs: 12,
  is_full: true,
  message: "Train with the labels of today",
};

/** The values of a trigger: each has expressions of its own, so that none profits from what another has compiled. */
function valuesOf(trigger: number): Record<string, string> {
  return Object.fromEntries(
    Object.keys(FIELDS).map((name) => [name, `{body.of_${trigger}.${name}}`]),
  );
}

function launchOf(trigger: number): Sent {
  const body = JSON.stringify({ [`of_${trigger}`]: FIELDS, pad: "x".repeat(PAD_BYTES) });
  return post(triggerId(trigger), { "x-signature": sign(body) }, body);
}

type What = "literals" | "values";

/** A kind of launches: its triggers with values, and those without. */
interface Kind {
  what: string;
  aim: number;
  settings(fields: object): object;
  /** Sends launches. */
  send(bench: Bench, port: number, requests: readonly Sent[]): Promise<void>;
}

const KINDS: readonly Kind[] = [
  {
    what: "launch and its run, 10 values in the answer, 100 triggers",
    aim: 1.25,
    settings: (fields) => ({
      actions: [{ type: "fetch_repository" }],
      response: { type: "json", json: fields },
    }),
    async send(bench, port, requests) {
      const options = { port, connections: CONNECTIONS, requests };
      const { refused, failed } = await load(bench, options);
      if (refused + failed > 0) throw new Error(`${refused + failed} launches were not accepted`);
    },
  },
  {
    what: "launch and its execution, 10 values as parameters, 100 triggers",
    aim: 1.25,
    settings: (fields) => ({
      actions: [{ type: "run_execution", step: STEP, parameters: fields }],
    }),
    async send(_bench, port, requests) {
      await Promise.all(requests.map(async ({ method, path, headers, body }, index) => {
        await pause(index * 1_000 / EXECUTIONS_PER_S);
        const answer = await fetch(`http://127.0.0.1:${port}${path}`, { method, headers, body });
        await answer.body?.cancel();
        if (!answer.ok) throw new Error(`A launch was answered ${answer.status}`);
      }));
    },
  },
];

/** Measures each kind in pairs, every other pair the one without values first. */
export async function measureValues(bench: Bench): Promise<void> {
  await using server = await started(bench);
  for (const [place, kind] of KINDS.entries()) {
    const measure = (what: What) => launchCost(bench, server, { place, kind, what });
    // What is compiled and prepared at first is not measured.
    await measure("literals");
    await measure("values");
    const pairs: Record<What, number>[] = [];
    for (let round = 0; round < (bench.isQuick ? 4 : 10); round++) {
      const order: readonly What[] = round % 2 === 0
        ? ["literals", "values"]
        : ["values", "literals"];
      const pair = { literals: NaN, values: NaN };
      for (const what of order) pair[what] = await measure(what);
      pairs.push(pair);
    }
    addRow(bench, kind, pairs);
  }
}

/** Measures the processor time of a launch with all that it makes the service do, in µs. */
async function launchCost(
  bench: Bench,
  { port, pid }: ServeProcess,
  { place, kind, what }: { place: number; kind: Kind; what: What },
): Promise<number> {
  const requests = triggersOf(place, what).map(launchOf);
  const accepted = () => metric(port, "hooklaunch_launch_seconds_count", 'status="200"');
  const [before, before_ms] = [await accepted(), await cpuOf(pid, 2)];
  await kind.send(bench, port, requests);
  if (!await settled(port, SETTLED_WITHIN_MS)) throw new Error("Runs do not come to their end");
  const [after, after_ms] = [await accepted(), await cpuOf(pid, 2)];
  return (after_ms - before_ms) * 1_000 / (after - before);
}

function addRow(bench: Bench, { what, aim }: Kind, pairs: readonly Record<What, number>[]): void {
  const ratios = pairs.map(({ literals, values }) => values / literals);
  const floor = quantile(pairs.map(({ literals }) => literals), 0.5);
  const [least, middle, most] = [0, 0.5, 1].map((share) => quantile(ratios, share));
  bench.add(atMost(aim, {
    what: `processor time of a ${what}`,
    value: floor * (middle ?? NaN),
    unit: "µs",
    floor,
    floor_what: "the same with literals",
    detail: `ratios of ${pairs.length} pairs ${least?.toFixed(2)}–${most?.toFixed(2)}`,
  }));
}

/** The numbers of the triggers of a kind, with values or without. */
function triggersOf(place: number, what: What): number[] {
  const first = (place * 2 + (what === "values" ? 1 : 0)) * TRIGGERS;
  return Array.from({ length: TRIGGERS }, (_, index) => first + index);
}

async function started(bench: Bench): Promise<ServeProcess> {
  const folder = await Deno.makeTempDir({ dir: bench.folder, prefix: "values-" });
  const repository = await makeProject(bench.folder, {
    folder: "values",
    image: "none",
    command: "true",
    parameters: FIELDS,
  });
  const condition = {
    type: "hmac",
    algorithm: "sha256",
    header: "X-Signature",
    prefix: "sha256=",
    secrets: [SECRET],
  };
  const triggers = KINDS.flatMap(({ settings }, place) =>
    (["literals", "values"] as const).flatMap((what) =>
      triggersOf(place, what).map((trigger) => ({
        id: triggerId(trigger),
        name: `trigger-${trigger}`,
        project: "values",
        conditions: [condition],
        ...settings(what === "values" ? valuesOf(trigger) : FIELDS),
      }))
    )
  );
  const config = `${folder}/hooklaunch.yaml`;
  const projects = [{ name: "values", repository }];
  await Deno.writeTextFile(config, JSON.stringify({ projects, triggers }));
  const server = spawnServe(bench, `${folder}/data`, undefined, ["--config", config]);
  await firstAnswer(server, launchOf(0));
  return server;
}
