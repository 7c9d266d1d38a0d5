/**
 * The entries of trigger logs as they are stored. An entry about a request at a launch URL is a delivery
 * that made no run: it is also listed over all triggers.
 *
 * @module
 */
import { hash } from "node:crypto";
import type { Write } from "../commit/change.ts";
import { keys } from "../keys.ts";
import { recordWrite } from "./record_size.ts";

/** The outcomes of deliveries that made no run. */
export const NO_RUN_OUTCOMES = ["repeat", "filtered", "refused", "unavailable"] as const;

/** The outcome of a delivery that made no run. */
export type NoRunOutcome = typeof NO_RUN_OUTCOMES[number];

/** The facts about a request, beside the reason of its refusal. */
export interface RequestFacts {
  method: string;
  remote_ip: string;
  /** The headers, values hidden unless they are known to be harmless. */
  headers: Record<string, string>;
  /** The query behind the launch URL, without its `?`, values hidden as those of headers are. */
  query?: string;
  /** Bytes of the body. Absent, as `sha256` is, when the body was not read. */
  size?: number;
  /** SHA-256 of the body, in hex. */
  sha256?: string;
}

/** The result of one condition, as far as it is known of a request that was answered by the first that failed. */
export interface KnownVerdict {
  condition: string;
  /** Its place among the trigger's conditions, from 0. */
  index: number;
  verdict: "passed" | "failed" | "not reached";
}

/** The facts about a delivery that made no run. */
interface DeliveryFacts {
  /** The status that the sender got. */
  status?: number;
  /** The sender's id of the delivery. */
  delivery_id?: string;
  /** Of all conditions of the trigger as it was then. */
  verdicts?: KnownVerdict[];
}

/** A request that was refused, or could not be decided. */
export interface RefusedEvent extends DeliveryFacts {
  kind: "refused";
  /** Absent in entries of earlier versions, which are refusals. */
  outcome?: Exclude<NoRunOutcome, "repeat">;
  /** Set when the request asked how a run went, or whether the URL is listening. Then it is no delivery. */
  is_question?: true;
  /** The type of the condition, or what else refused it. */
  condition: string;
  /** Its place among the trigger's conditions, from 0. */
  condition_index?: number;
  reason: string;
  expected?: string;
  found?: string;
  request: RequestFacts;
  /** The time up to which the request itself is kept (RFC 3339). */
  kept_until?: string;
}

/** A request that was answered like an earlier one of the same delivery. */
interface RepeatEvent extends DeliveryFacts {
  kind: "repeat";
  /** The run that the earlier one made. */
  run_id: string;
  request: RequestFacts;
}

/** An action of a run that failed. */
export interface ActionFailedEvent {
  kind: "action_failed";
  run_id: string;
  action: string;
  action_index: number;
  error: string;
}

/** An HTTP request of an action that failed. */
export interface HttpRequestFailedEvent {
  kind: "http_request_failed";
  run_id: string;
  http_request_id: string;
  url: string;
  error: string;
}

/** An execution of a run that failed. */
export interface ExecutionFailedEvent {
  kind: "execution_failed";
  run_id: string;
  execution_id: string;
  step: string;
  status: "error";
  reason: string;
}

/** A delivery whose body differs from those before it. */
export interface ShapeChangedEvent {
  kind: "shape_changed";
  /** The run of the delivery. */
  run_id: string;
  reason: string;
  expected?: string;
  found?: string;
}

/** A value of a trigger's pace that a request did not have. */
export interface PaceProblem {
  /** The field of the trigger, such as `/coalesce/key`. */
  pointer: string;
  /** The CEL expression without a value. */
  expression: string;
  error: string;
}

/** A run whose pace lacks a value: a key is empty in its place, and a delay is none. */
export interface PaceIncompleteEvent extends PaceProblem {
  kind: "pace_incomplete";
  run_id: string;
}

/** A provider that checked the URL, and was answered. */
export interface HandshakeEvent {
  kind: "handshake";
  /** The handshake's place in the trigger, or the provider of a condition's preset. */
  handshake: string;
  /** The status that the provider got. */
  status: number;
  /** A secret that the provider sent for the owner to copy. */
  told?: string;
  request: RequestFacts;
}

/** The number of entries that were left out. */
export interface OmittedEvent {
  kind: "omitted";
  /** Those that the trigger's log would show. */
  count: number;
  /** The number of deliveries by their outcomes. Absent in entries of earlier versions. */
  deliveries?: Partial<Record<NoRunOutcome, number>>;
}

