/**
 * Migrates the data of earlier versions to the present format, one step from each format to the next.
 *
 * A step may be interrupted at any moment: it changes only records of its format, and the format's number is
 * stored last. The next start runs the step again and finds less to do.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import type { Committer } from "./commit/committer.ts";
import type { Write } from "./commit/change.ts";
import type { Execution } from "./records/executions.ts";
import { FORMAT_VERSION, keys } from "./keys.ts";
import type { EngineSettings, Project } from "./records/projects.ts";
import { readValue, scan } from "./read/scan.ts";
import { isEntry, summaryOf } from "./records/trigger_log_entries.ts";
import { RECORD_BYTES_MAX, recordWrite } from "./records/record_size.ts";

/** Records that are held in memory at a time. */
const RECORDS_HELD = 200;
/** Limit of a value of Deno KV. */
const VALUE_BYTES_MAX = 64 * 1024;

const log = getLogger(["hooklaunch", "store"]);

/** A database that is read, and written to as long as it is this process's alone. */
interface Database {
  kv: Deno.Kv;
  committer: Committer;
}

/** The step from one format to the next. */
interface Migration {
  from: number;
  /** Description for the log. */
  says: string;
  /**
   * Changes all records that have the form of its format; answers how many.
   */
  run(database: Database): Promise<number>;
}

/** All steps, in order. */
export const MIGRATIONS: readonly Migration[] = [
  { from: 1, says: "each execution names its engine", run: nameEngines },
  // What is stored stays as it is: where no payload is in the record, there are chunks.
  { from: 2, says: "small payloads are in the records of runs", run: () => Promise.resolve(0) },
  { from: 3, says: "pending runs name their triggers, and only ended ones are listed", run: to4 },
  { from: 4, says: "refused requests are listed over all triggers", run: listRefusals },
  { from: 5, says: "braces in parameters of actions and in responses stay text", run: keepBraces },
  // An earlier version does not know where runs wait for their turn.
  { from: 6, says: "runs may wait for their turn", run: () => Promise.resolve(0) },
  // An earlier leader would perform them, too.
  { from: 7, says: "runs may be their instances' own", run: () => Promise.resolve(0) },
];

/** Which database is brought up to date. */
interface MigrateOptions {
  /** The data folder, or the URL of a remote one. */
  where: string;
  /** The format that it has. */
  from: number;
}

/** Brings a database up to the present format. */
export async function migrate(
  database: Database,
  { where, from }: MigrateOptions,
): Promise<void> {
  if (from < FORMAT_VERSION) {
    log.warn(
      "The data in {where} is brought from format {from} to {to}. An earlier version of Hooklaunch " +
        "cannot read it any more then, only a backup that was made before",
      { where, from, to: FORMAT_VERSION },
    );
  }
  for (const step of MIGRATIONS) {
    if (step.from < from) continue;
    const records = await step.run(database);
    await database.committer.write([{ key: keys.format(), value: step.from + 1 }]);
    log.info("Format {to}: {says}; {records} records changed", {
      to: step.from + 1,
      says: step.says,
      records,
    });
  }
}

/** An execution of format 1, which did not hold its engine: it was the one that its project named. */
type ExecutionOf1 = Omit<Execution, "engine"> & { engine?: EngineSettings };

async function nameEngines(database: Database): Promise<number> {
  const engines = new Map<string, EngineSettings>();
  const engineOf = async (project: string) => {
    // Only this program writes what is stored under this key.
    const stored = engines.get(project) ??
      (await readValue(database.kv, keys.project(project)) as Project | null)?.engine;
    const engine = stored ?? { type: "local" };
    engines.set(project, engine);
    return engine;
  };
  return await rewrite(
    database,
    ["execution"],
    async (execution: ExecutionOf1) =>
      execution.engine === undefined
        ? { ...execution, engine: await engineOf(execution.project) }
        : undefined,
  );
}

/** Format 3 had the keys of pending runs without their triggers, which listed them from the beginning. */
async function to4({ kv, committer }: Database): Promise<number> {
  let moves: Promise<void>[] = [];
  let moved = 0;
  for await (const { key, value = null } of scan(kv, ["pending"], { batchSize: RECORDS_HELD })) {
    if (key.length > 2) continue;
    // One that is damaged has to be found by the worker, which ends it.
    const triggerId = isPendingRun(value) ? value.run.trigger_id : "";
    const to = keys.pending(String(key[1]), triggerId);
    moves.push(committer.write([{ key: to, value, bytes: RECORD_BYTES_MAX }, { key }]));
    moved++;
    if (moves.length < RECORDS_HELD) continue;
    await Promise.all(moves);
    moves = [];
  }
  await Promise.all(moves);
  return moved;
}

