/**
 * Performing one job within its time limit, in whatever thread.
 *
 * @module
 */
import vm from "node:vm";
import { messageOf } from "../errors.ts";
import { whenPartsRead } from "../waiting/pending.ts";
import type { Job, JobInput, JobKinds, JobResult } from "./job.ts";

const nothing = (): unknown => undefined;
const sandbox = vm.createContext({ perform: nothing });
const script = new vm.Script("perform()");

/** Loads the job of a kind. Where that fails, so does the job. */
export async function loadJob(kinds: JobKinds, kind: string): Promise<Job> {
  try {
    const load = kinds[kind];
    if (load === undefined) throw new TypeError(`There is no kind of job ${kind}`);
    return await load();
  } catch (error) {
    return () => {
      throw error;
    };
  }
}

/**
 * Performs a job. Node's `vm` interrupts it at its time limit: in Deno 2.9 `terminate()` of a Worker does not. What
 * is not JavaScript, such as `JSON.parse`, is interrupted when it returns.
 */
export async function performJob(
  job: Job,
  input: JobInput,
  timeout_ms: number,
): Promise<JobResult> {
  // The caller gave the input of this kind, which its type has checked.
  sandbox.perform = () => job(input as never);
  try {
    // A job whose bytes are still being read runs again once they are.
    return {
      output: await whenPartsRead(() => script.runInContext(sandbox, { timeout: timeout_ms })),
    };
  } catch (error) {
    return codeOf(error) === "ERR_SCRIPT_EXECUTION_TIMEOUT"
      ? { late: true }
      : { failure: messageOf(error) };
  } finally {
    sandbox.perform = nothing;
  }
}

function codeOf(error: unknown): unknown {
  return typeof error === "object" && error !== null && "code" in error ? error.code : undefined;
}
