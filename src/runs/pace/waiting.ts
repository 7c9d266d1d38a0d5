/**
 * The cause of a run's wait, as its owner sees it.
 *
 * @module
 */
import { timeText } from "../../platform/clock.ts";
import type { Burst } from "../../store/records/held_runs.ts";
import type { Item } from "./item.ts";
import type { Lane } from "./lane.ts";

/** The cause of a wait for a turn. Times are RFC 3339. */
export type Waiting =
  /** More runs of its key may join. */
  | { for: "burst"; key: string; until: string }
  | { for: "delay"; until: string }
  /** Others of its key have work under way, or come first. */
  | { for: "concurrency"; key: string; limit: number; place: number; behind: string[] };

/**
 * Returns what a run waits for.
 *
 * @param burst its open burst
 * @param lane the runs of its concurrency key
 */
export function waitingOf(
  item: Item,
  burst: Burst | undefined,
  lane: Lane<Item> | undefined,
): Waiting {
  if (burst) return { for: "burst", key: burst.key, until: timeText(burst.due_ms) };
  const { concurrency } = item.pace;
  const due_ms = item.due_ms || item.created_ms;
  const place = lane?.placeOf(item) ?? 0;
  if (concurrency === undefined || lane === undefined || place === 0) {
    return { for: "delay", until: timeText(due_ms) };
  }
  const { key, limit } = concurrency;
  return { for: "concurrency", key, limit, place, behind: [...lane.working] };
}
