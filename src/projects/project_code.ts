/**
 * The interface of the code of projects, wherever it is.
 *
 * @module
 */
import type { Projects } from "./projects.ts";

/** The code of projects. */
export type ProjectCode = Pick<
  Projects,
  | "resolve"
  | "resolveKept"
  | "check"
  | "fetch"
  | "checkout"
  | "jobCode"
  | "pruneTrees"
  | "pruneCopies"
  | "close"
  | "kept"
  | "forget"
  | "isKept"
  | "hasCommit"
  | "branchesWith"
>;
