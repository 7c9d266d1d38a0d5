/**
 * The session of a browser: a cookie with a random secret, whose hash is stored with the hash of the token
 * that opened it. It allows what this token allows, as long as the token does.
 *
 * @module
 */
import { hash } from "node:crypto";
import type { Context } from "@hono/hono";
import { deleteCookie, getCookie, setCookie } from "@hono/hono/cookie";
import type { Clock } from "../../platform/clock.ts";
import { createSession, getSession, removeSession } from "../../store/records/sessions.ts";
import { tokenHash } from "../../store/records/tokens.ts";
import type { Store } from "../../store/store.ts";
import type { TokenCheck } from "../api/auth.ts";
import type { Message, OpenSession } from "./route.ts";

/** The time after which an operator logs in again. */
const SESSION_MS = 7 * 24 * 60 * 60_000;
const USER_AGENT_LENGTH_MAX = 200;
const NOTICE_S = 60;
const NOTICE_LENGTH_MAX = 500;

/** The parts that sessions use. */
export interface SessionParts {
  store: Store;
  clock: Pick<Clock, "now">;
  checkToken: TokenCheck;
  ipOf(context: Context): string;
  /** Tells whether a request came over plain HTTP, which `--dev` allows on loopback alone. */
  isPlainHttp(context: Context): boolean;
}

/** The sessions of the console. */
export class Sessions {
  readonly #parts: SessionParts;

  constructor(parts: SessionParts) {
    this.#parts = parts;
  }

  /** Returns the session of a request; undefined when it has none that is open. */
  async of(context: Context): Promise<OpenSession | undefined> {
    const secret = getCookie(context, this.#cookie(context, "session").name);
    if (secret === undefined) return undefined;
    const found = await this.#access(secret);
    return found && {
      ...found,
      remoteIp: this.#parts.ipOf(context),
      csrf: csrfOf(secret),
      isAllowed: async () => await this.#access(secret) !== undefined,
    };
  }

  /** Opens a session with a token, and returns its `csrf`; undefined when the token opens nothing. */
  async open(context: Context, token: string): Promise<string | undefined> {
    const { store, clock, checkToken, ipOf } = this.#parts;
    const token_hash = tokenHash(token);
    if (await checkToken(token_hash) === undefined) return undefined;
    const now_ms = clock.now();
    const secret = await createSession(store, {
      token_hash,
      created_at: new Date(now_ms).toISOString(),
      expires_at: new Date(now_ms + SESSION_MS).toISOString(),
      remote_ip: ipOf(context),
      user_agent: (context.req.header("user-agent") ?? "").slice(0, USER_AGENT_LENGTH_MAX),
    });
    const { name, options } = this.#cookie(context, "session");
    setCookie(context, name, secret, { ...options, maxAge: SESSION_MS / 1_000 });
    return csrfOf(secret);
  }

  /** Ends the session of a request. */
  async close(context: Context): Promise<void> {
    const { name, options } = this.#cookie(context, "session");
    const secret = getCookie(context, name);
    const session = secret && await getSession(this.#parts.store, secret);
    if (session) await removeSession(this.#parts.store, session.id);
    deleteCookie(context, name, options);
  }

  /** Keeps a message for the next page. */
  keepNotice(context: Context, { text, ...notice }: Message): void {
    const { name, options } = this.#cookie(context, "notice");
    const value = JSON.stringify({ ...notice, text: text.slice(0, NOTICE_LENGTH_MAX) });
    setCookie(context, name, value, { ...options, maxAge: NOTICE_S });
  }

  /** Takes the message that was kept for this page. */
  takeNotice(context: Context): Message | undefined {
    const { name, options } = this.#cookie(context, "notice");
    const notice = getCookie(context, name);
    if (notice === undefined) return undefined;
    deleteCookie(context, name, options);
    return messageFrom(notice);
  }

  async #access(secret: string): Promise<Pick<OpenSession, "id" | "access"> | undefined> {
    const { store, clock, checkToken } = this.#parts;
    const session = await getSession(store, secret);
    if (session === undefined || Date.parse(session.expires_at) <= clock.now()) return undefined;
    const access = await checkToken(session.token_hash);
    return access && { id: session.id, access };
  }

  /** Over plain HTTP a cookie has no prefix, and the port in its name: it is sent to all ports of a host. */
  #cookie(context: Context, kind: "session" | "notice") {
    const isPlain = this.#parts.isPlainHttp(context);
    const { port } = new URL(context.req.url);
    return {
      name: isPlain ? `hooklaunch_${kind}_${port || 80}` : `__Host-hooklaunch_${kind}`,
      options: { path: "/", httpOnly: true, secure: !isPlain, sameSite: "Lax" } as const,
    };
  }
}

/** Reads a message from its cookie. */
function messageFrom(cookie: string): Message | undefined {
  try {
    const { text, tone, delivery } = JSON.parse(cookie);
    return {
      text: String(text),
      tone: tone === "bad" || tone === "waiting" ? tone : "ok",
      ...(delivery === undefined ? {} : { delivery: String(delivery) }),
    };
  } catch {
    return undefined;
  }
}

/** The value that a session's forms send back. It tells nothing of the secret. */
function csrfOf(secret: string): string {
  return hash("sha256", `form:${secret}`, "base64url");
}
