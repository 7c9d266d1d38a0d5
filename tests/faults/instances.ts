/**
 * Three instances on one denokv server, each of which is killed, frozen and stopped in turn under load; the
 * server is frozen and killed, and a way to it delays, cuts and loses answers, or passes on nothing while its
 * connections stay open; also several of these at once. Senders ask another instance when one does not answer.
 *
 * @module
 */
import { createHash } from "node:crypto";
import type { Run } from "../../src/store/records/runs.ts";
import { denokv, faultyWay } from "../store/denokv.ts";
import { KV_TOKEN } from "../store/kv_connect.ts";
import { eventually } from "../surroundings.ts";
import { mostWithin } from "./check_ledger.ts";
import { changes } from "./changes.ts";
import { type Findings, pause, type Random } from "./findings.ts";
import { untilReady } from "./gone.ts";
import { checkOutputs, FAR_TRIGGER, NEAR_TRIGGER } from "./far.ts";
import { checkHistory, History } from "./history.ts";
import { suffer } from "./instance_faults.ts";
import type { InstancesSize, Quota } from "./instances_size.ts";
import type { KeptLaunch } from "./ledger.ts";
import { checkPaces, PACED_SENDERS, PACED_TRIGGERS } from "./paces.ts";
import { checkOwn, OWN, ownTrigger } from "./own.ts";
import { serve, type Served } from "./served.ts";
import { type Workshop, workshop } from "./workshop.ts";

const SENDERS = 12;
const DELIVERIES = 200;
const ROUNDS = 30;
const INSTANCES = 3;
const LEAST = 100;
/** Of many runs that wait for each other, one ends after so long at most. */
const ENDS_WITHIN_MS = 180_000;

const FREE = "01900000-0000-7000-8000-000000000001";
const LIMITED = "01900000-0000-7000-8000-000000000002";
const ONCE = "01900000-0000-7000-8000-000000000003";
const QUOTA: Quota = [3, 30];

/** Each launch of a trigger at the cluster starts a job. */
const FAR_PAUSE_MS = 4_000;
const NEAR_PAUSE_MS = 1_000;
/** As a proxy that serves HTTPS passes a launch on. */
const FORWARDED = { "x-forwarded-proto": "https" };

/** A launch that was answered 200. */
interface Answered extends KeptLaunch {
  /** Which instance has answered, and when. */
  by: string;
}

/** What senders have been told. */
interface Told {
  kept: Answered[];
  /** All launches, also those that were not accepted. */
  history: History;
  unavailable: number;
  unanswered: number;
  /** The longest time without an accepted launch since it was set to 0. */
  gap_ms: number;
  /** What senders were told in that time. */
  inGap: string;
  /** The same since the last launch that was accepted: how often each. */
  sinceLast: Map<string, number>;
}

