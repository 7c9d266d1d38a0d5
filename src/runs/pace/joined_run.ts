/**
 * The run that a burst becomes where all of its payloads become one: JSON Lines, a line for each delivery.
 *
 * @module
 */
import { Buffer, isUtf8 } from "node:buffer";
import { hash } from "node:crypto";
import { parseJson } from "../../platform/text/parse_json.ts";
import { newPending, type PendingRun, type Run } from "../../store/records/runs.ts";
import {
  CorruptPayloadError,
  needsUpload,
  readPayload,
  uploadPayload,
} from "../../store/records/payloads.ts";
import type { Store } from "../../store/store.ts";

/** The most payloads that become one. */
const JOINED_RUNS_MAX = 1_000;
/** Their bytes together. */
const JOINED_BYTES_MAX = 16 * 1024 * 1024;

const CONTENT_TYPE = "application/jsonl";

/** A run that waits, and its payload. */
interface Joined {
  pending: PendingRun;
  payload: Uint8Array;
}

/** Tells whether so many payloads, and bytes, may become one. */
export function mayBeJoined(runs: number, bytes: number): boolean {
  return runs <= JOINED_RUNS_MAX && bytes <= JOINED_BYTES_MAX;
}

/**
 * Makes the run that others become, and stores its payload where it is long.
 *
 * @param damaged gets the error of each run whose payload is damaged, by its id: it is left out
 * @returns undefined where nothing is left
 */
export async function joinedRun(
  store: Store,
  { id, created_ms, damaged }: { id: string; created_ms: number; damaged: Map<string, string> },
  joined: readonly PendingRun[],
): Promise<Joined | undefined> {
  const lines: Line[] = [];
  for (const pending of joined) {
    try {
      lines.push(await lineOf(store, pending));
    } catch (error) {
      if (!(error instanceof CorruptPayloadError)) throw error;
      damaged.set(pending.run.id, error.message);
    }
  }
  const whole = joined.filter(({ run }) => !damaged.has(run.id));
  const [first, last] = [whole[0], whole.at(-1)];
  if (first === undefined || last === undefined) return undefined;
  const payload = new TextEncoder().encode(lines.map(({ text }) => text).join(""));
  const sha256 = hash("sha256", payload);
  if (needsUpload(payload.length)) await uploadPayload(store, id, payload, sha256);
  const { trigger_id, project, remote_ip } = first.run;
  const { actions, worker, pace: { coalesce: _coalesce, ...pace } = {} } = last;
  const masked = [...new Set(lines.flatMap((line) => line.masked))];
  const run: Run = {
    id,
    trigger_id,
    project,
    status: "pending",
    created_at: new Date(created_ms).toISOString(),
    remote_ip,
    ...(masked.length > 0 && { request: { masked } }),
    payload: { size: payload.length, sha256, content_type: CONTENT_TYPE },
    actions: [],
  };
  return { pending: newPending({ run, actions, worker, pace }, payload), payload };
}

/** The line of one delivery, and JSON Pointers to the fields of it that carry credentials. */
interface Line {
  text: string;
  masked: string[];
}

/** Makes the line of one delivery: its body as JSON where it is JSON, else as a text, or in base64. */
async function lineOf(store: Store, { run, body: kept }: PendingRun): Promise<Line> {
  const { id, created_at, delivery_id, payload: { size, sha256, content_type } } = run;
  const body = Buffer.concat(
    kept ? [kept] : await Array.fromAsync(readPayload(store, id, size, sha256)),
  );
  const about = JSON.stringify({ run_id: id, delivery_id, created_at, content_type });
  const { name, value, isWhole } = bodyField(body);
  return {
    text: `${about.slice(0, -1)},"${name}":${value}}\n`,
    masked: (run.request?.masked ?? []).map((field) => `/${name}${isWhole ? "" : field}`),
  };
}

/** A body in its line; `isWhole` where nothing tells its fields. */
function bodyField(body: Buffer): { name: string; value: string; isWhole: boolean } {
  if (!isUtf8(body)) {
    return { name: "body_base64", value: JSON.stringify(body.toString("base64")), isWhole: true };
  }
  const text = body.toString();
  if (parseJson(text) === undefined) {
    return { name: "body", value: JSON.stringify(text), isWhole: true };
  }
  // Not parsed and written anew: integers keep their digits. A line break in it stands between its values.
  return { name: "body", value: text.replaceAll(/[\r\n]/g, " ").trim(), isWhole: false };
}
