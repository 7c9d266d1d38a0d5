/**
 * The Worker's side of heavy work.
 *
 * @module
 */
import vm from "node:vm";
import { parentPort } from "node:worker_threads";
import { messageOf } from "../errors.ts";
import { whenPartsRead } from "../waiting/pending.ts";
import type { Job, JobKinds, JobMessage, JobResult, WorkerMessage } from "./job.ts";

/**
 * Runs the jobs that the service sends. A Worker's module calls it once.
 *
 * Node's `vm` interrupts a job at its time limit: in Deno 2.9 `terminate()` does not. What is not
 * JavaScript, such as `JSON.parse`, is interrupted when it returns.
 */
export function serveJobs(kinds: JobKinds): void {
  const nothing = (): unknown => undefined;
  const sandbox = vm.createContext({ perform: nothing });
  const script = new vm.Script("perform()");
  parentPort?.on("message", async ({ kind, input, bytes, timeout_ms }: JobMessage) => {
    const job = await load(kinds, kind);
    post("begun");
    // The caller gave the input of this kind, which its type has checked.
    const given = { ...input, bytes: new Uint8Array(bytes) } as never;
    sandbox.perform = () => job(given);
    const result = await resultOf(() => script.runInContext(sandbox, { timeout: timeout_ms }));
    post(result, buffersIn(result));
    sandbox.perform = nothing;
  });
  post("ready");
}

async function load(kinds: JobKinds, kind: string): Promise<Job> {
  try {
    const loadJob = kinds[kind];
    if (loadJob === undefined) throw new TypeError(`There is no kind of job ${kind}`);
    return await loadJob();
  } catch (error) {
    return () => {
      throw error;
    };
  }
}

/** A job whose bytes are still being read runs again once they are. */
async function resultOf(run: () => unknown): Promise<JobResult> {
  try {
    return { output: await whenPartsRead(run) };
  } catch (error) {
    return codeOf(error) === "ERR_SCRIPT_EXECUTION_TIMEOUT"
      ? { late: true }
      : { failure: messageOf(error) };
  }
}

function codeOf(error: unknown): unknown {
  return typeof error === "object" && error !== null && "code" in error ? error.code : undefined;
}

/** Lists the buffers of an output: they move to the service without a copy. */
function buffersIn(result: JobResult): ArrayBuffer[] {
  if (!("output" in result) || typeof result.output !== "object") return [];
  return Object.values(result.output ?? {}).filter((value) => value instanceof ArrayBuffer);
}

function post(message: WorkerMessage, buffers: ArrayBuffer[] = []): void {
  parentPort?.postMessage(message, buffers);
}
