/**
 * Records requests, answers and their times for the checker in `checker/`.
 *
 * @module
 */
import { has } from "../needs.ts";
import type { Findings } from "./findings.ts";

/** A `PATH` with the folder in which `.ci/run` installs programs. */
const TOOLS = 'PATH="$PATH:${XDG_CACHE_HOME:-$HOME/.cache}/hooklaunch/bin";';

/** Instances add the differences of their clocks to a period: 2 s where one has left just now. */
const CLOCK_SPREAD_S = 2;
/** A launch counts until a period after the last one of its fiftieth of a period. */
const COUNTED_PERIODS = 1.03;

/** An operation of a client, as a line of a history. Its times are of `performance.now()`. */
export interface Operation {
  client: number;
  /** The model that its key is checked by, in `checker/models.go`. */
  model: "quota" | "delivery" | "version" | "turn" | "burst" | "refusal";
  key: string;
  kind:
    | "launch"
    | "stored"
    | "write"
    | "read"
    | "begin"
    | "end"
    | "perform"
    | "rest"
    | "refused";
  /** `fail` has surely changed nothing; `unknown` may take effect later, or never. */
  outcome: "ok" | "fail" | "unknown";
  /** The run that a launch was told, or the version that was written or read. */
  value?: string;
  /** The runs that are stored, or the launches that became one run. */
  values?: readonly string[];
  /** At most so many launches within any period, in microseconds. */
  quota?: number;
  period?: number;
  /** At most so many commands at once. */
  limit?: number;
  sent_ms: number;
  answered_ms: number;
}

/** A launch, as its sender knows it. */
interface Launch {
  client: number;
  trigger: string;
  /** Of the body: all launches of a delivery have the same one, and no others. */
  sha256: string;
  /** The quota of its trigger: so many launches in so many seconds. */
  quota?: readonly [period: number, quota: number] | undefined;
  sent_ms: number;
  answered_ms: number;
}

/** The operations of all clients. */
export class History {
  readonly operations: Operation[] = [];

  /** Notes an operation. */
  add(operation: Operation): void {
    this.operations.push(operation);
  }

  /**
   * Notes a launch.
   *
   * @param answer absent when nothing was answered. A 503 is open, too: an instance that dies before it
   * has withdrawn a late commit leaves the run.
   */
  launch(
    { trigger, sha256, quota, ...common }: Launch,
    answer: { status: number; text: string } | undefined,
  ): void {
    const isRefused = answer?.status === 400 || answer?.status === 429;
    const outcome = answer?.status === 200 ? "ok" : isRefused ? "fail" : "unknown";
    const value = answer?.status === 200 ? { value: answer.text } : {};
    const told = { ...common, kind: "launch", outcome, ...value } as const;
    this.add({ ...told, model: "delivery", key: `${trigger} ${sha256}` });
    const [period, count] = quota ?? [0, 0];
    if (quota !== undefined) {
      this.add({ ...told, model: "quota", key: trigger, quota: count, period: period * 1e6 });
    }
    // Without a quota no refusal is right.
    if (quota === undefined && !isRefused) return;
    const judged = isRefused ? { kind: "refused", outcome: "ok" } as const : {};
    const counted = { quota: count, period: (period * COUNTED_PERIODS + CLOCK_SPREAD_S) * 1e6 };
    this.add({ ...told, model: "refusal", key: trigger, ...counted, ...judged });
  }

  /** Notes what is stored at the end, for each body that was launched. */
  stored(runs: Iterable<{ id: string; trigger_id: string; payload: { sha256: string } }>): void {
    const now_ms = performance.now();
    const found = Map.groupBy(
      runs,
      ({ trigger_id, payload }) => `${trigger_id} ${payload.sha256}`,
    );
    const keys = new Set(
      this.operations.filter(({ model }) => model === "delivery").map(({ key }) => key),
    );
    for (const key of keys) {
      const values = (found.get(key) ?? []).map(({ id }) => id);
      const when = { sent_ms: now_ms, answered_ms: performance.now() };
      this.add({
        client: 0,
        model: "delivery",
        key,
        kind: "stored",
        outcome: "ok",
        values,
        ...when,
      });
    }
  }

  /** Writes the history to a file, and returns what the checker says about it. */
  async check(path: string): Promise<{ code: number; lines: string[] }> {
    const lines = this.operations.map(({ sent_ms, answered_ms, ...operation }) => {
      const times = { invoke: Math.floor(sent_ms * 1e3), return: Math.ceil(answered_ms * 1e3) };
      return `${JSON.stringify({ ...operation, ...times })}\n`;
    });
    await Deno.writeTextFile(path, lines.join(""));
    const { code, stdout, stderr } = await new Deno.Command("sh", {
      args: ["-c", `${TOOLS} check-history "$1"`, "sh", path],
    }).output();
    const decoder = new TextDecoder();
    const printed = `${decoder.decode(stdout)}${decoder.decode(stderr)}`;
    return { code, lines: printed.split("\n").filter((line) => line !== "") };
  }
}

/** Has the checker read a history, and notes each key that breaks its promise. */
export async function checkHistory(
  findings: Findings,
  { history, path }: { history: History; path: string },
): Promise<void> {
  if (!has("check-history")) {
    return findings.say("The history is not checked, since check-history is not installed");
  }
  const began_ms = performance.now();
  const { code, lines } = await history.check(path);
  const open = lines.filter((line) => line.startsWith("unknown "));
  const wrong = lines.filter((line) => !/^(ok|unknown) /.test(line));
  const right = lines.length - open.length - wrong.length;
  const took_ms = Math.round(performance.now() - began_ms);
  findings.say(
    `porcupine: ${history.operations.length} operations, ${right} keys are right, in ${took_ms} ms`,
  );
  for (const line of wrong) if (line.startsWith("illegal ")) findings.say(`porcupine: ${line}`);
  // The time was over before an order was found, or all had been tried: that proves nothing.
  for (const line of open) findings.say(`porcupine: ${line}`);
  findings.check(
    wrong.length === 0 && (code === 0 || open.length > 0),
    `The history is not right:\n${wrong.join("\n")}`,
  );
}