/** Runs the faults one after the other, and holds what senders were told against what there is. */
export async function instances(
  findings: Findings,
  random: Random,
  size: InstancesSize,
): Promise<void> {
  const { faults, gap_ms, answer_ms, pause_ms, paced, changed, settle_ms, earlier } = size;
  const { instances: count = INSTANCES, senders = SENDERS, least = LEAST } = size;
  const { network, shares = false } = size;
  // In a network they share a bucket.
  const claims = shares || network !== undefined;
  const { quota = QUOTA, deliveries = DELIVERIES, rounds = ROUNDS } = size;
  await using stack = new AsyncDisposableStack();
  // Instances in a network of their own do not reach this process.
  const own = network === undefined ? ownTrigger() : undefined;
  if (own) stack.use(own.receiver);
  await using shop = await workshop([
    { id: FREE, name: "free" },
    { id: LIMITED, name: "limited", conditions: [limit(quota)] },
    {
      id: ONCE,
      name: "once",
      conditions: [{ type: "deduplication", in: "header", name: "x-id", window: 86_400 }],
    },
    ...paced === undefined ? [] : PACED_TRIGGERS,
    ...network === undefined ? [] : [FAR_TRIGGER],
    ...claims ? [NEAR_TRIGGER] : [],
    ...own === undefined ? [] : [own.trigger],
  ], network?.place.engine);
  await using server = await denokv(shop.folder, network?.place.database);
  const ways = network === undefined
    ? Array.from({ length: count }, () => stack.use(faultyWay(server.port)))
    : [];
  const storage = `${shop.folder}/artifacts`;
  if (shares) await Deno.mkdir(storage);
  const upgraded = new Set<number>();
  const start = (index: number) => {
    const { within = [], flags = [], env = {} } = network?.place.optionsOf(index) ?? {};
    return serve(shop.folder, {
      within,
      checkout: upgraded.has(index) ? undefined : earlier,
      data: `${shop.folder}/data-${index}`,
      flags: [
        ...["--kv", ways[index]?.url ?? server.url, "--max-executions", "2"],
        ...shares ? ["--storage", storage] : [],
        ...flags,
      ],
      env: { ...env, [KV_TOKEN.name]: KV_TOKEN.value, HOOKLAUNCH_SECRET_KEY: "00".repeat(32) },
    });
  };
  const serving: Served[] = [await start(0)];
  stack.defer(async () => {
    for (const each of serving) if (!each.hasEnded) each.signal("SIGKILL");
    await Promise.all(serving.map((each) => each.end()));
  });
  for (let index = 1; index < count; index++) serving.push(await start(index));
  const ended: Served[] = [];
  const sayLogs = () => {
    for (const { url, printed } of [...ended, ...serving]) {
      findings.say(`The instance at ${url} has logged:\n${printed()}`);
    }
  };
  const told: Told = {
    kept: [],
    history: new History(),
    unavailable: 0,
    unanswered: 0,
    gap_ms: 0,
    inGap: "",
    sinceLast: new Map(),
  };
  let goesOn = true;
  const since_ms = Date.now();
  const triggers = [FREE, LIMITED, ONCE, ...own === undefined ? [] : [OWN]];
  const common = { serving, told, triggers, answer_ms, quota, deliveries, goesOn: () => goesOn };
  const sending = Array.from(
    { length: senders },
    (_, sender) => send({ ...common, random: random.fork(), sender, pause_ms }),
  );
  const paces = [
    ...paced === undefined
      ? []
      : PACED_SENDERS.map(({ trigger, pause_ms }) => ({ trigger, pause_ms: pause_ms * paced })),
    ...network === undefined ? [] : [{ trigger: FAR_TRIGGER.id, pause_ms: FAR_PAUSE_MS }],
    ...claims ? [{ trigger: NEAR_TRIGGER.id, pause_ms: NEAR_PAUSE_MS }] : [],
  ];
  for (const [index, pace] of paces.entries()) {
    sending.push(send({ ...common, random: random.fork(), sender: senders + index, ...pace }));
  }
  if (changed) sending.push(changes({ ...common, history: told.history, pause_ms }));
  for (const fault of faults) {
    await pause(settle_ms);
    for (const [index, each] of serving.entries()) {
      if (!each.hasEnded) continue;
      // One that has got no time of a busy machine, and so counts as gone, ends: a supervisor starts it again.
      findings.say(`Instance ${index} has ended by itself:\n${each.printed()}`);
      serving[index] = await start(index);
    }
    told.gap_ms = 0;
    const index = fault === "upgrade" ? upgraded.size : random.int(count);
    if (fault === "upgrade") upgraded.add(index);
    const stage = { index, serving, ended, start, server, ways, rounds };
    await (fault === "network" ? network?.suffer(stage) : suffer(fault, stage))
      ?.catch((error) => {
        findings.say(`${fault} ${index}: ${error}`);
        sayLogs();
        throw error;
      });
    await Promise.all(serving.map(untilReady)).catch((error) => {
      sayLogs();
      throw error;
    });
    await pause(settle_ms);
    findings.say(`${fault} ${index}: at most ${Math.round(told.gap_ms)} ms without a launch`);
    const isOfInstance = !fault.startsWith("database") && fault !== "several";
    findings.check(
      !isOfInstance || told.gap_ms <= gap_ms,
      `${fault}: ${told.gap_ms} ms, in which senders were told: ${told.inGap}`,
    );
  }
  goesOn = false;
  await Promise.all(sending);
  const { kept, unavailable, unanswered } = told;
  findings.say(`${kept.length} taken, ${unavailable} answered 503, ${unanswered} not answered`);
  await check(findings, {
    served: serving.find(({ hasEnded }) => !hasEnded),
    kept,
    history: told.history,
    shop,
    since_ms,
    least,
    quota,
    isPaced: paced !== undefined,
  });
  const marks = await shop.marks();
  for (const [id, count] of marks) {
    findings.check(count <= 1, `The command of ${id} ran ${count} times`);
  }
  const served = serving.find(({ hasEnded }) => !hasEnded);
  if (network && served) await checkOutputs(findings, { served, shop, trigger: FAR_TRIGGER });
  if (claims && served) {
    await checkOutputs(findings, { served, shop, trigger: NEAR_TRIGGER });
    const { size: machines } = await shop.places();
    findings.say(`Commands have begun on ${machines} machines`);
    findings.check(machines === count, `Commands have begun on ${machines} of ${count} machines`);
  }
  if (own && served) await checkOwn(findings, { served, receiver: own.receiver });
  if (findings.violations.length > 0) sayLogs();
}

