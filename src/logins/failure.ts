/**
 * The ways in which a login at an identity provider fails. Each has a code, and a sentence for the person who logs in.
 *
 * @module
 */
import { HooklaunchError } from "../platform/errors.ts";

/** The causes. */
export type LoginFailureCause =
  | "issuer_unreachable"
  | "discovery_wrong"
  | "state_expired"
  | "state_mismatch"
  | "denied"
  | "issuer_refused"
  | "redirect_uri_unregistered"
  | "client_secret_missing"
  | "client_secret_wrong"
  | "code_refused"
  | "clock_skew"
  | "token_invalid"
  | "answer_wrong"
  | "http_refused"
  | "no_role";

/** A login failed. */
export class LoginError extends HooklaunchError {
  override readonly code = "login_failed";

  /**
   * @param message what happened, in a sentence without a full stop
   * @param todo what to do, in a sentence with one
   * @param detail what the issuer or the library said; for the log alone
   */
  constructor(
    override readonly cause: LoginFailureCause,
    message: string,
    readonly todo: string,
    readonly detail = "",
  ) {
    super(message);
  }
}
