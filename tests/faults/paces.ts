/**
 * Triggers with a pace on real instances: what their senders send, and what must hold of order, limits, bursts,
 * delays and occurrences, read from the records and from the times that the commands have noted.
 *
 * @module
 */
import type { Execution } from "../../src/store/records/executions.ts";
import type { Run } from "../../src/store/records/runs.ts";
import { eventually } from "../surroundings.ts";
import type { Findings } from "./findings.ts";
import type { History } from "./history.ts";
import type { KeptLaunch } from "./ledger.ts";
import { noteBursts, noteTurns, type Worked } from "./paced_history.ts";
import type { Served } from "./served.ts";
import type { TriggerSettings } from "./workshop.ts";

const LINE = "01900000-0000-7000-8000-000000000011";
const QUEUE = "01900000-0000-7000-8000-000000000012";
const BURST = "01900000-0000-7000-8000-000000000013";
const LATER = "01900000-0000-7000-8000-000000000014";
const MINUTES = "01900000-0000-7000-8000-000000000015";

const LIMITS: Readonly<Record<string, number>> = { [LINE]: 1, [QUEUE]: 2 };
const WINDOW_S = 3;
const WAIT_S_MAX = 8;
const DELAY_S = 2;
/** A run that another instance has accepted is known to the leader after so long, while it is not gone. */
const KNOWN_WITHIN_MS = 2_500;
/** An occurrence of this long before the end may not be stored yet. */
const OCCURS_WITHIN_MS = 60_000;
const MINUTE_MS = 60_000;
const ENDS_WITHIN_MS = 180_000;

const WORK = { type: "run_execution", step: "work" };
const key = "{body.key}";

/** The triggers. */
export const PACED_TRIGGERS: readonly TriggerSettings[] = [
  { id: LINE, name: "line", concurrency: { key, limit: 1 }, actions: [WORK] },
  { id: QUEUE, name: "queue", concurrency: { key, limit: 2 }, actions: [WORK] },
  {
    id: BURST,
    name: "burst",
    coalesce: { key, window: WINDOW_S, max_wait: WAIT_S_MAX },
    actions: [WORK],
  },
  { id: LATER, name: "later", delay: DELAY_S, actions: [WORK] },
  { id: MINUTES, name: "minutes", schedule: [{ cron: "* * * * *" }], actions: [WORK] },
];

/** The triggers that senders launch, each with the pause between two launches. */
export const PACED_SENDERS: readonly { trigger: string; pause_ms: number }[] = [
  { trigger: LINE, pause_ms: 1_200 },
  { trigger: LINE, pause_ms: 1_500 },
  { trigger: QUEUE, pause_ms: 900 },
  { trigger: BURST, pause_ms: 700 },
  { trigger: BURST, pause_ms: 4_500 },
  { trigger: LATER, pause_ms: 1_500 },
];

interface PacesCheck {
  served: Served;
  kept: readonly KeptLaunch[];
  /** Gets what was launched and performed. */
  history: History;
  runs: ReadonlyMap<string, Run>;
  /** The commands' times, by their executions' ids. */
  works(): Promise<Map<string, Worked>>;
  /** The time at which all instances had started. */
  since_ms: number;
}

/** Checks the runs with a pace, all of which have ended. */
export async function checkPaces(
  findings: Findings,
  { served, kept, history, runs, works, since_ms }: PacesCheck,
): Promise<void> {
  const executions: Execution[] = await eventually(async () => {
    const lists = PACED_TRIGGERS.map(({ id }) => served.all(`executions/?trigger=${id}&limit=200`));
    const found = (await Promise.all(lists)).flat();
    return found.every(({ ended_at }) => ended_at !== undefined) ? found : undefined;
  }, { what: "the end of all work that has a pace", within_ms: ENDS_WITHIN_MS });
  const times = await works();
  const worked = new Map<string, Worked>();
  for (const { id, run_id } of executions) {
    const time = times.get(id);
    findings.check(!worked.has(run_id), `Run ${run_id} made two executions`);
    if (time) worked.set(run_id, time);
  }
  const told = new Map(kept.map((launch) => [launch.runId, launch]));
  for (const [id, limit] of Object.entries(LIMITS)) {
    const of = [...runs.values()].filter(({ trigger_id }) => trigger_id === id);
    checkLimit(findings, { of, limit, worked });
    if (limit === 1) checkOrder(findings, { of, told, worked });
    noteTurns(history, { runs, worked }, { trigger: id, limit });
  }
  noteBursts(history, { runs, worked }, { trigger: BURST });
  checkBursts(findings, { runs, told, worked });
  checkDelays(findings, { told, worked });
  checkOccurrences(findings, { runs, since_ms });
  findings.say(`${worked.size} commands of runs with a pace`);
  findings.check(worked.size > 0, "No run with a pace has run a command");
}

