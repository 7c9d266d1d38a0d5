/**
 * Fills a data folder with triggers and ended runs: the records are those that the store's own functions make, and the
 * commits as large as the database takes, several of them under way at once.
 *
 * @module
 */
import { hash } from "node:crypto";
import process from "node:process";
import { derivedId, newId } from "../../src/platform/ids.ts";
import { parseProject } from "../../src/config/project.ts";
import { BatchSize } from "../../src/store/commit/batch_size.ts";
import type { Write } from "../../src/store/commit/change.ts";
import { type Execution, executionWrites } from "../../src/store/records/executions.ts";
import { keys } from "../../src/store/keys.ts";
import { putProject } from "../../src/store/records/projects.ts";
import { acceptWrites, endWrites, newPending, type Run } from "../../src/store/records/runs.ts";
import { openStore } from "../../src/store/open_store.ts";
import { putNoneLockedWith } from "../../src/store/records/triggers.ts";
import { entryWrites } from "../../src/store/records/trigger_log_entries.ts";
import { sealSecrets, type SecretBox } from "../../src/triggers/secrets.ts";
import { openSecretBox } from "../../src/triggers/secret_key.ts";
import { triggerSchema } from "../../src/triggers/trigger.ts";
import { COMMAND, STEP } from "./project.ts";
import {
  endedRunOf,
  payload,
  SECRET,
  SENDERS_TOKEN,
  TOKEN_TRIGGER,
  triggerId,
} from "./requests.ts";

/** What a data folder is filled with. */
export interface Filling {
  triggers: number;
  /** Ended runs with one execution each, spread over the triggers; past retention, so that cleanup can remove them. */
  runs: number;
  /** Deliveries of every outcome; a quarter of them to the first four triggers. None when absent. */
  deliveries?: number;
  /** The engine of the project; this machine when absent. */
  engine?: Record<string, unknown>;
}

const PROJECT = "bench";
/** The small payload of the runs that are there already. */
const BODY = new TextEncoder().encode(payload(100));
const BODY_SHA256 = hash("sha256", BODY);
const DAY_MS = 24 * 60 * 60_000;
/** The ages of the runs. Retention is 30 days. */
const OLDEST_MS = 300 * DAY_MS;
const NEWEST_MS = 40 * DAY_MS;
/** Commits that are under way at once: the database never waits for the next. */
const COMMITS_AT_ONCE = 3;

const SAID_EACH_MS = 5_000;

const ACTION = { type: "run_execution", step: STEP, payload_input_name: "body" };

/** Fills a new data folder. Tells of its progress on standard error where that takes long. */
export async function fill(
  path: string,
  repository: string,
  { triggers, runs, deliveries = 0, engine }: Filling,
): Promise<void> {
  await using store = await openStore(path);
  const secrets = await openSecretBox(path, undefined);
  await putProject(store, parseProject({ name: PROJECT, repository, ...(engine && { engine }) }));
  const filler = new Filler(store.kv, triggers + runs + deliveries);
  for (let index = 0; index < triggers; index++) {
    await filler.add(await triggerWrites(triggerId(index), SIGNED, secrets));
  }
  await filler.add(await triggerWrites(TOKEN_TRIGGER, WITH_TOKEN, secrets));
  // The first start looks through all secrets, which takes long with many; those that are measured do not.
  await putNoneLockedWith(store, secrets.fingerprint);
  const now_ms = Date.now();
  // What the polls ask for is older than all others, so that no listing of the newest finds it.
  for (const trigger of [triggerId(0), TOKEN_TRIGGER]) {
    await filler.add(runWrites(endedRunOf(trigger), trigger, now_ms - OLDEST_MS));
  }
  for (let index = 0; index < runs; index++) {
    const age_ms = OLDEST_MS + (NEWEST_MS - OLDEST_MS) * index / runs;
    const made_ms = Math.floor(now_ms - age_ms);
    await filler.add(runWrites(newId(made_ms), triggerId(index % triggers), made_ms));
  }
  for (let index = 0; index < deliveries; index++) {
    const made_ms = Math.floor(now_ms - OLDEST_MS * (1 - index / deliveries));
    await filler.add(deliveryWrites(index, made_ms, { triggers, isRare: index < 10 }));
  }
  await filler.end();
}

/** The triggers that get a quarter of all deliveries. */
export const BUSY_TRIGGERS = 4;
/** The sender's id of a delivery, by its number. */
export function deliveryIdOf(index: number): string {
  return `evt_${index}`;
}
/** A text in the bodies of the oldest deliveries alone. */
export const RARE_TEXT = "a needle";

/** The writes of a delivery: half of them are accepted. The oldest are refused by what refuses no other. */
function deliveryWrites(
  index: number,
  made_ms: number,
  { triggers, isRare }: { triggers: number; isRare: boolean },
): Write[] {
  const id = newId(made_ms);
  const isBusy = index % 4 === 0;
  const trigger_id = triggerId(isBusy ? index / 4 % BUSY_TRIGGERS : index % triggers);
  const delivery_id = deliveryIdOf(index);
  const kind = index % 10;
  if (kind < 5) {
    return runWrites(id, trigger_id, made_ms, { delivery_id, text: isRare ? RARE_TEXT : "" });
  }
  const common = {
    id,
    time: new Date(made_ms).toISOString(),
    status: 400,
    delivery_id,
    verdicts: [{ condition: "hmac", index: 0, verdict: "failed" as const }],
    request: {
      method: "POST",
      remote_ip: "192.0.2.7",
      headers: { "user-agent": "bench", "x-github-event": "push", "x-signature": "********" },
      size: BODY.length,
      sha256: BODY_SHA256,
    },
  };
  if (kind === 9) return entryWrites(trigger_id, { ...common, kind: "repeat", run_id: id });
  const isFiltered = kind === 8;
  return entryWrites(trigger_id, {
    ...common,
    kind: "refused",
    ...(isFiltered ? { outcome: "filtered" } : {}),
    condition: isRare ? "ip_allowlist" : isFiltered ? "payload_filter" : "hmac",
    condition_index: 0,
    reason: "Header X-Signature holds a wrong signature",
  });
}

