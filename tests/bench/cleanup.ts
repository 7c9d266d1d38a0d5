/**
 * Cleanup of what is past retention, while launches arrive.
 *
 * @module
 */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { DATABASE_FILE } from "../../src/store/file/database_file.ts";
import type { Bench, Stock } from "./bench.ts";
import { pause } from "./measuring.ts";
import { type Paced, paced } from "./paced.ts";
import { launches } from "./requests.ts";
import { type Server, startServer } from "./servers.ts";
import { atMost } from "./table.ts";

const LAUNCHES_PER_SECOND = 500;
const WHOLE_MAX_S = 180;

/** A cleanup that launches go on beside. */
interface Watched {
  stock: Stock;
  what: string;
  /** How long it is watched; without it, to its end. */
  seconds?: number;
  /** Whether the triggers' lists are empty already, so that it begins with the runs themselves. */
  isUnlisted?: boolean;
}

/** Measures launches while cleanup goes on, against launches of a service of the same age without it. */
export async function measureCleanup(bench: Bench): Promise<void> {
  const seconds = bench.isQuick ? 8 : 30;
  const long = { stock: "full", seconds } as const;
  await measure(bench, {
    ...long,
    what: `${seconds} s of taking ${bench.runs} runs off the lists`,
  });
  const what = `${seconds} s of removing ${bench.runs} runs`;
  await measure(bench, { ...long, what, isUnlisted: true });
  await measure(bench, { stock: "expired", what: "a whole cleanup" });
}

async function measure(bench: Bench, watched: Watched): Promise<void> {
  const during = await launchWhile(bench, watched, {
    cleansUp: true,
    seconds: watched.seconds ?? WHOLE_MAX_S,
  });
  const without = await launchWhile(bench, watched, { cleansUp: false, seconds: during.seconds });
  const { report } = during;
  const removed = report === undefined
    ? "no report"
    : `${report.unlisted} runs unlisted, ${report.runs} runs and ${report.executions} ` +
      `executions removed in ${report.seconds.toFixed(0)} s`;
  bench.add(atMost(1.5, {
    what: `p99 of ${LAUNCHES_PER_SECOND} launches/s, ${watched.what}`,
    value: during.p99_ms,
    unit: "ms",
    floor: without.p99_ms,
    floor_what: "the same without cleanup",
    detail: `p50 ${during.p50_ms.toFixed(1)} ms against ${without.p50_ms.toFixed(1)} ms, slowest ` +
      `${during.max_ms.toFixed(0)} ms against ${without.max_ms.toFixed(0)} ms; ${removed}`,
  }));
}

/** Launches on new data, while a cleanup goes on or not. */
async function launchWhile(
  bench: Bench,
  { stock, isUnlisted }: Watched,
  options: { cleansUp: boolean; seconds: number },
): Promise<Paced & { seconds: number; report: Report | undefined }> {
  await using data = await bench.data(stock);
  if (isUnlisted) unlist(data.path);
  return await launchOn(bench, data.path, options);
}

/** Launches on a data folder, while a cleanup goes on or not. */
export async function launchOn(
  bench: Bench,
  data: string,
  { cleansUp, seconds, per_second = LAUNCHES_PER_SECOND, countsRefused = false }: {
    cleansUp: boolean;
    seconds: number;
    per_second?: number;
    countsRefused?: boolean;
  },
): Promise<Paced & { seconds: number; report: Report | undefined }> {
  await using server = await startServer(bench, "service", data);
  const [request] = launches(1);
  if (request === undefined) throw new Error("There is no launch");
  const options = { port: server.port, request, per_second, countsRefused };
  await paced({ ...options, seconds: bench.isQuick ? 3 : 10 });
  if (cleansUp) await server.tell("clean up");
  const over = new AbortController();
  const watching = watch(server, over);
  const began_ms = performance.now();
  const launched = await paced({ ...options, seconds, signal: over.signal });
  const took_s = (performance.now() - began_ms) / 1_000;
  over.abort();
  await watching;
  // A service that stops ends its cleanup, and tells how far it has come.
  await server[Symbol.asyncDispose]();
  return { ...launched, seconds: took_s, report: reportOf(server) };
}

/** Empties the lists of all triggers. The database has the bytes of a key's parts one behind the other. */
function unlist(data: string): void {
  const database = new DatabaseSync(join(data, DATABASE_FILE));
  database.exec(
    "DELETE FROM kv WHERE k >= CAST(x'02' || 'trigger_run' || x'00' AS BLOB) " +
      "AND k < CAST(x'02' || 'trigger_run' || x'01' AS BLOB)",
  );
  database.close();
}

/** Aborts when the cleanup is over. */
async function watch(server: Server, over: AbortController): Promise<void> {
  while (!over.signal.aborted) {
    if (reportOf(server) !== undefined) over.abort();
    else await pause(50);
  }
}

/** What a cleanup says at its end. */
interface Report {
  unlisted: number;
  runs: number;
  executions: number;
  log_entries: number;
  seconds: number;
}

function reportOf(server: Server): Report | undefined {
  const line = server.printed().split("\n").find((text) => text.startsWith("{"));
  return line === undefined ? undefined : JSON.parse(line);
}
