/**
 * The errors of staging. Their messages are for the owner and continue "Cannot fetch <file>: ".
 *
 * @module
 */
import { HooklaunchError } from "../../../platform/errors.ts";

/** An input file cannot be staged. */
export class StagingError extends HooklaunchError {
  override readonly code = "input_failed";
}

/** A fetch failed, and a second try may succeed. */
export class TransientError extends HooklaunchError {
  override readonly code = "input_failed_for_now";

  /** @param wait_ms the pause that the server asks for, in milliseconds */
  constructor(message: string, readonly wait_ms?: number) {
    super(message);
  }
}