const RESPONSE = { type: "text", text: "{run_id}" };
const SIGNED = triggerSchema.parse({
  name: "signed",
  project: PROJECT,
  conditions: [
    {
      type: "hmac",
      algorithm: "sha256",
      header: "X-Signature",
      prefix: "sha256=",
      secrets: [SECRET],
    },
    { type: "payload_filter", expression: 'body.action == "opened"' },
    { type: "rate_limit", period: 60, quota: 1_000_000 },
  ],
  actions: [ACTION],
  response: RESPONSE,
});
const WITH_TOKEN = triggerSchema.parse({
  name: "with-token",
  project: PROJECT,
  conditions: [{ type: "static_token", in: "header", name: "X-Token", secrets: [SENDERS_TOKEN] }],
  actions: [ACTION],
  response: RESPONSE,
});

/** The writes that store a trigger as applying a file does. */
async function triggerWrites(
  id: string,
  like: typeof SIGNED,
  secrets: SecretBox,
): Promise<Write[]> {
  const name = `trigger-${id}`;
  const now = new Date().toISOString();
  const value = {
    id,
    name,
    created_at: now,
    updated_at: now,
    settings: await sealSecrets({ ...like, name, id }, secrets, id),
  };
  return [{ key: keys.triggerName(name), value: id }, { key: keys.trigger(id), value }];
}

/** The writes of a run that was accepted, performed and has ended, and of its execution. */
function runWrites(
  id: string,
  trigger_id: string,
  made_ms: number,
  { delivery_id, text = "" }: { delivery_id?: string; text?: string } = {},
): Write[] {
  const payloadBytes = text === "" ? BODY : new TextEncoder().encode(text);
  const created_at = new Date(made_ms).toISOString();
  const execution_id = derivedId(id, 0, "execution");
  const sha256 = text === "" ? BODY_SHA256 : hash("sha256", payloadBytes);
  const run: Run = {
    id,
    trigger_id,
    project: PROJECT,
    status: "completed",
    created_at,
    ended_at: created_at,
    remote_ip: "127.0.0.1",
    ...(delivery_id === undefined ? {} : { delivery_id }),
    payload: { size: payloadBytes.length, sha256, content_type: "application/json" },
    actions: [{ action: ACTION.type, created: { execution_step: STEP, execution_id } }],
  };
  const execution: Execution = {
    id: execution_id,
    run_id: id,
    trigger_id,
    project: PROJECT,
    engine: { type: "local", runner: "process" },
    commit: "0".repeat(40),
    step: STEP,
    title: STEP,
    image: "none",
    command: COMMAND,
    inputs: { body: [{ name: "payload", payload_of: id, size: payloadBytes.length, sha256 }] },
    parameters: {},
    environment_variables: {},
    status: "complete",
    created_at,
    started_at: created_at,
    ended_at: created_at,
    duration: 0.1,
    exit_code: 0,
    metadata: {},
    outputs: [],
  };
  const pending = newPending({ run, actions: [ACTION], worker: id }, payloadBytes);
  const { body } = pending;
  return [
    ...acceptWrites(pending, payloadBytes),
    ...endWrites(run, body),
    ...executionWrites(execution),
  ]
    // What was written while it was pending is gone when it has ended.
    .filter(({ key, value }) => value !== undefined && key[0] !== "pending");
}

/** Stores records, and says how far it is where that takes long. */
class Filler {
  readonly #kv: Deno.Kv;
  readonly #total: number;
  readonly #began_ms = performance.now();
  #said_ms = performance.now();
  #count = 0;
  #operation: Deno.AtomicOperation;
  #size = new BatchSize();
  #underWay: Promise<unknown>[] = [];

  constructor(kv: Deno.Kv, total: number) {
    this.#kv = kv;
    this.#total = total;
    this.#operation = kv.atomic();
  }

  /** Adds the writes of a record to the commit that is put together, or begins another one. */
  async add(writes: readonly Write[]): Promise<void> {
    if (!this.#size.add(writes)) {
      await this.#commit();
      this.#size.add(writes);
    }
    for (const { key, value } of writes) this.#operation.set(key, value);
    this.#count++;
    if (performance.now() - this.#said_ms < SAID_EACH_MS) return;
    this.#said_ms = performance.now();
    console.error(`Filling a data folder: ${this.#count} of ${this.#total} records`);
  }

  /** Stores the last ones. */
  async end(): Promise<void> {
    await this.#commit();
    await Promise.all(this.#underWay);
    const took_ms = performance.now() - this.#began_ms;
    if (took_ms < SAID_EACH_MS) return;
    const { user, system } = process.cpuUsage();
    const used_s = ((user + system) / 1e6).toFixed(0);
    const took_s = (took_ms / 1_000).toFixed(0);
    console.error(
      `Filled a data folder: ${this.#count} in ${took_s} s, with ${used_s} s of a processor`,
    );
  }

  async #commit(): Promise<void> {
    this.#underWay.push(this.#operation.commit());
    this.#operation = this.#kv.atomic();
    this.#size = new BatchSize();
    if (this.#underWay.length >= COMMITS_AT_ONCE) await this.#underWay.shift();
  }
}
