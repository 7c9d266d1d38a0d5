/**
 * What a run waits for, as its owner sees it.
 *
 * @module
 */

/** The cause of a wait for a turn. */
export type Waiting =
  /** More runs of its key may join. */
  | { for: "burst"; key: string; until: string }
  | { for: "delay"; until: string }
  /** Others of its key have work under way, or come first. */
  | { for: "concurrency"; key: string; limit: number; place: number; behind: string[] };