/** The content of an entry. */
export type TriggerLogEvent =
  | RefusedEvent
  | RepeatEvent
  | HandshakeEvent
  | ActionFailedEvent
  | HttpRequestFailedEvent
  | ExecutionFailedEvent
  | ShapeChangedEvent
  | PaceIncompleteEvent
  | OmittedEvent;

/** The fields that each entry has. */
interface Logged {
  id: string;
  time: string;
  /** That of the trigger when the entry was made; absent in entries of earlier versions. */
  project?: string;
}

/** One entry of a trigger's log. */
export type TriggerLogEntry = Logged & TriggerLogEvent;

/** An entry about a delivery. */
export type DeliveryEntry = Logged & (RefusedEvent | RepeatEvent);

/** The fields of an entry in the list over all triggers. */
export interface EntrySummary {
  trigger_id: string;
  /** Absent in entries of earlier versions. */
  project?: string;
  /** Of a delivery. */
  outcome?: NoRunOutcome;
  condition?: string;
  delivery_id?: string;
  /** Bytes of the body, where the request itself is kept. */
  kept_size?: number;
  /** Of an entry that counts what was left out. */
  deliveries?: Partial<Record<NoRunOutcome, number>>;
}

/** Limit of a sender's id that is kept. */
const DELIVERY_ID_LENGTH_MAX = 200;

/** Returns the sender's id of a delivery as it is kept: a long one is cut. */
export function shownId(id: string): string {
  return id.slice(0, DELIVERY_ID_LENGTH_MAX);
}

/** Returns true for an entry about a request at a launch URL. */
export function isDelivery(entry: TriggerLogEntry): entry is DeliveryEntry {
  return entry.kind === "repeat" || (entry.kind === "refused" && entry.is_question !== true);
}

/** Returns the outcome of a delivery that made no run. */
export function outcomeOf(event: RefusedEvent | RepeatEvent): NoRunOutcome {
  return event.kind === "repeat" ? "repeat" : event.outcome ?? "refused";
}

/** Returns what the list over all triggers holds of an entry; undefined when it does not hold it. */
export function summaryOf(trigger_id: string, entry: TriggerLogEntry): EntrySummary | undefined {
  const owner = { trigger_id, ...(entry.project !== undefined && { project: entry.project }) };
  if (entry.kind === "omitted") {
    return { ...owner, deliveries: entry.deliveries ?? { refused: entry.count } };
  }
  if (!isDelivery(entry)) return undefined;
  const { delivery_id } = entry;
  const { size } = entry.request;
  const isKept = entry.kind === "refused" && entry.kept_until !== undefined && size !== undefined;
  return {
    ...owner,
    outcome: outcomeOf(entry),
    ...(entry.kind === "refused" ? { condition: entry.condition } : {}),
    ...(isKept ? { kept_size: size } : {}),
    ...(delivery_id === undefined ? {} : { delivery_id }),
  };
}

/** The value of a key that only has to be there; bytes are stored as they are. */
const LISTED = new Uint8Array();

/** The writes that store an entry. */
export function entryWrites(triggerId: string, entry: TriggerLogEntry): Write[] {
  const summary = summaryOf(triggerId, entry);
  return [
    recordWrite(keys.triggerLog(triggerId, entry.id), entry),
    ...(summary === undefined ? [] : [recordWrite(keys.deliveryEntry(entry.id), summary)]),
    ...sentIdWrites(summary?.delivery_id, entry.id),
  ];
}

/** The writes that remove an entry, whatever it holds. */
export function removeEntryWrites({ key, value }: { key: Deno.KvKey; value: unknown }): Write[] {
  const id = String(key[2]);
  const summary = isEntry(value) ? summaryOf("", value) : undefined;
  // One that is damaged may be in the list over all triggers, too.
  const isListed = summary !== undefined || !isEntry(value);
  return [
    { key },
    ...(isListed ? [{ key: keys.deliveryEntry(id) }] : []),
    ...removeSentIdWrites(summary?.delivery_id, id),
  ];
}

/** Looks at what the code relies on: only entries are stored under these keys. */
export function isEntry(value: unknown): value is TriggerLogEntry {
  return typeof value === "object" && value !== null && "id" in value && "kind" in value;
}

/**
 * The writes that list a delivery by its sender's id.
 *
 * @param id the id of the run or of the entry
 */
export function sentIdWrites(deliveryId: string | undefined, id: string): Write[] {
  return removeSentIdWrites(deliveryId, id).map(({ key }) => ({ key, value: LISTED }));
}

/** The writes that take a delivery off the list by its sender's id. */
export function removeSentIdWrites(deliveryId: string | undefined, id: string): Write[] {
  return deliveryId === undefined ? [] : [{ key: keys.sentId(hash("sha256", deliveryId), id) }];
}
