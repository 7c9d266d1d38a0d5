/**
 * `GET` and `POST /api/v0/launch/<trigger_id>/run/`: the state of a run, for a sender that may launch the
 * trigger. Authentication and timestamp conditions are checked; filters and quotas are not.
 *
 * @module
 */
import { whenPartsRead } from "../../platform/waiting/pending.ts";
import { STATUS_CODE } from "@std/http/status";
import { UnavailableError } from "../../platform/errors.ts";
import { isId } from "../../platform/ids.ts";
import type { Refusal } from "../../conditions/check.ts";
import { describeBody, describeUnreadable, type LaunchRequest } from "../../conditions/request.ts";
import { childOf } from "../../platform/schema/pointer.ts";
import { type RunInfo, runInfoOf } from "../../runs/run_info.ts";
import { getHttpRequest } from "../../store/records/http_requests.ts";
import { getRun, type Run, runInMemory } from "../../store/records/runs.ts";
import { inspect, type Inspection, NO_CONDITION } from "../../triggers/order.ts";
import type { WorkState } from "../../runs/work_state.ts";
import { CLOCK_SPREAD_MAX_MS } from "../../store/commit/instance_limits.ts";
import type { PreparedTrigger } from "../../triggers/prepare.ts";
import type { Trigger } from "../../triggers/trigger.ts";
import { inspectLogged, refuse } from "./refusal.ts";
import { intakeHandler, type SendersContext } from "./request_intake.ts";
import type { Door } from "./door.ts";
import type { IncomingRequest } from "./incoming_request.ts";
import { FairBudget } from "../fair_budget.ts";
import { problem } from "../problem.ts";

const WAIT_S_MAX = 30;
/** The senders that may wait for runs to end. */
const LONG_POLLS_MAX = 4_096;
const FOUND_CHARACTERS_MAX = 64;
const HEADERS = { "content-type": "application/json; charset=utf-8" };
/** Caches do not store the answer to a POST unless told to (RFC 9110 section 9.3.3). */
const GET_HEADERS = { ...HEADERS, "cache-control": "no-store" };

/** Makes the handler of the run-info URL. */
export function runInfoHandler(
  door: Door,
): (context: SendersContext) => Promise<Response> {
  const longPolls = new FairBudget(LONG_POLLS_MAX);
  return intakeHandler(door, {
    route: "/api/v0/launch/{trigger_id}/run/",
    methods: ["GET", "POST"],
    isDelivery: false,
    readsOnly: true,
    answersWhileClosing: true,
    order: ({ runInfo }) => runInfo,
    async answer(prepared, request) {
      const inspection = await inspectLogged(door, prepared, prepared.runInfo, request);
      const asked = "passed" in inspection ? inspection.decoded ?? request : request;
      return refusalOf(door, prepared, request, inspection) ??
        await answer({ door, longPolls }, prepared, { request, asked });
    },
  });
}

/** The answer to a refused question; undefined for one that passes. */
function refusalOf(
  door: Door,
  prepared: PreparedTrigger,
  request: IncomingRequest,
  inspection: Inspection,
): Response | undefined {
  return "refused" in inspection ? refuse(door, prepared, request, inspection.refused) : undefined;
}

/** Checks a question again, by what has become of its trigger. */
async function refusalAnew(
  door: Door,
  { trigger: { id } }: PreparedTrigger,
  request: IncomingRequest,
): Promise<Response | undefined> {
  const current = await door.triggers.prepared(id);
  if (current === undefined) return problem(STATUS_CODE.NotFound);
  return refusalOf(door, current, request, await inspect(current.runInfo, request));
}

async function answer(
  { door, longPolls }: { door: Door; longPolls: FairBudget },
  prepared: PreparedTrigger,
  { request, asked }: { request: IncomingRequest; asked: LaunchRequest },
): Promise<Response> {
  const { trigger, answersGet } = prepared;
  const asking = whenPartsRead(() => questionOf(asked, answersGet));
  const question = asking instanceof Promise ? await asking : asking;
  if ("reason" in question) {
    return refuse(door, prepared, request, {
      condition: "run_info",
      index: NO_CONDITION,
      ...question,
    });
  }
  const { runId, wait_s, asksWork } = question;
  let run = isId(runId)
    ? door.worker.pendingRun(runId) ?? runInMemory(door.store, runId) ??
      await door.databaseDeadline.read(getRun(door.store, runId))
    : undefined;
  if (run === undefined || !isOf(door, run, trigger)) return problem(STATUS_CODE.NotFound);
  let work = asksWork ? await door.databaseDeadline.read(door.runWork.stateOf(run)) : undefined;
  if ((run.status === "pending" || work === "running") && wait_s > 0 && !door.closing.aborted) {
    request[Symbol.dispose]();
    using place = longPolls.take(1, [trigger.id]);
    if (place === undefined) {
      throw new UnavailableError(
        `Cannot wait for a run's end: too many senders of trigger ${trigger.name} do`,
        1,
      );
    }
    run = await waitForEnd(door, run, { wait_s, asksWork }, request.signal);
    if (asksWork) work = await door.runWork.stateOf(run);
  }
  // The trigger may have changed during the wait, and the sender may no longer be allowed to ask.
  const refused = door.triggers.isCurrent(prepared)
    ? undefined
    : await refusalAnew(door, prepared, request);
  return refused ?? new Response(JSON.stringify(await infoOf(door, run, work)), {
    headers: request.method === "GET" ? GET_HEADERS : HEADERS,
  });
}

