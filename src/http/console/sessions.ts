/**
 * The session of a browser: a cookie with a random secret, whose hash is stored with the grounds of the session: a
 * token, or a login at an identity provider. It allows what these allow, as long as they do.
 *
 * @module
 */
import { hash } from "node:crypto";
import type { Context } from "@hono/hono";
import { deleteCookie, getCookie, setCookie } from "@hono/hono/cookie";
import type { Clock } from "../../platform/clock.ts";
import type { Grant } from "../../store/records/passkeys.ts";
import { getPerson, type Person, personKey } from "../../store/records/people.ts";
import { createSession, getSession, grantOf, removeSession } from "../../store/records/sessions.ts";
import { tokenHash } from "../../store/records/tokens.ts";
import type { Store } from "../../store/store.ts";
import { type SecretBox, tryOpen } from "../../triggers/secrets.ts";
import { type GrantCheck, isSameAccess } from "../api/grants.ts";
import type { Message, OpenSession } from "./route.ts";

/** The time after which an operator logs in again. */
const SESSION_MS = 7 * 24 * 60 * 60_000;
const USER_AGENT_LENGTH_MAX = 200;
const NOTICE_S = 60;
const NOTICE_LENGTH_MAX = 500;
/** The longest ID token that is kept for the logout. */
const ID_TOKEN_LENGTH_MAX = 16_384;

/** The parts that sessions use. */
export interface SessionParts {
  store: Store;
  clock: Pick<Clock, "now">;
  box: SecretBox;
  checkGrant: GrantCheck;
  ipOf(context: Context): string;
  /** Tells whether a request came over plain HTTP, which `--dev` allows on loopback alone. */
  isPlainHttp(context: Context): boolean;
  /** The address of the service as seen from outside, without a slash at the end. */
  baseUrl(): string;
}

/** The end of a person's session: what the issuer needs to end its own. */
export interface EndedLogin {
  person: Person;
  id_token: string | undefined;
}

/** The sessions of the console. */
export class Sessions {
  readonly #parts: SessionParts;

  constructor(parts: SessionParts) {
    this.#parts = parts;
  }

  /** Returns the session of a request; undefined when it has none that is open. */
  async of(context: Context): Promise<OpenSession | undefined> {
    const secret = getCookie(context, this.#sentCookie(context, "session").name);
    if (secret === undefined) return undefined;
    const found = await this.#access(secret);
    return found && {
      ...found,
      remoteIp: this.#parts.ipOf(context),
      csrf: csrfOf(secret),
      isAllowed: async () => isSameAccess((await this.#access(secret))?.access, found.access),
    };
  }

  /** Opens a session with a token, and returns its `csrf`; undefined when the token opens nothing. */
  async open(context: Context, token: string): Promise<string | undefined> {
    return await this.#open(context, { token_hash: tokenHash(token) }, SESSION_MS);
  }

  /** Opens a session for a person who has logged in at an issuer. It ends when the roles are to be looked at again. */
  async openFor(context: Context, person: Person, id_token: string | undefined): Promise<void> {
    const { box, clock } = this.#parts;
    const key = personKey(person);
    const isKept = id_token !== undefined && id_token.length <= ID_TOKEN_LENGTH_MAX;
    const kept = isKept ? { id_token: box.seal(id_token, key) } : {};
    const left_ms = Date.parse(person.expires_at) - clock.now();
    await this.#open(context, { person: key, ...kept }, left_ms);
  }

  async #open(
    context: Context,
    grant: Grant & { id_token?: string },
    lifetime_ms: number,
  ): Promise<string | undefined> {
    const { store, clock, checkGrant, ipOf } = this.#parts;
    if (await checkGrant(grant) === undefined) return undefined;
    const now_ms = clock.now();
    const secret = await createSession(store, {
      ...grant,
      created_at: new Date(now_ms).toISOString(),
      expires_at: new Date(now_ms + lifetime_ms).toISOString(),
      remote_ip: ipOf(context),
      user_agent: (context.req.header("user-agent") ?? "").slice(0, USER_AGENT_LENGTH_MAX),
    });
    const { name, options } = this.#cookie(context, "session");
    setCookie(context, name, secret, { ...options, maxAge: Math.floor(lifetime_ms / 1_000) });
    return csrfOf(secret);
  }

  /** Ends the session of a request. Returns the login at an issuer that it rests on. */
  async close(context: Context): Promise<EndedLogin | undefined> {
    const { store, box } = this.#parts;
    const { name, options } = this.#sentCookie(context, "session");
    const secret = getCookie(context, name);
    const session = secret && await getSession(store, secret);
    if (session) await removeSession(store, session.id);
    deleteCookie(context, name, options);
    if (!session || session.person === undefined) return undefined;
    const person = await getPerson(store, session.person);
    const { id_token } = session;
    return person && { person, id_token: id_token && tryOpen(id_token, box, session.person) };
  }

  /** Opens a session with a passkey; false when what the passkey rests on opens nothing any more. */
  async openWith(context: Context, grant: Grant): Promise<boolean> {
    const { store, clock } = this.#parts;
    const person = grant.person === undefined ? undefined : await getPerson(store, grant.person);
    const left_ms = person && Date.parse(person.expires_at) - clock.now();
    return await this.#open(context, grant, left_ms ?? SESSION_MS) !== undefined;
  }

  /** Keeps what a login needs until it is complete. */
  keepLogin(context: Context, value: string, age_s: number): void {
    const { name, options } = this.#cookie(context, "login");
    setCookie(context, name, value, { ...options, maxAge: age_s });
  }

  /** Takes what was kept for the login: it serves once. */
  takeLogin(context: Context): string | undefined {
    const { name, options } = this.#sentCookie(context, "login");
    const value = getCookie(context, name);
    if (value !== undefined) deleteCookie(context, name, options);
    return value;
  }

  /** Keeps a message for the next page. */
  keepNotice(context: Context, { text, ...notice }: Message): void {
    const { name, options } = this.#cookie(context, "notice");
    const value = JSON.stringify({ ...notice, text: text.slice(0, NOTICE_LENGTH_MAX) });
    setCookie(context, name, value, { ...options, maxAge: NOTICE_S });
  }

  /** Takes the message that was kept for this page. */
  takeNotice(context: Context): Message | undefined {
    const { name, options } = this.#sentCookie(context, "notice");
    const notice = getCookie(context, name);
    if (notice === undefined) return undefined;
    deleteCookie(context, name, options);
    return messageFrom(notice);
  }

  async #access(
    secret: string,
  ): Promise<Pick<OpenSession, "id" | "access" | "grant"> | undefined> {
    const { store, clock, checkGrant } = this.#parts;
    const session = await getSession(store, secret);
    if (session === undefined || !(Date.parse(session.expires_at) > clock.now())) return undefined;
    const { id } = session;
    const grant = grantOf(session);
    const access = await checkGrant(grant);
    return access && { id, access, grant };
  }

  /** Returns the cookie that was sent: one that the leader has set for another instance has the prefix. */
  #sentCookie(context: Context, kind: "session" | "notice" | "login") {
    const cookie = this.#cookie(context, kind);
    const isAlone = this.#parts.store.shared === undefined;
    if (isAlone || getCookie(context, cookie.name) !== undefined) return cookie;
    const options = { ...cookie.options, secure: true };
    return { name: `__Host-hooklaunch_${kind}`, options };
  }

  /** Over plain HTTP a cookie has no prefix, and the port in its name: it is sent to all ports of a host. */
  #cookie(context: Context, kind: "session" | "notice" | "login") {
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