/** Launches until it is told to end. */
async function send(
  { serving, told, random, sender, trigger: paced, answer_ms, pause_ms, goesOn, ...more }: {
    quota: Quota;
    deliveries: number;
    serving: readonly Served[];
    told: Told;
    random: Random;
    sender: number;
    /** Those that are launched. */
    triggers: readonly string[];
    /** One with a pace; absent where each of the others is launched. */
    trigger?: string;
    answer_ms: number;
    pause_ms: number;
    goesOn: () => boolean;
  },
): Promise<void> {
  const { quota, deliveries, triggers } = more;
  let last_ms = performance.now();
  for (let count = 0; goesOn(); count++) {
    const trigger = paced ?? triggers[random.int(triggers.length)] ?? FREE;
    const delivery = trigger === ONCE ? { delivery: random.int(deliveries) } : {};
    const number = `${sender}.${count}`;
    const body = trigger === ONCE
      ? `delivery ${delivery.delivery}`
      : paced === undefined
      ? number
      : JSON.stringify({ key: "k", number });
    const sha256 = createHash("sha256").update(body).digest("hex");
    const launch = { trigger, sha256, ...delivery };
    // What was not answered may be stored: it is sent again only where repeats are recognised.
    const tries = trigger === ONCE ? INSTANCES : 1;
    for (let attempt = 0; attempt < tries; attempt++) {
      const instance = serving[(sender + count + attempt) % serving.length];
      if (instance === undefined) continue;
      const sent_ms = performance.now();
      const answer = await ask(instance, { trigger, body, answer_ms, ...delivery });
      const answered_ms = performance.now();
      const limit = trigger === LIMITED ? quota : undefined;
      const operation = { client: sender, trigger, sha256, quota: limit, sent_ms, answered_ms };
      told.history.launch(operation, answer);
      if (answer === undefined) told.unanswered++;
      else if (answer.status === 503) told.unavailable++;
      else if (answer.status === 200) {
        const took_ms = Math.round(answered_ms - sent_ms);
        const by = `${instance.url} at ${new Date().toISOString()} after ${took_ms} ms`;
        told.kept.push({ ...launch, runId: answer.text, sent_ms, answered_ms, by });
        lastTaken_ms = Math.max(lastTaken_ms, last_ms);
        noteGap(told, answered_ms - lastTaken_ms);
        lastTaken_ms = last_ms = answered_ms;
      }
      if (answer?.status !== 200) {
        const what = `${answer?.status ?? "nothing"} by ${instance.url}`;
        told.sinceLast.set(what, (told.sinceLast.get(what) ?? 0) + 1);
      }
      if (answer !== undefined && answer.status !== 503) break;
    }
    await pause(pause_ms);
  }
}

