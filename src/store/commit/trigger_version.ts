/**
 * The version of all triggers, where several instances share the database. Each change of a trigger
 * rewrites it, with the latest changes. What an instance has prepared of triggers is a cache: it is valid
 * as long as the version is the one that it was read under.
 *
 * @module
 */
import { CoalescedWork } from "../../platform/waiting/coalesced_work.ts";
import type { Write } from "./change.ts";
import { keys } from "../keys.ts";

/** Changes that the record names. Who has seen none of them forgets all triggers. */
const CHANGES_MAX = 100;

/** Stands for all notifiers among the ids of triggers. */
export const NOTIFIERS = "notifiers";

/** The record of the version. */
interface TriggerChanges {
  version: number;
  /** The ids of the triggers that were changed last, the latest first. */
  changed: string[];
}

/** Returns the write that notes a change of a trigger. Changes are made one after the other. */
export async function triggerChangeWrite(kv: Deno.Kv, triggerId: string): Promise<Write> {
  const { value } = await kv.get<TriggerChanges>(keys.registry());
  const changed = [triggerId, ...value?.changed ?? []].slice(0, CHANGES_MAX);
  const record: TriggerChanges = { version: (value?.version ?? 0) + 1, changed };
  return { key: keys.registry(), value: record, bytes: 64 * CHANGES_MAX };
}

/** The version of the triggers that this instance has prepared. */
export class TriggerVersion {
  readonly #kv: Deno.Kv;
  readonly #listeners = new Set<(triggerId: string | undefined) => void>();
  readonly #reading = new CoalescedWork(() => this.#read());
  #version = 0;
  #versionstamp: string | null = null;
  #notifiers = 0;

  constructor(kv: Deno.Kv) {
    this.#kv = kv;
  }

  /** The check of a commit that is decided on the triggers as they are known here. */
  get check(): Deno.AtomicCheck {
    return { key: keys.registry(), versionstamp: this.#versionstamp };
  }

  /** The number of times that notifiers were changed, or may have been. What an instance knows of them is a cache, too. */
  get notifierChanges(): number {
    return this.#notifiers;
  }

  /** Calls a listener with each trigger that was changed, or with undefined when any may have been. */
  onChange(listener: (triggerId: string | undefined) => void): void {
    this.#listeners.add(listener);
  }

  /** Reads the version. Listeners are called before the promise resolves. One read serves all that wait. */
  sync(): Promise<void> {
    return this.#reading.run();
  }

  async #read(): Promise<void> {
    const { value, versionstamp } = await this.#kv.get<TriggerChanges>(keys.registry());
    if (versionstamp === this.#versionstamp) return;
    const { version = 0, changed = [] } = value ?? {};
    const missed = version - this.#version;
    const ids = missed >= 0 && missed <= changed.length ? changed.slice(0, missed) : [undefined];
    this.#version = version;
    this.#versionstamp = versionstamp;
    if (ids.some((id) => id === undefined || id === NOTIFIERS)) this.#notifiers++;
    const triggers = ids.filter((id) => id !== NOTIFIERS);
    for (const listener of this.#listeners) for (const id of triggers) listener(id);
  }
}
