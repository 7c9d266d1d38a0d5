/**
 * The notice of an end of work, which the commit that stores the end stores for notifiers.
 *
 * @module
 */
import type { Write } from "./commit/change.ts";

/** The kinds of work whose end is noticed. */
export type NoticeKind = "run" | "execution" | "pipeline" | "http_request";

/** The ways in which work ends. */
type NoticeStatus = "complete" | "error" | "stopped";

/** The end of a piece of work. */
export interface Notice {
  /** Sorts by the time at which it was made. */
  id: string;
  kind: NoticeKind;
  /** The id of the run, execution, pipeline or HTTP request. */
  of: string;
  run_id: string;
  trigger_id: string;
  project: string;
  /** The step of an execution, or the name of a pipeline. */
  part?: string;
  status: NoticeStatus;
  /** The reason of a failure, or of a stop. */
  reason?: string;
}

/** Makes the writes that a commit stores for notifiers besides an end of work. */
export type TellEnd = (notice: Omit<Notice, "id">) => readonly Write[];

/** Tells whether a status is set on the commit that a run may be about. */
export type TellsStatus = (run: { trigger_id: string; project: string }) => boolean;
