/**
 * The pace of the runs of a trigger, which requests give them.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import { hash } from "node:crypto";
import { parseTimestamp } from "../conditions/freshness.ts";
import type { LaunchRequest } from "../conditions/request.ts";
import { messageOf, UnavailableError } from "../platform/errors.ts";
import type { Pace } from "../store/records/pace.ts";
import type { PaceProblem } from "../store/records/trigger_log_entries.ts";
import type { PaceSettings } from "./pace_settings.ts";
import type { ValuesOwner } from "./response.ts";

/** The longest key, in bytes of UTF-8. A longer one is its SHA-256. */
const KEY_BYTES_MAX = 256;
/** `max_wait` where it is not set, in windows. */
const WAIT_WINDOWS = 10;
/** The time of the keys in the Worker: the sender waits for them. */
const VALUES_MS_MAX = 500;

/** The fields of the keys, in the order of their texts. */
const KEYS = ["/coalesce/key", "/concurrency/key"] as const;
/** The field of a delay. */
const DELAY = "/delay";
/** A date alone stands for its beginning in UTC. */
const DATE = /^\d{4}-\d\d-\d\d$/;

const log = getLogger(["hooklaunch", "triggers"]);

/** The pace of a run. */
interface FoundPace {
  pace: Pace;
  /** The values that the request did not have. */
  paceProblems?: readonly PaceProblem[];
}

/**
 * Returns the pace of the run that a request launches.
 *
 * @throws {UnavailableError} when its values cannot be read now
 */
export type PaceOf = (request: LaunchRequest) => FoundPace | Promise<FoundPace>;

/** Prepares a trigger's pace; undefined where it has none. */
export function preparePace(settings: PaceSettings, context: ValuesOwner): PaceOf | undefined {
  const { coalesce, concurrency, delay } = settings;
  if (coalesce === undefined && concurrency === undefined && delay === undefined) return undefined;
  const keys = [coalesce?.key, concurrency?.key];
  const isConstant = typeof delay !== "string" && !keys.some((key) => key?.includes("{"));
  return isConstant
    ? ({ receivedAt_ms }) => ({ pace: paceFrom(settings, keys, dueAfter(delay, receivedAt_ms)) })
    : (request) => evaluate(settings, request, context);
}

async function evaluate(
  settings: PaceSettings,
  request: LaunchRequest,
  { heavyWork, trigger, triggerId: owner, credentials }: ValuesOwner,
): Promise<FoundPace> {
  const [{ sourcesIn }, { evaluateValues }, { fill }] = await Promise.all([
    import("../conditions/values/compile.ts"),
    import("../conditions/values/evaluate.ts"),
    import("../conditions/values/fill.ts"),
  ]);
  const { coalesce, concurrency, delay } = settings;
  const templates = [coalesce?.key ?? "", concurrency?.key ?? ""];
  const ofKeys = templates.map(sourcesIn);
  const sources = ofKeys.flat();
  const isDelayed = typeof delay === "string";
  const wanted = { sources: isDelayed ? [...sources, delay] : sources, credentials };
  const limits = { heavyWork, owner, timeout_ms: VALUES_MS_MAX };
  const { values, credentials: telling = [] } = await evaluateValues(
    request,
    { run_id: "", trigger },
    wanted,
    limits,
  ).catch((error) => {
    const problem = problemOf(error, request);
    return { values: wanted.sources.map(() => ({ problem })), credentials: [] };
  });
  const paceProblems: PaceProblem[] = [];
  const note = (pointer: string, expression: string, error: string) => {
    paceProblems.push({ pointer, expression, error });
    const facts = { trigger, pointer, expression, error };
    log.warn("The pace of trigger {trigger}: {pointer}: {expression} has no value: {error}", facts);
  };
  const pointers = ofKeys.flatMap((found, index) => found.map(() => KEYS[index]));
  const known = values.map((value, index): { json: unknown } => {
    if ("json" in value) return value;
    note(pointers[index] ?? DELAY, wanted.sources[index] ?? "", value.problem);
    return { json: "" };
  });
  const { value: filled, problems } = fill(templates, known.slice(0, sources.length));
  for (const { path: [index], source, detail } of problems) {
    note(KEYS[Number(index)] ?? DELAY, source, detail);
  }
  const { receivedAt_ms } = request;
  const due_ms = isDelayed
    ? dueAt(known[sources.length]?.json, receivedAt_ms)
    : dueAfter(delay, receivedAt_ms);
  if (isDelayed && due_ms === undefined && paceProblems.every(({ pointer }) => pointer !== DELAY)) {
    note(DELAY, delay, "Expected a timestamp, a text with one, or a number of seconds");
  }
  const found = Object.values(Object(filled)).map((value, index) =>
    keyOf(value, { isSecret: ofKeys[index]?.some((source) => telling.includes(source)) ?? false })
  );
  const pace = paceFrom(settings, found, due_ms);
  return { pace, ...(paceProblems.length > 0 && { paceProblems }) };
}

/**
 * Returns why the values are missing.
 *
 * @throws {UnavailableError} when they may be there a little later: without them, the run would get another's turn
 */
function problemOf(error: unknown, { signal }: LaunchRequest): string {
  if (error instanceof UnavailableError) throw error;
  if (signal?.aborted) throw new UnavailableError("Cannot read the pace: the sender has gone", 1);
  return messageOf(error);
}

function paceFrom(
  { coalesce, concurrency }: PaceSettings,
  [coalesceKey = "", concurrencyKey = ""]: readonly (string | undefined)[],
  due_ms: number | undefined,
): Pace {
  return {
    ...(coalesce && {
      coalesce: {
        key: coalesceKey,
        window_ms: coalesce.window * 1_000,
        wait_max_ms: (coalesce.max_wait ?? coalesce.window * WAIT_WINDOWS) * 1_000,
        keep: coalesce.keep,
      },
    }),
    ...(concurrency && {
      concurrency: {
        key: concurrencyKey,
        limit: concurrency.limit,
        when_full: concurrency.when_full,
      },
    }),
    ...(due_ms !== undefined && { due_ms }),
  };
}

/** Returns a value as a key: a text as it is, any other as JSON. A long one and a credential become their SHA-256. */
function keyOf(value: unknown, { isSecret }: { isSecret: boolean }): string {
  const text = typeof value === "string" ? value : JSON.stringify(value) ?? "";
  return !isSecret && new TextEncoder().encode(text).length <= KEY_BYTES_MAX
    ? text
    : `sha256:${hash("sha256", text)}`;
}

function dueAfter(delay: number | string | undefined, now_ms: number): number | undefined {
  return typeof delay === "number" ? now_ms + delay * 1_000 : undefined;
}

/** Returns the time that a delay names; undefined where it names none. */
function dueAt(value: unknown, now_ms: number): number | undefined {
  if (typeof value === "number") return timeOf(now_ms + value * 1_000);
  const text = String(value);
  try {
    // `Date.parse` takes any text with a year for a time, and one without an offset for one of the machine's zone.
    return Temporal.Instant.from(DATE.test(text) ? `${text}T00:00Z` : text).epochMilliseconds;
  } catch {
    return parseTimestamp(text, "rfc1123");
  }
}

/** Returns a time as it is, and undefined for one beyond all dates. */
function timeOf(time_ms: number): number | undefined {
  return Number.isNaN(new Date(time_ms).getTime()) ? undefined : time_ms;
}
