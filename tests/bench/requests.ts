/**
 * What the benchmark sends, and to which triggers.
 *
 * @module
 */
import { createHmac } from "node:crypto";

/** The secret of every trigger that wants a signature. */
export const SECRET = "the benchmark's secret";
/** The secret of the trigger that wants a token, which can be asked for runs by GET. */
export const SENDERS_TOKEN = "the benchmark's sender";
/** The operator's token of every service. */
export const OPERATORS_TOKEN = "an-operators-token-for-the-benchmark";
/** The trigger that wants a token. */
export const TOKEN_TRIGGER = "01900000-0000-7000-8000-ffffffffffff";
/** The start of the ids of triggers, and of the runs that polls ask for. */
export const FIXED_IDS = "01900000-0000-7000";
/** The bytes of a launch, unless a row says otherwise. */
export const PAYLOAD_BYTES = 1_024;

/** A request. */
export interface Sent {
  method: "GET" | "POST";
  path: string;
  headers: Record<string, string>;
  body: string;
}

/** The id of the so manieth trigger that wants a signature, from 0. */
export function triggerId(index: number): string {
  return `01900000-0000-7000-8000-${(index + 1).toString(16).padStart(12, "0")}`;
}

/** The id of the ended run that each data folder has of the first trigger and of that with a token. */
export function endedRunOf(trigger: string): string {
  return trigger.replace("-8000-", "-9000-");
}

/** Launches of so many triggers, one each. */
export function launches(triggers: number, payload_bytes = PAYLOAD_BYTES): Sent[] {
  const body = payload(payload_bytes);
  const headers = { "x-signature": sign(body) };
  return Array.from({ length: triggers }, (_, index) => post(triggerId(index), headers, body));
}

/** A launch whose signature is another body's. */
export function forgedLaunch(): Sent {
  return post(triggerId(0), { "x-signature": sign("another body") }, payload(PAYLOAD_BYTES));
}

/** Asks how a run went, as who launches with a token does. */
export function pollByToken(): Sent {
  const path = `/api/v0/launch/${TOKEN_TRIGGER}/run?run_id=${endedRunOf(TOKEN_TRIGGER)}`;
  return { method: "GET", path, headers: { "x-token": SENDERS_TOKEN }, body: "" };
}

/** Asks how a run went, as who signs launches does. */
export function pollBySignature(): Sent {
  const body = JSON.stringify({ run_id: endedRunOf(triggerId(0)) });
  return post(`${triggerId(0)}/run`, { "x-signature": sign(body) }, body);
}

/** A body of so many bytes that the triggers' filter lets in. */
export function payload(bytes: number): string {
  const frame = JSON.stringify({ action: "opened", pad: "" }).length;
  return JSON.stringify({ action: "opened", pad: "x".repeat(bytes - frame) });
}

/** A request as it goes over the wire. */
export function wireText({ method, path, headers, body }: Sent): string {
  const length = method === "GET" ? [] : [`content-length: ${body.length}`];
  const fields = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return [`${method} ${path} HTTP/1.1`, "host: localhost", ...fields, ...length, "", body]
    .join("\r\n");
}

/** A request to a trigger's launch URL, or to a path below it. */
export function post(target: string, headers: Record<string, string>, body: string): Sent {
  return {
    method: "POST",
    path: `/api/v0/launch/${target}`,
    headers: { "content-type": "application/json", ...headers },
    body,
  };
}

/** The signature of a body. */
export function sign(body: string, secret = SECRET): string {
  return `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`;
}
