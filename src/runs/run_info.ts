/**
 * Run info: the part of a run that its sender sees.
 *
 * @module
 */
import type { HttpRequest, HttpRequestStatus } from "../store/records/http_requests.ts";
import type { CreatedObject, Run, RunStatus } from "../store/records/runs.ts";
import type { WorkState } from "./work_state.ts";

/** The answer of run info. */
export interface RunInfo {
  status: RunStatus;
  result: RunResult[];
  work?: WorkState;
  /** Set where a schedule has launched it. */
  source?: "schedule";
  /** The run that was performed in its place. */
  superseded_by?: string;
  /** The run whose work was under way, so that it was not performed. */
  skipped_by?: string;
}

/** The object of an action, or what came of its HTTP request so far. */
type RunResult =
  & { action: string }
  & (
    | Exclude<CreatedObject, { http_request_id: string }>
    | { url: string; status: number | null; outcome: HttpRequestStatus }
  );

/**
 * Returns the part of a run that its sender sees: its status, the objects of successful actions in order, and, where
 * it asks, the state of the work.
 *
 * @param read reads an HTTP request of the run
 */
export async function runInfoOf(
  { status, actions, source, superseded_by, skipped_by }: Run,
  work: WorkState | undefined,
  read: (id: string) => Promise<HttpRequest | undefined>,
): Promise<RunInfo> {
  const result: RunResult[] = [];
  for (const { action, created } of actions) {
    if (created === undefined) continue;
    result.push({ action, ...("http_request_id" in created ? await resultOf(created) : created) });
  }
  return {
    status,
    result,
    ...(source !== undefined && { source }),
    ...(superseded_by !== undefined && { superseded_by }),
    ...(skipped_by !== undefined && { skipped_by }),
    ...(work !== undefined && { work }),
  };

  async function resultOf(
    { url, http_request_id }: Extract<CreatedObject, { http_request_id: string }>,
  ) {
    const { answer, status: outcome = "stopped" } = await read(http_request_id) ?? {};
    return { url, status: answer?.status ?? null, outcome };
  }
}
