/**
 * Reading anew what a service was started with, while it runs.
 *
 * @module
 */

/** One thing that was read anew. */
export interface Reloaded {
  what: "environment" | "configuration" | "secrets" | "certificate";
  /** `kept` stands for a mistake: what was in use before stays in use. */
  outcome: "changed" | "unchanged" | "kept";
  /** The names of the changes, or the mistake. */
  detail?: string;
}

/** Reads everything anew. It never rejects: each mistake is in the answer. */
export type Reload = () => Promise<Reloaded[]>;
