/**
 * The sample of a trigger's deliveries that later ones are compared with.
 *
 * @module
 */
import { keys } from "../keys.ts";
import { readValue } from "../read/scan.ts";
import type { Store } from "../store.ts";

/** A sample of deliveries. */
interface ShapeSample {
  /** The ids of its deliveries. */
  ids: string[];
  /** The id of the newest delivery that was compared. */
  last: string;
  /** The time of the newest delivery that was counted then. */
  looked_ms: number;
}

/** Reads the sample of a trigger; an empty one where none is stored. */
export async function getShapeSample(
  { kv }: Pick<Store, "kv">,
  triggerId: string,
): Promise<ShapeSample> {
  const stored = await readValue(kv, keys.shapeSample(triggerId)) as ShapeSample | null;
  return stored ?? { ids: [], last: "", looked_ms: 0 };
}

/** Stores the sample of a trigger. */
export async function putShapeSample(
  { committer }: Pick<Store, "committer">,
  triggerId: string,
  value: ShapeSample,
): Promise<void> {
  await committer.write([{ key: keys.shapeSample(triggerId), value }]);
}