/** Format 4 listed refused requests in the logs of their triggers alone. */
async function listRefusals({ kv, committer }: Database): Promise<number> {
  let writes: Promise<void>[] = [];
  let listed = 0;
  const entries = scan(kv, ["trigger_log"], { ids: 2, batchSize: RECORDS_HELD });
  for await (const { key: [, triggerId], value } of entries) {
    const summary = isEntry(value) ? summaryOf(String(triggerId), value) : undefined;
    if (!isEntry(value) || summary === undefined) continue;
    writes.push(committer.write([recordWrite(keys.deliveryEntry(value.id), summary)]));
    listed++;
    if (writes.length < RECORDS_HELD) continue;
    await Promise.all(writes);
    writes = [];
  }
  await Promise.all(writes);
  return listed;
}

/** Actions, and a response: the settings of a trigger have both, a pending run its actions. */
interface HasTexts {
  actions?: unknown;
  response?: unknown;
}

/**
 * Format 5 had no expressions in the parameters of actions and in responses: each brace was text. Done twice it would double them
 * twice, so a record that is changed gets a mark with the same commit.
 */
async function keepBraces({ kv, committer }: Database): Promise<number> {
  const { serialize } = await import("node:v8");
  let changed = 0;
  for (const [prefix, ids] of [["trigger", 1], ["pending", 2]] as const) {
    for await (const { key, value } of scan(kv, [prefix], { ids, batchSize: RECORDS_HELD })) {
      const record: HasTexts & { settings?: unknown } = Object(value);
      const settings: HasTexts = Object(record.settings);
      const written = record.settings === undefined
        ? { ...record, ...withTextBraces(record) }
        : { ...record, settings: { ...settings, ...withTextBraces(settings) } };
      if (JSON.stringify(written) === JSON.stringify(record)) continue;
      if (serialize(written).length > VALUE_BYTES_MAX) {
        log.error(
          "The braces of the {prefix} record {id} cannot stay text, which would make it too long: they are expressions " +
            "now. Shorten the parameters and the response of its trigger",
          { prefix, id: key[1] },
        );
        continue;
      }
      const mark = keys.textBraces(String(key[1]));
      if (await readValue(kv, mark) !== null) continue;
      await committer.write([recordWrite(key, written), { key: mark, value: true }]);
      changed++;
    }
  }
  return changed;
}

function withTextBraces({ actions, response }: HasTexts): HasTexts {
  return {
    ...(Array.isArray(actions) && { actions: actions.map(actionWithTextBraces) }),
    ...(response !== undefined && { response: textBraces(response, RESPONSE_BRACES) }),
  };
}

function actionWithTextBraces(action: unknown): unknown {
  const { parameters } = Object(action);
  return parameters === undefined
    ? action
    : { ...Object(action), parameters: textBraces(parameters) };
}

/** Braces that begin an expression, or that are two. */
const BRACES = /\{(?=[A-Za-z_{])/g;
/** In a response the run's id was a placeholder before. */
const RESPONSE_BRACES = /\{(?=[A-Za-z_{])(?!run_id\})/g;

/** Doubles braces that were text. */
function textBraces(value: unknown, braces = BRACES): unknown {
  if (typeof value === "string") return value.replaceAll(braces, "{{");
  if (Array.isArray(value)) return value.map((inner) => textBraces(inner, braces));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value);
  return Object.fromEntries(entries.map(([name, inner]) => [name, textBraces(inner, braces)]));
}

/** Looks only at what the step to format 4 needs. */
function isPendingRun(value: unknown): value is { run: { trigger_id: string } } {
  return typeof value === "object" && value !== null && "run" in value &&
    typeof value.run === "object" && value.run !== null && "trigger_id" in value.run &&
    typeof value.run.trigger_id === "string";
}

/**
 * Changes the records under a prefix whose next part is an id. One that is damaged stays as it is.
 *
 * @param change answers a record's new form; undefined leaves it as it is
 * @returns how many were changed
 */
async function rewrite<T extends object>(
  { kv, committer }: Database,
  prefix: Deno.KvKey,
  change: (record: T) => Promise<object | undefined>,
): Promise<number> {
  let writes: Write[] = [];
  let changed = 0;
  const store = async () => {
    changed += writes.length;
    // Each by itself, so that as many go into one commit as it can hold.
    await Promise.all(writes.map((write) => committer.write([write])));
    writes = [];
  };
  for await (const { key, value } of scan(kv, prefix, { batchSize: RECORDS_HELD })) {
    if (typeof value !== "object" || value === null) continue;
    // Under one prefix are records of one kind.
    const record = await change(value as T);
    if (record === undefined) continue;
    writes.push(recordWrite(key, record));
    if (writes.length >= RECORDS_HELD) await store();
  }
  await store();
  return changed;
}
