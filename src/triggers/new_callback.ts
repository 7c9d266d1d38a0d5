/**
 * The callback of a run: the HTTP request that tells its sender how it ended.
 *
 * @module
 */
import { sourcesIn } from "../conditions/values/compile.ts";
import type { EvaluateValues } from "../conditions/values/evaluate.ts";
import { fillUrl, shownAddress } from "../http_requests/url_values.ts";
import type { Clock } from "../platform/clock.ts";
import { isShortage, messageOf } from "../platform/errors.ts";
import { runInfoOf } from "../runs/run_info.ts";
import type { RunWork } from "../runs/work_state.ts";
import { callbackMadeWrite } from "../store/records/callbacks.ts";
import {
  createHttpRequestWrites,
  getHttpRequest,
  type HttpRequest,
  type HttpRequestPlan,
  httpRequestWrites,
} from "../store/records/http_requests.ts";
import { launcherFields } from "../store/records/launchers.ts";
import { getRun, type Run } from "../store/records/runs.ts";
import { getStoredTrigger } from "../store/records/triggers.ts";
import type { Store } from "../store/store.ts";
import { secretText } from "../conditions/secret.ts";
import { allowedAddress } from "./callback_address.ts";
import { callbackId } from "./callback_id.ts";
import type { CallbackSettings } from "./callback_settings.ts";
import { triggerOf } from "./stored_trigger.ts";

const TIMEOUT_MS = 30_000;
/** 1 s, 2 s, 4 s, … up to an hour, and then each hour: a day. */
const RETRY = { attempts: 36, first: 1, factor: 2 };

/** The parts of a service that callbacks need. */
export interface NewCallbackParts {
  store: Store;
  clock: Clock;
  runWork: Pick<RunWork, "stateOf">;
  valuesOf(of: { run: Run }): EvaluateValues;
  /** Sends a request that is on disk. */
  begin(id: string): void;
  /** Notes that one has ended without being sent. */
  onRefused(request: HttpRequest): void;
}

/**
 * Makes the callback of a run, and begins to send it.
 *
 * @returns false while the work of the run goes on
 */
export async function makeCallback(runId: string, parts: NewCallbackParts): Promise<boolean> {
  const { store, runWork } = parts;
  const run = await getRun(store, runId);
  if (run?.status === "pending") return false;
  const id = callbackId(runId);
  const made = callbackMadeWrite(runId);
  // A run that was removed has nobody to tell, and what was made is not made again.
  if (run === undefined || await getHttpRequest(store, id) !== undefined) {
    await store.committer.write([made]);
    return true;
  }
  const work = await runWork.stateOf(run);
  if (work === "running") return false;
  const stored = await getStoredTrigger(store, run.trigger_id);
  const settings = stored && triggerOf(stored).callback;
  const address = settings === undefined
    ? "the trigger has no callback any more"
    : await addressOf(settings, parts.valuesOf({ run }));
  if (settings === undefined || typeof address === "string") {
    // The sender wants none.
    if (address === "") await store.committer.write([made]);
    else await refuse(parts, newRequest(id, run, parts), String(address));
    return true;
  }
  const info = await runInfoOf(run, work, (each) => getHttpRequest(store, each));
  const url = shownAddress(address.origin + address.pathname);
  const request = { ...newRequest(id, run, parts), url };
  const body = JSON.stringify({ run_id: run.id, ...info });
  const plan = planOf(settings, address, body);
  await store.committer.write([...createHttpRequestWrites(request, plan), made]);
  parts.begin(id);
  return true;
}

/**
 * Returns the address of a callback; a text says why there is none, an empty one that the sender wants none.
 *
 * @throws a shortage, such as of the store that has the run's payload: it is read later
 */
async function addressOf(
  { url, allow }: CallbackSettings,
  evaluate: EvaluateValues,
): Promise<URL | string> {
  try {
    const { values } = await evaluate({ sources: sourcesIn(url) });
    const [only] = values;
    if (values.length === 1 && only !== undefined && "json" in only && only.json === "") return "";
    const filled = fillUrl(url, values);
    if ("problem" in filled) return filled.problem;
    // A template that is one value is checked as it was sent, not as a URL was made of it.
    const sent = only !== undefined && "json" in only && /^\{[^{}]*\}$/.test(url)
      ? String(only.json)
      : filled.url.href;
    return allowedAddress(sent, allow);
  } catch (error) {
    if (isShortage(error)) throw error;
    return messageOf(error);
  }
}

async function refuse(
  { store, clock, onRefused }: NewCallbackParts,
  request: HttpRequest,
  why: string,
): Promise<void> {
  const ended: HttpRequest = {
    ...request,
    status: "error",
    reason: `The callback is not sent: ${why}`,
    ended_at: new Date(clock.now()).toISOString(),
  };
  await store.committer.write([...httpRequestWrites(ended), callbackMadeWrite(ended.run_id)]);
  onRefused(ended);
}

function newRequest(id: string, run: Run, { clock }: NewCallbackParts): HttpRequest {
  return {
    id,
    run_id: run.id,
    trigger_id: run.trigger_id,
    ...launcherFields(run),
    project: run.project ?? "",
    method: "POST",
    url: "",
    wait: "none",
    status: "sending",
    created_at: new Date(clock.now()).toISOString(),
    attempts: 0,
    tried: 0,
    tells_sender: true,
  };
}

function planOf(
  { sign, private_networks }: CallbackSettings,
  address: URL,
  body: string,
): HttpRequestPlan {
  return {
    method: "POST",
    url: address.href,
    headers: { "content-type": "application/json" },
    body,
    ...(sign && { sign: { preset: sign.preset, secret: secretText(sign.secret) } }),
    timeout_ms: TIMEOUT_MS,
    retry: RETRY,
    private_networks: private_networks === true,
    tells_sender: true,
    wait: { for: "none" },
  };
}
