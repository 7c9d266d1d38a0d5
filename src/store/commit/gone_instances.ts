/**
 * The instances that were taken for gone and are not back: the leader keeps them for an hour.
 *
 * @module
 */
import type { Write } from "./change.ts";
import { keys } from "../keys.ts";
import type { InstanceRecord } from "./instance_record.ts";

/** After this time an instance that is not back is gone for good. */
const GONE_KEPT_MS = 60 * 60_000;
/** Instances that are kept at most: of more than these nobody needs to be told one by one. */
const KEPT_MAX = 100;

/** An instance that was taken for gone. */
interface GoneInstance {
  machine_id: string;
  /** The address at which the other instances reached it. */
  url?: string;
  /** The time at which it was taken for gone, RFC 3339. */
  gone_at: string;
}

type Identity = Pick<InstanceRecord, "id" | "machine_id" | "url">;

/** The instances that are gone. */
export class GoneInstances {
  readonly #gone = new Map<string, GoneInstance>();

  /** Those that are gone, as the leader knows them. */
  get all(): GoneInstance[] {
    return [...this.#gone.values()];
  }

  /** Reads what an earlier leader has stored. */
  async load(kv: Deno.Kv): Promise<void> {
    for await (const { value } of kv.list<GoneInstance>({ prefix: ["gone_instance"] })) {
      this.#gone.set(value.machine_id, value);
    }
  }

  /**
   * Makes the writes that note an instance as gone; none where it is back already, or has no machine: a platform ends
   * such instances as it likes.
   */
  writesOf(
    { id, machine_id, url }: Identity,
    present: readonly Identity[],
    now_ms: number,
  ): Write[] {
    const gone: GoneInstance = {
      machine_id,
      ...(url !== undefined && { url }),
      gone_at: new Date(now_ms).toISOString(),
    };
    const others = present.filter((each) => each.id !== id);
    if (machine_id === id || isBack(gone, others) || this.#gone.size >= KEPT_MAX) return [];
    this.#gone.set(machine_id, gone);
    return [{ key: keys.goneInstance(machine_id), value: gone }];
  }

  /** Forgets those that are back, or gone for good. Returns the writes that remove them. */
  forget(present: readonly Identity[], now_ms: number): Write[] {
    return this.all.filter((gone) =>
      isBack(gone, present) || Math.abs(now_ms - Date.parse(gone.gone_at)) >= GONE_KEPT_MS
    ).map(({ machine_id }) => {
      this.#gone.delete(machine_id);
      return { key: keys.goneInstance(machine_id) };
    });
  }
}

function isBack({ machine_id, url }: GoneInstance, present: readonly Identity[]): boolean {
  return present.some((each) =>
    each.machine_id === machine_id || (url !== undefined && each.url === url)
  );
}
