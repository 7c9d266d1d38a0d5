/**
 * Holds what senders were told against what a service says that it has done.
 *
 * @module
 */
import { createHash } from "node:crypto";
import type { Run } from "../../src/store/records/runs.ts";
import { eventually } from "../surroundings.ts";
import type { Findings } from "./findings.ts";
import type { KeptLaunch, Ledger } from "./ledger.ts";
import { type Served, TOKEN } from "./served.ts";
import type { Workshop } from "./workshop.ts";

const ENDS_WITHIN_MS = 300_000;

/** What is checked. */
export interface LedgerCheck {
  findings: Findings;
  served: Served;
  ledger: Ledger;
  shop: Workshop;
  /** The period in seconds and the quota of triggers that have one. */
  quotas: ReadonlyMap<string, readonly [period: number, quota: number]>;
}

/** Waits until everything has ended, and checks that it is what was promised. */
export async function checkLedger(check: LedgerCheck): Promise<void> {
  const { findings, served, ledger: { kept } } = check;
  const runs = await eventually(async () => {
    const found = await allRuns(served);
    return found.some(({ status }) => status === "pending") ? undefined : found;
  }, { what: "the end of all runs", within_ms: ENDS_WITHIN_MS });
  const byId = new Map(runs.map((run) => [run.id, run]));
  for (const { runId, sha256, trigger } of kept) {
    const run = byId.get(runId);
    findings.check(run?.trigger_id === trigger, `Run ${runId} was promised and is not there`);
    findings.check(run?.payload.sha256 === sha256, `Run ${runId} has another payload`);
  }
  for (const run of runs) {
    findings.check(run.status === "completed", `Run ${run.id} is ${run.status}`);
  }
  await checkExecutions(check, runs);
  await checkPayloads(check);
  for (const [trigger, [period, quota]] of check.quotas) {
    const ofTrigger = runs.filter(({ trigger_id }) => trigger_id === trigger);
    const launches = kept.filter((launch) => launch.trigger === trigger);
    if (period >= 3_600) {
      findings.check(ofTrigger.length <= quota, `${ofTrigger.length} runs of a quota of ${quota}`);
    }
    const most = mostWithin(period * 1_000, launches);
    findings.say(`at most ${most} launches in ${period} s, of a quota of ${quota}`);
    findings.check(most <= quota, `${most} launches in ${period} s, the quota is ${quota}`);
  }
  checkDeliveries(check, runs);
}

async function allRuns(served: Served): Promise<Run[]> {
  const triggers: { id: string }[] = await served.all("triggers/?limit=200");
  const lists = triggers.map(({ id }) => served.all(`triggers/${id}/runs/?limit=200`));
  return (await Promise.all(lists)).flat();
}

/** Each action of each run made one execution, and its command ran once. */
async function checkExecutions(
  { findings, served, shop }: LedgerCheck,
  runs: readonly Run[],
): Promise<void> {
  const executions: { id: string; status: string; reason?: string; ended_at?: string }[] =
    await eventually(async () => {
      const found = await served.all("executions/?limit=200");
      return found.every(({ ended_at }) => ended_at !== undefined) ? found : undefined;
    }, { what: "the end of all executions", within_ms: ENDS_WITHIN_MS });
  const made = runs.flatMap(({ actions }) =>
    actions.map(({ created }) => Object(created).execution_id)
  );
  const ids = new Set(executions.map(({ id }) => id));
  findings.check(new Set(made).size === made.length, "Two actions have made the same execution");
  for (const id of made) findings.check(ids.has(id ?? ""), `Execution ${id} is not there`);
  findings.check(
    executions.length === made.length,
    `${executions.length} executions, and the actions have made ${made.length}`,
  );
  const marks = await shop.marks();
  for (const { id, status, reason } of executions) {
    findings.check(status === "complete", `Execution ${id} is ${status}: ${reason}`);
    findings.check(marks.get(id) === 1, `The command of ${id} ran ${marks.get(id) ?? 0} times`);
  }
  for (const id of marks.keys()) findings.check(ids.has(id), `A command ran for ${id}, unknown`);
  findings.say(`${runs.length} runs, ${executions.length} executions, ${marks.size} commands`);
}

async function checkPayloads({ findings, served, ledger }: LedgerCheck): Promise<void> {
  for (const { runId, sha256 } of ledger.kept) {
    const answer = await fetch(`${served.url}/api/v0/runs/${runId}/payload/`, {
      headers: { authorization: `Bearer ${TOKEN}` },
    });
    const bytes = new Uint8Array(await answer.arrayBuffer());
    const found = createHash("sha256").update(bytes).digest("hex");
    findings.check(found === sha256, `The payload of run ${runId} is not what was sent`);
  }
}

/**
 * The most launches that were surely taken within a span: what was sent after its begin and answered
 * before its end was taken in between.
 */
export function mostWithin(span_ms: number, launches: readonly KeptLaunch[]): number {
  let most = 0;
  for (const { sent_ms: begin_ms } of launches) {
    const within = launches.filter(({ sent_ms, answered_ms }) =>
      sent_ms >= begin_ms && answered_ms <= begin_ms + span_ms
    );
    most = Math.max(most, within.length);
  }
  return most;
}

/** All senders of a delivery were told the same run, and it is the only one of its body. */
function checkDeliveries({ findings, ledger: { kept } }: LedgerCheck, runs: readonly Run[]): void {
  const delivered = kept.filter(({ delivery }) => delivery !== undefined);
  const byDelivery = Map.groupBy(delivered, ({ delivery }) => delivery);
  for (const [delivery, launches] of byDelivery) {
    const told = new Set(launches.map(({ runId }) => runId));
    findings.check(told.size === 1, `Delivery ${delivery} was answered with ${told.size} runs`);
    const stored = runs.filter(({ trigger_id, payload }) =>
      trigger_id === launches[0]?.trigger && payload.sha256 === launches[0]?.sha256
    );
    findings.check(stored.length === 1, `Delivery ${delivery} has made ${stored.length} runs`);
  }
  if (delivered.length > 0) {
    findings.say(`${delivered.length} launches of ${byDelivery.size} deliveries`);
  }
}
