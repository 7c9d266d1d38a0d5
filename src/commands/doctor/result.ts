/**
 * The result of a check.
 *
 * @module
 */
import { HooklaunchError } from "../../platform/errors.ts";

/** A failure keeps senders or operators from their work; a warning may be meant. */
export type State = "ok" | "warning" | "failure" | "not_checked";

/** The result of a check. */
export interface Result {
  state: State;
  /** The finding, a sentence without a full stop. */
  text: string;
  /** The next step; absent where there is none. */
  advice?: string;
}

/** A check cannot be made. */
export class NotCheckedError extends HooklaunchError {
  override readonly code = "not_checked";

  constructor(message: string, readonly advice?: string) {
    super(message);
  }
}

/** Returns the result of a check that finds nothing wrong. */
export function ok(text: string): Result {
  return { state: "ok", text };
}

/** Returns the result of a check that finds what may be meant. */
export function warning(text: string, advice: string): Result {
  return { state: "warning", text, advice };
}

/** Returns the result of a check that finds what does not work. */
export function failure(text: string, advice: string): Result {
  return { state: "failure", text, advice };
}