/**
 * Tells whether a run is a trigger's own. An earlier version gave an id to several triggers, one after the other: a run
 * from before the trigger was created is not.
 */
function isOf(
  { store }: Door,
  { trigger_id, created_at }: Run,
  trigger: Trigger,
): boolean {
  if (trigger_id !== trigger.id) return false;
  if (created_at >= trigger.created_at) return true;
  // The clocks of several instances differ.
  const age_ms = Date.parse(trigger.created_at) - Date.parse(created_at);
  return store.shared !== undefined && age_ms <= CLOCK_SPREAD_MAX_MS;
}

async function waitForEnd(
  door: Door,
  run: Run,
  { wait_s, asksWork }: Pick<Question, "wait_s" | "asksWork">,
  sender: AbortSignal,
): Promise<Run> {
  const controller = new AbortController();
  const { signal } = controller;
  const stop = () => controller.abort();
  const timer = setTimeout(stop, wait_s * 1_000);
  const others = [door.closing, sender];
  for (const signal of others) signal.addEventListener("abort", stop, { once: true });
  if (sender.aborted) stop();
  try {
    if (run.status === "pending") await door.worker.ended(run.id, signal);
    const ended = await getRun(door.store, run.id) ?? run;
    if (asksWork && ended.status !== "pending") await door.runWork.ended(ended, signal);
    return ended;
  } finally {
    clearTimeout(timer);
    for (const signal of others) signal.removeEventListener("abort", stop);
  }
}

/** Returns the part of a run that its sender sees. */
function infoOf(door: Door, run: Run, work: WorkState | undefined): Promise<RunInfo> {
  return runInfoOf(
    run,
    work,
    (id) => door.databaseDeadline.read(getHttpRequest(door.store, id)),
  );
}

function noRun(request: LaunchRequest, answersGet: boolean): Refusal {
  const reason = "Run info was asked for without run_id";
  const places = answersGet ? "a form, JSON or the query" : "a form or JSON, which are signed";
  const expected = `run_id in ${places}`;
  const body = request.parsedBody();
  if (body.kind !== "other" || request.body.length === 0) return { reason, expected };
  return {
    reason: `${reason}: ${describeUnreadable(body)}`,
    expected,
    found: describeBody(request),
  };
}

function noWait(found: string): Refusal {
  return {
    reason: "The field wait is no time to wait",
    expected: `0 to ${WAIT_S_MAX} seconds`,
    found: found.slice(0, FOUND_CHARACTERS_MAX),
  };
}

function noWork(found: string): Refusal {
  return {
    reason: "The field work is neither true nor false",
    expected: "true or false",
    found: found.slice(0, FOUND_CHARACTERS_MAX),
  };
}

/** A sender's question about a run. */
interface Question {
  runId: string;
  wait_s: number;
  /** True when the sender asks for the state of what the run has launched. */
  asksWork: boolean;
}

/** Reads the question; returns why it is refused where it is wrong. */
function questionOf(request: LaunchRequest, answersGet: boolean): Question | Refusal {
  // Where requests are signed, the body names the run: many signatures do not cover the query.
  const runId = (answersGet ? field : bodyField)(request, "run_id");
  if (runId === undefined) return noRun(request, answersGet);
  const wait = field(request, "wait");
  const wait_s = waitOf(wait);
  if (wait_s === undefined) return noWait(String(wait));
  const work = bodyFlag(request, "work") ?? field(request, "work") ?? "false";
  if (work !== "true" && work !== "false") return noWork(work);
  return { runId, wait_s, asksWork: work === "true" };
}

/** Parses the seconds to wait, 0 by default; undefined when they are not a number from 0 to 30. */
function waitOf(text = "0"): number | undefined {
  if (!/^\d{1,2}(\.\d{1,3})?$/.test(text)) return undefined;
  const wait_s = Number(text);
  return wait_s <= WAIT_S_MAX ? wait_s : undefined;
}

/** Returns a field of a form, of a JSON body's top level, or of the query. */
function field(request: LaunchRequest, name: string): string | undefined {
  return bodyField(request, name) ?? request.query.get(name) ?? undefined;
}

function bodyField(request: LaunchRequest, name: string): string | undefined {
  const body = request.parsedBody();
  if (body.kind === "form") return body.fields.get(name)?.[0];
  if (body.kind === "multipart") {
    return body.fields.get(name)?.find((value) => typeof value === "string");
  }
  const value = body.kind === "json" ? childOf(body.value, name) : undefined;
  return typeof value === "string" || typeof value === "number" ? String(value) : undefined;
}

/** Returns a boolean of a JSON body's top level, as text. */
function bodyFlag(request: LaunchRequest, name: string): string | undefined {
  const body = request.parsedBody();
  const value = body.kind === "json" ? childOf(body.value, name) : undefined;
  return typeof value === "boolean" ? String(value) : undefined;
}
