/**
 * The pace of a trigger: bursts that become one run, a limit of runs with work under way, and a delay.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import { hash } from "node:crypto";
import { z } from "zod";
import type { CredentialField } from "../conditions/field.ts";
import type { LaunchRequest } from "../conditions/request.ts";
import { compileValue, mistakeOf, templateMistakes } from "../conditions/values/compile.ts";
import type { ValuesWork } from "../conditions/values/evaluate.ts";
import type { JsonOrProblem } from "../conditions/values/json.ts";
import { messageOf, type Problem } from "../platform/errors.ts";
import { refuseField } from "../platform/schema/schema.ts";
import type { Pace } from "../store/records/runs.ts";

const KEY_CHARACTERS_MAX = 4_096;
/** The longest key, in bytes of UTF-8. A longer one is its SHA-256. */
const KEY_BYTES_MAX = 256;
const DAY_S = 86_400;
const LIMIT_MAX = 1_000;
/** The longest delay: a hundred years. */
const DELAY_S_MAX = 100 * 366 * DAY_S;
/** `max_wait` where it is not set, in windows. */
const WAIT_WINDOWS = 10;
/** The time of the keys in the Worker: the sender waits for them. */
const VALUES_MS_MAX = 500;

const log = getLogger(["hooklaunch", "triggers"]);

const keySchema = z.string().max(KEY_CHARACTERS_MAX);

/** The schema of `coalesce`. */
export const coalesceSchema = z.strictObject({
  key: keySchema.default("").describe(
    "The runs of one key become one, such as {body.pull_request.number}; all of the trigger where it is empty",
  ),
  window: z.int().min(1).max(DAY_S).describe(
    "The time after the newest of them, in seconds, in which others may join",
  ),
  max_wait: z.int().min(1).max(7 * DAY_S).optional().describe(
    "The longest time after the first of them, in seconds; ten windows where it is absent",
  ),
  keep: z.enum(["newest", "first", "all"]).default("newest").describe(
    "The run that is performed; `all`: a new one, whose payload has a line of JSON for each",
  ),
}).superRefine(({ window, max_wait = window }, context) => {
  if (max_wait >= window) return;
  refuseField(context, ["max_wait"], `Expected at least the window, ${window}, found ${max_wait}`);
}).describe("Runs of one key that arrive together become one");

/** The schema of `concurrency`. */
export const concurrencySchema = z.strictObject({
  key: keySchema.default("").describe(
    "The limit counts for each key, such as {body.repository.full_name}; for the trigger where it is empty",
  ),
  limit: z.int().min(1).max(LIMIT_MAX).default(1).describe(
    "The most runs of a key with work under way, until that work has ended",
  ),
  when_full: z.enum(["queue", "newest", "refuse"]).default("queue").describe(
    "`queue`: they begin in the order of acceptance; `newest`: one waits, and a newer one takes its place; " +
      "`refuse`: they end without being performed",
  ),
}).describe("At most so many runs of one key have work under way");

/** The schema of `delay`. */
export const delaySchema = z.union([
  z.int().min(0).max(DELAY_S_MAX),
  z.string().min(1).max(KEY_CHARACTERS_MAX),
]).describe(
  "The time before a run is performed: seconds, or an expression of CEL whose value is a number of seconds, " +
    "a timestamp or a text of one, such as timestamp(body.run_at)",
);

/** The settings of a trigger's pace. */
interface PaceSettings {
  coalesce?: z.output<typeof coalesceSchema> | undefined;
  concurrency?: z.output<typeof concurrencySchema> | undefined;
  delay?: z.output<typeof delaySchema> | undefined;
}

/** The parts of a service that keys and delays need. */
interface PaceContext {
  heavyWork: ValuesWork;
  /** The name of the trigger. */
  trigger: string;
  triggerId: string;
  /** The fields that carry credentials: no log shows their values. */
  credentials: readonly CredentialField[];
}

