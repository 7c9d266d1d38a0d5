/**
 * Backups of a shared database that changes meanwhile: between any two reads of one, launches are stored, or their
 * work, or its end. No record of the copy may contradict another.
 */
import { assert, assertEquals, fail } from "@std/assert";
import { hash } from "node:crypto";
import { liveRecords } from "../../../src/backup/shared/live_records.ts";
import { newId } from "../../../src/platform/ids.ts";
import { derivedId } from "../../../src/platform/ids.ts";
import { keys } from "../../../src/store/keys.ts";

type Writes = [key: Deno.KvKey, value?: unknown][];

const TRIGGER = newId(0);

/** The commits of one run, from its launch to its end: each is stored all or not at all. */
function* commitsOf(id: string, name: string): Generator<Writes> {
  const execution = derivedId(id, 0, "execution");
  const attempt = derivedId(execution, "attempt", 1);
  const second = derivedId(execution, "attempt", 2);
  const pipeline = derivedId(id, 1, "pipeline");
  const node = derivedId(pipeline, "node", 0, "execution");
  const facts = { trigger_id: TRIGGER, delivery_id: name, callback: true as const };
  const run = { id, ...facts, actions: [] as unknown[] };
  const sent = hash("sha256", name);
  const launched = { run_id: id, trigger_id: TRIGGER };
  const burst = keys.burst(TRIGGER, sent);
  const upload = keys.upload(id);
  yield [[upload, true], [keys.payload(id, 0), new Uint8Array(9)]];
  yield [
    [upload],
    [keys.pending(id, TRIGGER), { run }],
    [keys.delivery(TRIGGER, sent), { run_id: id }],
  ];
  yield [
    [keys.pending(id, TRIGGER)],
    [keys.held(id, TRIGGER), { run }],
    [burst, { run_id: id }],
  ];
  yield [
    [keys.held(id, TRIGGER)],
    [keys.pending(id, TRIGGER), { run }],
    [burst],
    [keys.turn(id), { run_id: id, trigger_id: TRIGGER }],
  ];
  const first = { id: attempt, attempt_of: execution, ...launched, status: "queued" };
  const whole = { id: execution, ...launched, attempt_id: attempt };
  yield [
    [keys.execution(execution), { ...whole, attempts: [{ execution_id: attempt }] }],
    [keys.execution(attempt), first],
    [keys.executionOpen(execution), "queued"],
    [keys.executionOpen(attempt), "queued"],
  ];
  const record = { id: pipeline, ...launched, nodes: [{}] };
  yield [
    [keys.pending(id, TRIGGER)],
    [keys.run(id), {
      ...run,
      actions: [{ created: { execution_id: execution } }, { created: { pipeline_id: pipeline } }],
    }],
    [keys.triggerRun(TRIGGER, id), true],
    [keys.sentId(sent, id), true],
    [keys.callbackDue(id), TRIGGER],
    [keys.pipeline(pipeline), record],
    [keys.pipelinePlan(pipeline, 0), new Uint8Array(3)],
    [keys.pipelineOpen(pipeline), true],
  ];
  yield [
    [keys.pipeline(pipeline), { ...record, nodes: [{ execution_id: node }] }],
    [keys.execution(node), { id: node, ...launched, pipeline_id: pipeline }],
    [keys.executionOpen(node), "queued"],
    [keys.givenSecrets(node, 0), "sealed"],
  ];
  yield [[keys.job(node), { log_bytes: 0 }]];
  yield [[keys.job(node), { log_bytes: 5 }], [keys.jobLog(node, 0), new Uint8Array(5)]];
  yield [
    [keys.execution(attempt), { ...first, status: "error" }],
    [keys.executionOpen(attempt)],
    [keys.execution(second), { ...first, id: second }],
    [keys.executionOpen(second), "created"],
    [keys.executionRetry(second), "soon"],
    [keys.execution(execution), {
      ...whole,
      attempt_id: second,
      attempts: [{ execution_id: attempt }, { execution_id: second }],
    }],
  ];
  yield [
    [keys.execution(node), { id: node, ...launched, pipeline_id: pipeline, status: "complete" }],
    [keys.executionOpen(node)],
    [keys.givenSecrets(node, 0)],
    [keys.job(node)],
    [keys.jobLog(node, 0)],
  ];
  yield [
    [keys.pipeline(pipeline), { ...record, nodes: [{ execution_id: node }], status: "complete" }],
    [keys.pipelineOpen(pipeline)],
  ];
  yield [[keys.turn(id)]];
  const callback = derivedId(id, "callback");
  yield [
    [keys.callbackDue(id)],
    [keys.httpRequest(callback), { id: callback, ...launched }],
    [keys.httpRequestOpen(callback), true],
    [keys.httpRequestPlan(callback, 0), new Uint8Array(2)],
  ];
  yield [
    [keys.httpRequest(callback), { id: callback, ...launched, status: "complete" }],
    [keys.httpRequestOpen(callback)],
  ];
}

