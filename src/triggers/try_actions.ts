/**
 * The dry run of actions: what each would launch for each of some requests. Nothing is launched, stored or
 * counted.
 *
 * @module
 */
import { type ActionPreview, previewActions } from "../actions/preview.ts";
import type { PreviewContext } from "../actions/action.ts";
import { payloadFileOf } from "../actions/payload_file.ts";
import { type LaunchRequest, launchRequest } from "../conditions/request.ts";
import { evaluateValues, type ValuesWork } from "../conditions/values/evaluate.ts";
import { headerValue } from "../platform/network/header_text.ts";
import type { ActionSettings } from "../store/records/runs.ts";
import type { PreparedTrigger } from "./prepare.ts";
import { launchFacts } from "./request_facts.ts";
import type { TriedRequest } from "./try_filter.ts";

/** The longest body that actions are tried on. */
const TRIED_BODY_BYTES_MAX = 1024 * 1024;
/** The time after which no further request is tried. */
const TRY_MS = 2_000;
/** All dry runs together have the share of the Worker that one trigger has. */
const OWNER = "dry runs of actions";

/** The parts of a service that a dry run uses. */
interface TryActionsParts extends Omit<PreviewContext, "payload" | "signal" | "evaluate"> {
  heavyWork: ValuesWork;
}

/** The actions of a trigger on one request. */
export interface TriedActions {
  /** None when the request was not tried, for the reason. */
  actions: ActionPreview[];
  not_tried?: string;
}

/** A request, and the id that its run has, or would have. */
export interface TriedLaunch extends TriedRequest {
  runId: string;
}

/** Tries actions on requests, one after the other. */
export async function tryActions(
  actions: readonly ActionSettings[],
  prepared: PreparedTrigger,
  requests: readonly TriedLaunch[],
  parts: TryActionsParts,
): Promise<TriedActions[]> {
  const until_ms = performance.now() + TRY_MS;
  const tried: TriedActions[] = [];
  for (const { size, load, runId } of requests) {
    if (size > TRIED_BODY_BYTES_MAX) tried.push(notTried("The body is longer than 1 MiB"));
    else if (performance.now() > until_ms) {
      tried.push(notTried(`The requests before it took ${TRY_MS} ms`));
    } else {
      const request = await load();
      tried.push(
        request
          ? { actions: await tryOn(actions, prepared, { request, runId }, parts) }
          : notTried("The body is gone"),
      );
    }
  }
  return tried;
}

function notTried(reason: string): TriedActions {
  return { actions: [], not_tried: reason };
}

async function tryOn(
  actions: readonly ActionSettings[],
  prepared: PreparedTrigger,
  { request, runId }: { request: LaunchRequest; runId: string },
  { heavyWork, ...context }: TryActionsParts,
): Promise<ActionPreview[]> {
  const { request: seen, contentType } = asStored(request, prepared);
  const ofRun = { run_id: runId, trigger: prepared.trigger.name };
  const payload = await payloadFileOf(runId, {
    size: request.body.length,
    sha256: "",
    content_type: contentType,
  });
  const signal = AbortSignal.timeout(TRY_MS);
  const evaluate = (wanted: Parameters<typeof evaluateValues>[2]) =>
    evaluateValues(seen, ofRun, wanted, { heavyWork, owner: OWNER });
  return await previewActions(actions, evaluate, { ...context, payload, signal });
}

/** Returns a request as a run keeps it: without credentials, and without what is too long. */
function asStored(
  request: LaunchRequest,
  prepared: PreparedTrigger,
): { request: LaunchRequest; contentType: string | undefined } {
  const { headers, query } = request;
  const { facts = {}, contentType } = launchFacts(
    { headers, queryText: query.toString() },
    prepared,
  );
  const kept = { ...facts.headers, ...(contentType && { "content-type": contentType }) };
  return {
    request: launchRequest({
      ...request,
      headers: new Headers(
        Object.entries(kept).map(([name, value]) => [name, headerValue(value)]),
      ),
      query: new URLSearchParams(facts.query),
    }),
    contentType,
  };
}