/** At most so many commands of a trigger, all of whose launches have one key, ran at once. */
function checkLimit(
  findings: Findings,
  { of, limit, worked }: { of: readonly Run[]; limit: number; worked: Map<string, Worked> },
): void {
  const times = of.flatMap(({ id }) => worked.get(id) ?? []);
  for (const { began_ms } of times) {
    const atOnce = times.filter((time) => time.began_ms <= began_ms && time.ended_ms > began_ms);
    findings.check(
      atOnce.length <= limit,
      `${atOnce.length} commands of trigger ${
        of[0]?.trigger_id
      } ran at ${began_ms}, at most ${limit} may`,
    );
  }
}

/** One that was sent after another was answered runs after it. */
function checkOrder(
  findings: Findings,
  { of, told, worked }: {
    of: readonly Run[];
    told: Map<string, KeptLaunch>;
    worked: Map<string, Worked>;
  },
): void {
  const known = of.flatMap(({ id }) => {
    const [launch, work] = [told.get(id), worked.get(id)];
    return launch && work ? [{ id, ...launch, ...work }] : [];
  });
  for (const one of known) {
    for (const other of known) {
      if (one.answered_ms >= other.sent_ms) continue;
      findings.check(
        one.ended_ms <= other.began_ms,
        `Run ${other.id} was sent after run ${one.id} was accepted, and ran before it`,
      );
    }
  }
}

/** Each burst is one run: the newest; and the next one begins once its time is over. */
function checkBursts(
  findings: Findings,
  { runs, told, worked }: {
    runs: ReadonlyMap<string, Run>;
    told: Map<string, KeptLaunch>;
    worked: Map<string, Worked>;
  },
): void {
  const of = [...runs.values()].filter(({ trigger_id }) => trigger_id === BURST);
  const last = ({ id, superseded_by }: Run): string => {
    const next = superseded_by === undefined ? undefined : runs.get(superseded_by);
    return next ? last(next) : id;
  };
  for (const { id, superseded_by, actions } of of) {
    const isPerformed = actions.length > 0 || worked.has(id);
    findings.check(
      isPerformed === (superseded_by === undefined),
      `Run ${id} is superseded by ${superseded_by}, and made ${actions.length} actions`,
    );
  }
  const groups = [...Map.groupBy(of, last).values()].map((group) => {
    const times = group.map(({ created_at }) => Date.parse(created_at));
    const [first_ms, last_ms] = [Math.min(...times), Math.max(...times)];
    const answers = group.flatMap(({ id }) => told.get(id)?.answered_ms ?? []);
    const until_ms = Math.min(last_ms + WINDOW_S * 1_000, first_ms + WAIT_S_MAX * 1_000);
    const answered_ms = performance.timeOrigin + Math.min(...answers);
    return { size: group.length, first_ms, until_ms, answered_ms, isWhole: answers.length > 0 };
  }).sort((one, other) => one.first_ms - other.first_ms);
  for (const [index, { answered_ms, isWhole }] of groups.entries()) {
    const before = groups[index - 1];
    if (before === undefined || !isWhole) continue;
    findings.check(
      answered_ms + KNOWN_WITHIN_MS > before.until_ms,
      `A burst became two runs: one was to be open until ${before.until_ms}, and another one ` +
        `began with what was accepted before ${answered_ms}`,
    );
  }
  findings.say(`${of.length} launches in ${groups.length} bursts`);
}

/** The delay counts from the request, which is received before its run is made. */
function checkDelays(
  findings: Findings,
  { told, worked }: { told: Map<string, KeptLaunch>; worked: Map<string, Worked> },
): void {
  for (const [id, { trigger, sent_ms }] of told) {
    const began_ms = worked.get(id)?.began_ms;
    if (trigger !== LATER || began_ms === undefined) continue;
    // The command's clock has whole milliseconds.
    const after_ms = began_ms + 1 - (performance.timeOrigin + sent_ms);
    findings.check(after_ms >= DELAY_S * 1_000, `Run ${id} began ${after_ms} ms after its request`);
  }
}

/** Each minute made one run. */
function checkOccurrences(
  findings: Findings,
  { runs, since_ms }: { runs: ReadonlyMap<string, Run>; since_ms: number },
): void {
  const found = [...runs.values()].flatMap(({ scheduled_for }) => scheduled_for ?? []);
  const byTime = Map.groupBy(found, (time) => Date.parse(time));
  for (const [time_ms, of] of byTime) {
    const time = new Date(time_ms).toISOString();
    findings.check(of.length === 1, `The occurrence of ${time} made ${of.length} runs`);
  }
  const first_ms = Math.ceil(since_ms / MINUTE_MS) * MINUTE_MS;
  for (let time_ms = first_ms; time_ms < Date.now() - OCCURS_WITHIN_MS; time_ms += MINUTE_MS) {
    const time = new Date(time_ms).toISOString();
    findings.check(byTime.has(time_ms), `The occurrence of ${time} made no run`);
  }
  findings.say(`${byTime.size} occurrences`);
}