function noteGap(told: Told, gap_ms: number): void {
  if (gap_ms > told.gap_ms) {
    told.gap_ms = gap_ms;
    told.inGap = [...told.sinceLast].map(([what, count]) => `${count} × ${what}`).join(", ");
  }
  told.sinceLast.clear();
}

/** When a launch of any sender was accepted last. */
let lastTaken_ms = 0;

async function ask(
  { url }: Served,
  { trigger, body, delivery, answer_ms }: {
    trigger: string;
    body: string;
    delivery?: number;
    answer_ms: number;
  },
): Promise<{ status: number; text: string } | undefined> {
  try {
    const answer = await fetch(`${url}/api/v0/launch/${trigger}/`, {
      method: "POST",
      body,
      headers: { ...FORWARDED, ...delivery === undefined ? {} : { "x-id": String(delivery) } },
      signal: AbortSignal.timeout(answer_ms),
    });
    return { status: answer.status, text: await answer.text() };
  } catch {
    return undefined;
  }
}

async function check(
  findings: Findings,
  { served, kept, history, shop, since_ms, least, quota, isPaced }: {
    isPaced: boolean;
    quota: Quota;
    least: number;
    served: Served | undefined;
    kept: readonly Answered[];
    history: History;
    shop: Workshop;
    since_ms: number;
  },
): Promise<void> {
  if (served === undefined) return findings.check(false, "No instance runs any more");
  // Operators are answered again once another instance has taken over from a leader that was killed.
  await eventually(async () => (await served.api("runs/?limit=1")).results && true, {
    what: "a leader",
  });
  const runs = new Map<string, Run>();
  for (let pending = Infinity, before = Infinity; pending > 0; before = pending) {
    await eventually(async () => {
      const found: Run[] = await served.all("runs/?limit=200");
      for (const run of found) runs.set(run.id, run);
      pending = found.filter(({ status }) => status === "pending").length;
      return pending < before || undefined;
    }, { what: `the end of one of ${before} runs`, within_ms: ENDS_WITHIN_MS });
  }
  for (const { runId, sha256, trigger, delivery, by } of kept) {
    // A run that ends between the two reads of a list is not on it.
    const run = runs.get(runId) ?? await served.api(`runs/${runId}/`);
    if (run.id === runId) runs.set(runId, run);
    const of = delivery === undefined ? "" : `, delivery ${delivery}`;
    findings.check(
      run?.trigger_id === trigger,
      `Run ${runId} of trigger ${trigger}${of} is not there, and was promised by ${by}: ` +
        `found ${JSON.stringify(run)}`,
    );
    findings.check(run?.payload?.sha256 === sha256, `Run ${runId} has another payload`);
  }
  history.stored(runs.values());
  const sent = [...runs.values()].filter(({ source }) => source !== "schedule");
  const bodies = Map.groupBy(sent, ({ payload }) => payload.sha256);
  for (const [sha256, of] of bodies) {
    findings.check(of.length === 1, `The body ${sha256} made ${of.length} runs`);
  }
  const [period, most_count] = quota;
  const most = mostWithin(period * 1_000, kept.filter(({ trigger }) => trigger === LIMITED));
  findings.say(
    `${runs.size} runs; at most ${most} launches in ${period} s, of a quota of ${most_count}`,
  );
  findings.check(most <= most_count, `${most} launches in ${period} s, the quota is ${most_count}`);
  if (isPaced) {
    await checkPaces(findings, { served, kept, history, runs, works: shop.works, since_ms });
  }
  await checkHistory(findings, { history, path: `${shop.folder}/history` });
  findings.check(kept.length > least, `Only ${kept.length} launches were taken`);
}

function limit([period, quota]: Quota) {
  return { type: "rate_limit", period, quota };
}