/** The commits that make a trigger, with its name, and rename it. */
function* commitsOfTrigger(id: string): Generator<Writes> {
  const registry = keys.registry();
  yield [[registry, id], [keys.trigger(id), { name: id }], [keys.triggerName(id), id]];
  yield [
    [registry, `${id} again`],
    [keys.trigger(id), { name: `${id}b` }],
    [keys.triggerName(id)],
    [keys.triggerName(`${id}b`), id],
  ];
}

/** A database in which commits of others are stored between the reads. */
class Busy {
  #left = Infinity;
  readonly kv: Deno.Kv;

  constructor(kv: Deno.Kv, readonly step: () => Promise<void>, readonly pace: () => number) {
    const before = async () => {
      if (this.#left === Infinity) this.#left = this.pace();
      for (; this.#left <= 0; this.#left += this.pace()) await this.step();
      this.#left--;
    };
    this.kv = new Proxy(kv, {
      get(target, name) {
        if (name === "list") {
          return async function* (selector: Deno.KvListSelector, options: Deno.KvListOptions) {
            await before();
            // A batch of two: the longest view of one moment that there is here.
            for await (const each of target.list(selector, { ...options, batchSize: 2 })) {
              yield each;
              await before();
            }
          };
        }
        const value = Reflect.get(target, name);
        if (typeof value !== "function") return value;
        return async (...args: unknown[]) => {
          if (name === "get" || name === "getMany") await before();
          return await value.apply(target, args);
        };
      },
    });
  }
}

async function store(kv: Deno.Kv, writes: Writes): Promise<void> {
  const operation = kv.atomic();
  for (const [key, value] of writes) {
    if (value === undefined) operation.delete(key);
    else operation.set(key, value);
  }
  await operation.commit();
}

/** Random numbers that a seed repeats. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => (state = (state * 1_103_515_245 + 12_345) % 2 ** 31) / 2 ** 31;
}

/** @param share the share of triggers among what changes */
async function copyOf(
  seed: number,
  share: number,
): Promise<{ copy: Map<string, unknown>; before: string[] }> {
  const random = randomOf(seed);
  using kv = await Deno.openKv(":memory:");
  await kv.set(keys.format(), 7);
  let made = 0;
  const begin = (): { left: Generator<Writes> } => {
    const n = made++;
    const id = newId(n + 1);
    const isTrigger = (n % 5) / 5 >= 1 - share;
    return { left: isTrigger ? commitsOfTrigger(id) : commitsOf(id, `delivery ${n}`) };
  };
  const lives = Array.from({ length: 12 }, begin);
  const step = async () => {
    const at = Math.floor(random() * lives.length);
    const { value } = lives[at]?.left.next() ?? {};
    if (value === undefined) lives[at] = begin();
    else await store(kv, value);
  };
  // Each is somewhere on its way when the backup begins.
  for (let steps = 0; steps < 60; steps++) await step();
  const before = (await Array.fromAsync(kv.list({ prefix: [] }))).flatMap(({ key }) =>
    ["pending", "held", "run"].includes(String(key[0])) ? [String(key[1])] : []
  );
  // Others soon stop: the configuration is read until nothing of it has changed.
  let steps = 0;
  const busy = new Busy(kv, async () => {
    if (steps++ < 120) await step();
  }, () => 1 + Math.floor(random() * 8));
  const copy = new Map<string, unknown>();
  const { signal } = new AbortController();
  const onDamage = (key: Deno.KvKey) => fail(`${key} is not damaged`);
  for await (const { key, value } of liveRecords(busy.kv, { signal, onDamage })) {
    copy.set(key.join(" "), value);
  }
  return { copy, before };
}

/** Yields each contradiction between records of a copy. */
function* flawsOf(copy: ReadonlyMap<string, unknown>, before: readonly string[]) {
  const has = (key: Deno.KvKey) => copy.has(key.join(" "));
  const keysOf = (kind: string) =>
    [...copy.keys()].map((key) => key.split(" ")).filter(([first]) => first === kind);
  for (const id of new Set(before)) {
    const places = [keys.pending(id, TRIGGER), keys.held(id, TRIGGER), keys.run(id)].filter(has);
    if (places.length !== 1) yield `run ${id} is in ${places.length} places`;
  }
  for (const [, id = ""] of keysOf("run")) {
    const { actions, delivery_id } = Object(copy.get(keys.run(id).join(" ")));
    if (!has(keys.triggerRun(TRIGGER, id))) yield `run ${id} is not listed`;
    if (!has(keys.sentId(hash("sha256", delivery_id), id))) yield `run ${id} is not found`;
    if (!has(keys.payload(id, 0))) yield `run ${id} has no payload`;
    for (const { created } of actions) {
      const { execution_id, pipeline_id } = created;
      if (execution_id && !has(keys.execution(execution_id))) yield `${id}: no execution`;
      if (pipeline_id && !has(keys.pipeline(pipeline_id))) yield `${id}: no pipeline`;
    }
    const isTold = has(keys.callbackDue(id)) || has(keys.httpRequest(derivedId(id, "callback")));
    if (!isTold) yield `run ${id} is not called back`;
  }
  for (const kind of ["trigger_run", "turn", "callback_due"]) {
    for (const key of keysOf(kind)) {
      const id = key.at(kind === "trigger_run" ? 2 : 1) ?? "";
      const isThere = [keys.pending(id, TRIGGER), keys.held(id, TRIGGER), keys.run(id)].some(has);
      if (!isThere) yield `${kind} of ${id}, which is not there`;
    }
  }
  for (const kind of ["pipeline", "execution", "http_request"]) {
    for (const [, id = ""] of keysOf(kind)) {
      const { run_id } = Object(copy.get([kind, id].join(" ")));
      const places = [keys.pending(run_id, TRIGGER), keys.held(run_id, TRIGGER), keys.run(run_id)];
      if (!places.some(has)) yield `${kind} ${id} of ${run_id}, which is not there`;
    }
  }
  for (const [, , hashed = ""] of keysOf("burst")) {
    const { run_id } = Object(copy.get(keys.burst(TRIGGER, hashed).join(" ")));
    if (!has(keys.held(run_id, TRIGGER))) yield `a burst of ${run_id}, which is not held`;
  }
  for (const [, , hashed = ""] of keysOf("delivery")) {
    const { run_id } = Object(copy.get(keys.delivery(TRIGGER, hashed).join(" ")));
    const places = [keys.pending(run_id, TRIGGER), keys.held(run_id, TRIGGER), keys.run(run_id)];
    if (!places.some(has)) yield `the delivery of ${run_id}, which is not there`;
  }
  for (const [, id = ""] of keysOf("pipeline")) {
    const { nodes, status } = Object(copy.get(keys.pipeline(id).join(" ")));
    if (has(keys.pipelineOpen(id)) !== (status === undefined)) yield `pipeline ${id}: open?`;
    if (!has(keys.pipelinePlan(id, 0))) yield `pipeline ${id} has no plan`;
    const [{ execution_id }] = nodes;
    if (execution_id && !has(keys.execution(execution_id))) yield `pipeline ${id}: no execution`;
  }
  for (const [, id = ""] of keysOf("execution")) {
    const record = Object(copy.get(keys.execution(id).join(" ")));
    const { status, pipeline_id, attempts = [], attempt_of } = record;
    const isOver = status === "complete" || status === "error";
    if (has(keys.executionOpen(id)) === isOver) yield `execution ${id}: open?`;
    for (const { execution_id } of attempts) {
      if (!has(keys.execution(execution_id))) yield `execution ${id} lacks an attempt`;
    }
    if (attempt_of) {
      const of = Object(copy.get(keys.execution(attempt_of).join(" ")));
      if (!of.attempts?.some(({ execution_id }: { execution_id: string }) => execution_id === id)) {
        yield `attempt ${id} is of none`;
      }
    }
    if (pipeline_id) {
      const { nodes } = Object(copy.get(keys.pipeline(pipeline_id).join(" ")));
      if (nodes?.[0].execution_id !== id) yield `execution ${id} is of no node`;
      const { log_bytes = 0 } = Object(copy.get(keys.job(id).join(" ")));
      if (log_bytes > 0 && !has(keys.jobLog(id, 0))) yield `the log of ${id} is not there`;
      if (isOver && has(keys.givenSecrets(id, 0))) yield `secrets of ${id}, which has ended`;
    }
  }
  for (const [, id = ""] of keysOf("trigger")) {
    const { name } = Object(copy.get(keys.trigger(id).join(" ")));
    if (copy.get(keys.triggerName(name).join(" ")) !== id) yield `trigger ${id} is not named`;
  }
  const names = keysOf("trigger_name").length;
  if (names !== keysOf("trigger").length) yield `${names} names of triggers`;
}

Deno.test("a copy of a database that others write to holds together, and lacks nothing that was there", async () => {
  for (let seed = 1; seed <= 25; seed++) {
    const { copy, before } = await copyOf(seed, 0.2);
    assert(before.length > 0);
    assertEquals([...flawsOf(copy, before)], [], `seed ${seed}`);
  }
});

Deno.test("a copy has the configuration of one moment, however often it changes meanwhile", async () => {
  for (let seed = 1; seed <= 10; seed++) {
    const { copy, before } = await copyOf(seed, 1);
    assertEquals([...flawsOf(copy, before)], [], `seed ${seed}`);
  }
});