/** Returns the pace of the run that a request launches. */
export type PaceOf = (request: LaunchRequest) => Pace | Promise<Pace>;

/** Finds the mistakes in the expressions of a trigger's pace. */
export function paceMistakes({ coalesce, concurrency, delay }: PaceSettings): Problem[] {
  const keys = [["/coalesce/key", coalesce?.key], ["/concurrency/key", concurrency?.key]] as const;
  const mistakes = keys.flatMap(([pointer, key]) =>
    templateMistakes(key).map(({ message: detail }) => ({ pointer, detail }))
  );
  const mistake = typeof delay === "string" ? mistakeOf(() => compileValue(delay)) : undefined;
  return mistake === undefined ? mistakes : [...mistakes, { pointer: "/delay", detail: mistake }];
}

/** Prepares a trigger's pace; undefined where it has none. */
export function preparePace(settings: PaceSettings, context: PaceContext): PaceOf | undefined {
  const { coalesce, concurrency, delay } = settings;
  if (coalesce === undefined && concurrency === undefined && delay === undefined) return undefined;
  const keys = [coalesce?.key, concurrency?.key];
  const isConstant = typeof delay !== "string" && !keys.some((key) => key?.includes("{"));
  return isConstant
    ? ({ receivedAt_ms }) => paceFrom(settings, keys, dueAfter(delay, receivedAt_ms))
    : (request) => evaluate(settings, request, context);
}

async function evaluate(
  settings: PaceSettings,
  request: LaunchRequest,
  { heavyWork, trigger, triggerId: owner, credentials }: PaceContext,
): Promise<Pace> {
  const [{ sourcesIn }, { evaluateValues }, { fill }] = await Promise.all([
    import("../conditions/values/compile.ts"),
    import("../conditions/values/evaluate.ts"),
    import("../conditions/values/fill.ts"),
  ]);
  const { coalesce, concurrency, delay } = settings;
  const templates = [coalesce?.key ?? "", concurrency?.key ?? ""];
  const sources = sourcesIn(templates);
  const isDelayed = typeof delay === "string";
  const wanted = { sources: isDelayed ? [...sources, delay] : sources, credentials };
  const limits = { heavyWork, owner, timeout_ms: VALUES_MS_MAX };
  const values = await evaluateValues(request, { run_id: "", trigger }, wanted, limits).then(
    (found) => found.values,
    (error) => wanted.sources.map(() => ({ problem: messageOf(error) })),
  );
  const valueOf = (value: JsonOrProblem, source: string): { json: unknown } => {
    if ("json" in value) return value;
    log.warn("The pace of trigger {trigger}: {source} has no value: {error}", {
      trigger,
      source,
      error: value.problem,
    });
    return { json: "" };
  };
  const known = values.map((value, index) => valueOf(value, wanted.sources[index] ?? ""));
  const filled = Object(fill(templates, known.slice(0, sources.length)).value);
  const { receivedAt_ms } = request;
  const due_ms = isDelayed
    ? dueAt(known[sources.length]?.json, receivedAt_ms)
    : dueAfter(delay, receivedAt_ms);
  return paceFrom(settings, [keyOf(filled[0]), keyOf(filled[1])], due_ms);
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

/** Returns a value as a key: a text as it is, any other as JSON. A long one becomes its SHA-256. */
function keyOf(value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value) ?? "";
  return new TextEncoder().encode(text).length <= KEY_BYTES_MAX
    ? text
    : `sha256:${hash("sha256", text)}`;
}

function dueAfter(delay: number | string | undefined, now_ms: number): number | undefined {
  return typeof delay === "number" ? now_ms + delay * 1_000 : undefined;
}

/** Returns the time that a delay names; the present where it names none. */
function dueAt(value: unknown, now_ms: number): number {
  const at_ms = typeof value === "number" ? now_ms + value * 1_000 : Date.parse(String(value));
  return Number.isFinite(at_ms) ? at_ms : now_ms;
}
