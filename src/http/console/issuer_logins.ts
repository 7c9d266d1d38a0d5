/**
 * Logins at identity providers: the way there, the way back, and the logout.
 *
 * @module
 */
import type { Context } from "@hono/hono";
import { STATUS_CODE } from "@std/http/status";
import { getLogger } from "@logtape/logtape";
import { LoginError, type LoginFailureCause } from "../../logins/failure.ts";
import { SEALED_MS } from "../../logins/sealed.ts";
import { loginProviders, providerKey } from "../../store/records/login_providers.ts";
import type { WrongTokens } from "../api/wrong_tokens.ts";
import { search } from "./client.ts";
import type { LoginButton } from "./pages/login.tsx";
import type { EndedLogin, SessionParts, Sessions } from "./sessions.ts";

/** A longer address to go to after the login is left out: cookies are short. */
const TO_LENGTH_MAX = 1_024;

const STATUSES: Readonly<Partial<Record<LoginFailureCause, number>>> = {
  no_role: STATUS_CODE.Forbidden,
  denied: STATUS_CODE.Forbidden,
  issuer_unreachable: STATUS_CODE.BadGateway,
  discovery_wrong: STATUS_CODE.BadGateway,
  answer_wrong: STATUS_CODE.BadGateway,
  http_refused: STATUS_CODE.BadGateway,
  client_secret_missing: STATUS_CODE.InternalServerError,
  client_secret_wrong: STATUS_CODE.InternalServerError,
};
/** The failures that count as wrong tokens do: somebody may try answers that no issuer has given. */
const COUNTED: readonly LoginFailureCause[] = [
  "state_expired",
  "state_mismatch",
  "token_invalid",
  "code_refused",
];

const log = getLogger(["hooklaunch", "logins"]);

/** The parts that these logins use. */
export interface IssuerLoginParts extends SessionParts {
  /** Plain HTTP is accepted from this machine. */
  dev: boolean;
  /** Reads an environment variable, for client secrets written as `{env:NAME}`. */
  env(name: string): string | undefined;
  /** Counts the wrong tokens of the API and of all logins together. */
  wrongTokens: WrongTokens;
}

/** A login that failed, for its page. */
export interface FailedLogin {
  status: number;
  error: LoginError;
}

/** The logins at the providers of a service. What speaks with them is loaded with the first login. */
export class IssuerLogins {
  readonly #parts: IssuerLoginParts;
  readonly #sessions: Sessions;

  constructor(parts: IssuerLoginParts, sessions: Sessions) {
    this.#parts = parts;
    this.#sessions = sessions;
  }

  /** Returns the buttons of the login page. */
  async buttons(to: string): Promise<LoginButton[]> {
    const providers = await loginProviders(this.#parts.store);
    return providers.map((provider) => ({
      name: provider.name,
      address: `login/with/${providerKey(provider)}${search({ to })}`,
    }));
  }

  /** Begins a login. Returns the address at the issuer, or why it cannot begin. */
  async begin(context: Context, key: string, to: string): Promise<string | FailedLogin> {
    const { beginLogin } = await import("../../logins/logins.ts");
    try {
      const short = to.length > TO_LENGTH_MAX ? "" : to;
      const { address, cookie } = await beginLogin(this.#parts, key, short);
      this.#sessions.keepLogin(context, cookie, SEALED_MS / 1_000);
      return address;
    } catch (error) {
      return this.#failed(error, context);
    }
  }

  /** Completes a login, and opens its session. Returns the address in the console to go to, or why it failed. */
  async complete(context: Context): Promise<string | FailedLogin | { wait_s: number }> {
    const { ipOf, wrongTokens } = this.#parts;
    let failed: FailedLogin | undefined;
    const { found, wait_s } = await wrongTokens.look(ipOf(context), async () => {
      const outcome = await this.#complete(context);
      if (typeof outcome === "string" || !COUNTED.includes(outcome.error.cause)) return outcome;
      failed = outcome;
      return undefined;
    });
    return found ?? failed ?? { wait_s };
  }

  async #complete(context: Context): Promise<string | FailedLogin> {
    const { completeLogin } = await import("../../logins/logins.ts");
    const cookie = this.#sessions.takeLogin(context);
    const answer = new URL(context.req.url).searchParams;
    try {
      const { person, to, id_token } = await completeLogin(this.#parts, answer, cookie);
      await this.#sessions.openFor(context, person, id_token);
      const { name, issuer, scope } = person;
      log.info("{name} logged in at {issuer} with the scope {scope}", { name, issuer, scope });
      return to;
    } catch (error) {
      return this.#failed(error, context);
    }
  }

  /** Returns the address at which the issuer ends its own session; undefined where there is none. */
  async logout({ person, id_token }: EndedLogin): Promise<LoginButton | undefined> {
    const { issuerLogout } = await import("../../logins/logins.ts");
    return await issuerLogout(this.#parts, person, id_token);
  }

  #failed(error: unknown, context: Context): FailedLogin {
    if (!(error instanceof LoginError)) throw error;
    const { cause, message, detail } = error;
    const remote_ip = this.#parts.ipOf(context);
    log.warn("A login from {remote_ip} failed ({cause}): {message}. {detail}", {
      remote_ip,
      cause,
      message,
      detail: detail.slice(0, 1_000),
    });
    return { status: STATUSES[cause] ?? STATUS_CODE.Unauthorized, error };
  }
}
