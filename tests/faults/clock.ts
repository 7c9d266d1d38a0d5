/**
 * The wall clock jumps back and forth by hours, while the service runs and while it does not. No run is
 * lost or stuck, and no quota grants more than it should in real time.
 *
 * @module
 */
import { type Clock, systemClock } from "../../src/platform/clock.ts";
import { endOfExecution, endOfRun, startService, type TestService } from "../data.ts";
import { type Findings, pause, type Random } from "./findings.ts";

const HOUR_MS = 60 * 60_000;
const PERIOD_S = 2;
const QUOTA = 5;
/** How far the clock is from the truth at most: far less than runs are kept. */
const AWAY_HOURS_MAX = 72;

/** The size of a form of the test. */
export interface ClockSize {
  jumps: number;
  /** After so many jumps the service is started again. */
  restartEvery: number;
}

/**
 * A clock whose wall time is set while the other one goes on, as those of a machine; a new process takes
 * its steady time from the wall clock of that moment.
 */
class SetClock implements Clock {
  #ahead_ms = 0;
  #steadyAhead_ms = 0;

  now(): number {
    return Date.now() + this.#ahead_ms;
  }

  steady(): number {
    return performance.timeOrigin + performance.now() + this.#steadyAhead_ms;
  }

  after(delay_ms: number, call: () => void): () => void {
    return systemClock.after(delay_ms, call);
  }

  /** Sets the wall clock so far ahead of the truth, or behind it. */
  set(hours: number): void {
    this.#ahead_ms = hours * HOUR_MS;
  }

  /** As in a new process. */
  restart(): void {
    this.#steadyAhead_ms = this.#ahead_ms;
  }
}

/** A launch that was taken. */
interface Taken {
  runId: string;
  sent_ms: number;
  answered_ms: number;
}

/** Sets the clock of a service that is under load, again and again. */
export async function clock(
  findings: Findings,
  random: Random,
  { jumps, restartEvery }: ClockSize,
): Promise<void> {
  const clock = new SetClock();
  await using service = await startService({ clock });
  const trigger = await service.trigger({
    conditions: [{ type: "rate_limit", period: PERIOD_S, quota: QUOTA }],
    response: { type: "text", text: "{run_id}" },
  });
  const all: string[] = [];
  /** Those since a restart in a later time than the one before: that forgets what was counted. */
  let taken: Taken[] = [];
  let most = 0;
  for (let jump = 1; jump <= jumps; jump++) {
    clock.set(random.float() * 2 * AWAY_HOURS_MAX - AWAY_HOURS_MAX);
    if (jump % restartEvery === 0) {
      const before_ms = clock.steady();
      clock.restart();
      await service.restart();
      if (clock.steady() > before_ms + 1_000) taken = [];
    }
    service.service.sweep();
    await service.service.cleanUp();
    for (let turn = 0; turn < 3; turn++) {
      const launched = await launch(service, trigger.id);
      if (launched) {
        taken.push(launched);
        all.push(launched.runId);
      }
      await pause(random.int(120));
    }
    most = Math.max(most, mostWithin(taken));
  }
  findings.check(most <= QUOTA, `${most} launches in ${PERIOD_S} s, the quota is ${QUOTA}`);
  findings.check(all.length > 0, "Nothing was ever taken");
  for (const id of new Set(all)) await checkEnd(findings, service, id);
  findings.say(`${jumps} jumps of up to ${2 * AWAY_HOURS_MAX} hours: ${all.length} launches taken`);
  findings.say(`at most ${most} of them in ${PERIOD_S} s, of a quota of ${QUOTA}`);
  await checkCapacityReturns(findings, service, trigger.id);
}

async function launch(service: TestService, triggerId: string): Promise<Taken | undefined> {
  const sent_ms = performance.now();
  const answer = await fetch(`${service.url}/api/v0/launch/${triggerId}/`, {
    method: "POST",
    body: "x",
  });
  const runId = await answer.text();
  return answer.ok ? { runId, sent_ms, answered_ms: performance.now() } : undefined;
}

/** The most launches that were surely taken within a period. */
function mostWithin(taken: readonly Taken[]): number {
  return taken.reduce((most, { sent_ms: begin_ms }) => {
    const end_ms = begin_ms + PERIOD_S * 1_000;
    const within = taken.filter(({ sent_ms, answered_ms }) =>
      sent_ms >= begin_ms && answered_ms <= end_ms
    );
    return Math.max(most, within.length);
  }, 0);
}

async function checkEnd(findings: Findings, service: TestService, runId: string): Promise<void> {
  const run = await endOfRun(service, runId);
  findings.check(run.status === "completed", `Run ${runId} is ${run.status}`);
  const id = run.actions[0]?.created?.execution_id;
  if (id === undefined) return;
  const { status, reason } = await endOfExecution(service, id);
  findings.check(status === "complete", `Execution ${id} is ${status}: ${reason}`);
}

/** What was used comes back in real time, wherever the clock stands. */
async function checkCapacityReturns(
  findings: Findings,
  service: TestService,
  triggerId: string,
): Promise<void> {
  await pause(PERIOD_S * 1_020 + 100);
  const launched = await launch(service, triggerId);
  findings.check(launched !== undefined, "A quota that was used up did not come back");
  if (launched) await checkEnd(findings, service, launched.runId);
}
