/**
 * The errors of fetching a URL. Their messages continue a sentence such as "Cannot fetch <file>: ". None of
 * them holds text of an answer.
 *
 * @module
 */
import { HooklaunchError } from "../errors.ts";

/** A URL cannot be fetched, and a second try fails, too. */
export class FetchError extends HooklaunchError {
  override readonly code = "fetch_failed";
}

/** A fetch failed, and a second try may succeed. */
export class TransientError extends HooklaunchError {
  override readonly code = "fetch_failed_for_now";

  /** @param wait_ms the pause that the server asks for, in milliseconds */
  constructor(message: string, readonly wait_ms?: number) {
    super(message);
  }
}
