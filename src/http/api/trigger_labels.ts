/**
 * The names and projects of the triggers that records belong to.
 *
 * @module
 */
import { idTime } from "../../platform/ids.ts";
import { CLOCK_SPREAD_MAX_MS } from "../../store/commit/instance_limits.ts";
import type { Labels } from "../../triggers/stored_trigger.ts";
import type { Operator } from "./operator.ts";

/** A record of a trigger. */
export interface TriggerRecord {
  id: string;
  /** That of the record when it was made; absent in records of earlier versions. */
  project?: string | undefined;
}

/** Reads the names and projects of triggers, each once. */
export class TriggerLabels {
  readonly #triggers: Pick<Operator["triggers"], "labelsOf">;
  /** The clocks of several instances differ. */
  readonly #spread_ms: number;
  readonly #labels = new Map<string, Promise<Labels | undefined>>();

  constructor({ triggers, store }: Pick<Operator, "triggers" | "store">) {
    this.#triggers = triggers;
    this.#spread_ms = store.shared ? CLOCK_SPREAD_MAX_MS : 0;
  }

  /** Returns those of a trigger; undefined when it was deleted. */
  of(id: string): Promise<Labels | undefined> {
    let labels = this.#labels.get(id);
    if (labels === undefined) this.#labels.set(id, labels = this.#triggers.labelsOf(id));
    return labels;
  }

  /**
   * Returns those of the trigger that a record belongs to; undefined when it was deleted, or when the record is
   * older than it: an earlier version gave an id to several triggers, one after the other.
   */
  async ofRecord({ id }: TriggerRecord, triggerId: string): Promise<Labels | undefined> {
    const labels = await this.of(triggerId);
    return labels && this.#isSince(id, labels.created_ms) ? labels : undefined;
  }

  /**
   * Returns the project of a record: its own; of one of an earlier version, that of its trigger, if the trigger was
   * there already.
   */
  async projectOf(record: TriggerRecord, triggerId: string): Promise<string | undefined> {
    if (record.project) return record.project;
    const labels = await this.ofRecord(record, triggerId);
    if (labels === undefined) return undefined;
    return this.#isSince(record.id, labels.moved_ms ?? 0) ? labels.project : undefined;
  }

  #isSince(id: string, time_ms: number): boolean {
    return idTime(id) + this.#spread_ms >= time_ms;
  }
}
