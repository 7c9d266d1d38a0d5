/**
 * The operations of triggers with a pace for the checker in `checker/`: when each launch was sent and answered, and when
 * the commands of its runs began and ended.
 *
 * @module
 */
import type { Run } from "../../src/store/records/runs.ts";
import type { History, Operation } from "./history.ts";

/** The times between which a command ran, in milliseconds since the epoch. */
export interface Worked {
  began_ms: number;
  ended_ms: number;
}

interface Paced {
  runs: ReadonlyMap<string, Run>;
  /** The commands' times, by their runs. */
  worked: ReadonlyMap<string, Worked>;
}

type Timed = Pick<Operation, "outcome" | "sent_ms" | "answered_ms">;

/** Notes the launches of a concurrency key, and the commands that took its places. One without a command takes none. */
export function noteTurns(
  history: History,
  { runs, worked }: Paced,
  { trigger: key, limit }: { trigger: string; limit: number },
): void {
  const launches = launchesOf(history, runs, key);
  const common = { client: 0, model: "turn", key, limit } as const;
  for (const [value, launch] of launches) {
    const times = worked.get(value);
    if (times === undefined) continue;
    history.add({ ...common, kind: "launch", value, ...launch });
    history.add({ ...common, kind: "begin", value, ...momentOf(times.began_ms) });
    history.add({ ...common, kind: "end", value, ...momentOf(times.ended_ms) });
  }
}

/** Notes the launches that were to become few runs, and those runs. */
export function noteBursts(
  history: History,
  { runs, worked }: Paced,
  { trigger: key }: { trigger: string },
): void {
  const launches = launchesOf(history, runs, key);
  const common = { client: 0, model: "burst", key } as const;
  const groups = Map.groupBy(launches.keys(), (id) => lastOf(id, runs));
  for (const [value, launch] of launches) {
    history.add({ ...common, kind: "launch", value, ...launch });
    const times = worked.get(value);
    const values = groups.get(value) ?? [];
    if (times === undefined && values.length === 0) continue;
    // One that is part of another, and was performed all the same, is one too many.
    const when = times === undefined
      ? { ...launch, outcome: "unknown" } as const
      : momentOf(times.began_ms);
    history.add({
      ...common,
      kind: "perform",
      value,
      values: values.length > 0 ? values : [value],
      ...when,
    });
  }
  const now_ms = performance.now();
  history.add({
    ...common,
    kind: "rest",
    outcome: "ok",
    sent_ms: now_ms,
    answered_ms: now_ms,
  });
}

/** Returns the launches of the stored runs of a trigger. One that was not answered was accepted at any later time. */
function launchesOf(
  { operations }: History,
  runs: ReadonlyMap<string, Run>,
  trigger: string,
): Map<string, Timed> {
  const sent = new Map(
    operations.filter(({ model, kind }) => model === "delivery" && kind === "launch")
      .map((operation) => [operation.key, operation]),
  );
  const launches = new Map<string, Timed>();
  for (const { id, trigger_id, payload } of runs.values()) {
    const operation = sent.get(`${trigger} ${payload.sha256}`);
    if (trigger_id !== trigger || operation === undefined) continue;
    const { outcome, sent_ms, answered_ms } = operation;
    launches.set(id, { outcome, sent_ms, answered_ms });
  }
  return launches;
}

/** Returns the run that is performed for a launch: its own, or that of the newest launch of its burst. */
function lastOf(id: string, runs: ReadonlyMap<string, Run>): string {
  const next = runs.get(id)?.superseded_by;
  return next === undefined ? id : lastOf(next, runs);
}

/** Returns the moment that a command has noted. Its clock has whole milliseconds. */
function momentOf(time_ms: number): Timed {
  const sent_ms = time_ms - performance.timeOrigin;
  return { outcome: "ok", sent_ms, answered_ms: sent_ms + 1 };
}
