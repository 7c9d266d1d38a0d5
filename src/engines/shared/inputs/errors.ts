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
