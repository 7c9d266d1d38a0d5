/**
 * The handling of requests for pages: session, page, form, login, errors.
 *
 * @module
 */
import type { Context } from "@hono/hono";
import { getLogger } from "@logtape/logtape";
import { STATUS_CODE } from "@std/http/status";
import { CopiedPasskeyError, PasskeyError, relyingParty } from "../../logins/passkey.ts";
import { SEALED_MS } from "../../logins/sealed.ts";
import { listPasskeys } from "../../store/records/passkeys.ts";
import { TOKEN_LENGTH_MAX } from "../api/auth.ts";
import { problemOfError } from "../problem.ts";
import { ApiCallError, ApiClient, search } from "./client.ts";
import { readForm } from "./form.ts";
import { DeviceApprovals } from "./device_approvals.ts";
import { ErrorPage } from "./pages/error.tsx";
import { type FailedLogin, IssuerLogins } from "./issuer_logins.ts";
import { auditCopy, OwnPasskeys } from "./own_passkeys.ts";
import {
  FailedLoginPage,
  type KeptForm,
  LoggedOutPage,
  LoginPage,
  type LoginProps,
  SendAgainPage,
} from "./pages/login.tsx";
import type { ConsoleParts } from "./parts.ts";
import type {
  Html,
  Message,
  OpenSession,
  OpenView,
  Route,
  Submission,
  Submitted,
  TestRequest,
  View,
  Visit,
} from "./route.ts";
import { newNonce, pageHeaders, requireOwnOrigin } from "./security.ts";
import { Sessions } from "./sessions.ts";
import { Targets } from "./targets.ts";

/** The header of a request of the script for a page that is shown already. */
const REFRESH_HEADER = "x-console-refresh";

const SEE_OTHER = 303;

const log = getLogger(["hooklaunch", "logins"]);

/** Handles the requests of the console. */
export class Console {
  readonly #parts: ConsoleParts;
  readonly #sessions: Sessions;
  readonly #issuers: IssuerLogins;
  readonly #targets: Targets;

  constructor(parts: ConsoleParts, routes: readonly Route[]) {
    this.#parts = parts;
    this.#sessions = new Sessions(parts);
    this.#issuers = new IssuerLogins(parts, this.#sessions);
    this.#targets = new Targets(routes);
  }

  /** Answers with a page; without a session with the login, which leads back to it. */
  async show(context: Context, { show }: Route): Promise<Response> {
    const session = await this.#sessions.of(context);
    if (session === undefined) return this.#toLogin(context);
    const { view, params } = await this.#visit(context, session);
    // A message is for whoever looks, not for the script.
    const notice = isRefreshOf(context) ? undefined : this.#sessions.takeNotice(context);
    const noticed = { ...view, notice };
    const shown = await show?.({ view: noticed, params });
    const { page, status } = typeof shown === "object" && "page" in shown
      ? shown
      : { page: shown, status: STATUS_CODE.OK };
    return await this.#page(context, noticed, page, status);
  }

  /** Leads from the address of a form to the page that has it: browsers keep the address of an answer to a form. */
  toPage(context: Context, pagePath: string): Response {
    const { pathname } = new URL(context.req.url);
    const depth = pagePath.split("/").length;
    return this.#redirect(context, pathname.split("/").slice(1, depth).join("/"));
  }

  /** Answers with something that is no page. */
  async answer(context: Context, { answer }: Route): Promise<Response> {
    const session = await this.#sessions.of(context);
    if (session === undefined) return context.body(null, STATUS_CODE.Unauthorized);
    const visit = await this.#visit(context, session);
    return await answer?.(visit, context.req.raw.headers) ?? context.notFound();
  }

  /** Performs a form. Without a session, the login keeps what was typed; so does a page behind a new session. */
  async submit(context: Context, { submit, again }: Route): Promise<Response> {
    requireOwnOrigin(context.req.raw.headers, this.#ownOrigins(context));
    const form = await readForm(context, this.#parts.bodies);
    const session = await this.#sessions.of(context);
    if (session === undefined) {
      const view = this.#openView(context);
      const kept = keptForm(view, form);
      const page = LoginPage({ view, to: "", kept, problem: EXPIRED });
      return await this.#page(context, view, page, STATUS_CODE.Unauthorized);
    }
    if (form.get("csrf") !== session.csrf) {
      // Its page was made in an earlier session of this browser.
      const view = await this.#view(context, session);
      const page = SendAgainPage({ view, kept: keptForm(view, form) });
      return await this.#page(context, view, page, STATUS_CODE.Forbidden);
    }
    const visit: Submission = { ...await this.#visit(context, session), form };
    const refused = async (error: unknown): Promise<Submitted> => {
      if (again === undefined || !(error instanceof ApiCallError)) throw error;
      return { page: await again(visit, error), status: error.status };
    };
    const result = await submit?.(visit).catch(refused) ?? { to: "" };
    if ("to" in result) return this.#redirect(context, result.to, result.notice);
    return await this.#page(
      context,
      visit.view,
      result.page,
      result.status ?? STATUS_CODE.UnprocessableEntity,
    );
  }

  /** Shows the login. */
  async showLogin(context: Context): Promise<Response> {
    const to = this.#targets.page(context.req.query("to") ?? "");
    if (await this.#sessions.of(context)) return this.#redirect(context, to);
    const view = this.#openView(context);
    return await this.#page(context, view, await this.#loginPage({ view, to }));
  }

  /** Returns the challenge of a login with a passkey, which belongs to this browser. */
  async beginPasskeyLogin(context: Context): Promise<Response> {
    if (relyingParty(this.#parts.baseUrl()) === undefined) {
      return await this.fail(
        context,
        STATUS_CODE.NotFound,
        "There are no passkeys at an IP address",
      );
    }
    const { beginPasskeyLogin } = await import("../../logins/passkeys.ts");
    const { options, challenge } = beginPasskeyLogin(this.#parts);
    this.#sessions.keepLogin(context, challenge, SEALED_MS / 1_000);
    return context.json({ options, challenge: "" }, 200, { "cache-control": "no-store" });
  }

  /** Logs in with a passkey. */
  async logInWithPasskey(context: Context): Promise<Response> {
    requireOwnOrigin(context.req.raw.headers, this.#ownOrigins(context));
    const form = await readForm(context, this.#parts.bodies);
    const to = this.#targets.page(form.get("to") ?? "");
    const { wrongTokens, ipOf } = this.#parts;
    const challenge = this.#sessions.takeLogin(context) ?? "";
    let problem = "";
    const { found, wait_s } = await wrongTokens.look(ipOf(context), async () => {
      const opened = await this.#passkeyOpens(context, form.get("credential") ?? "", challenge);
      if (opened === true) return opened;
      problem = opened;
      return undefined;
    });
    if (found) return this.#redirect(context, to);
    if (wait_s > 0) {
      context.header("retry-after", String(wait_s));
      problem = `Too many logins from your network failed. Try again in ${wait_s} s.`;
    }
    const view = this.#openView(context);
    const page = await this.#loginPage({ view, to, problem });
    const status = wait_s > 0 ? STATUS_CODE.TooManyRequests : STATUS_CODE.Unauthorized;
    return await this.#page(context, view, page, status);
  }

  /** Opens a session with a passkey; else returns why not. */
  async #passkeyOpens(
    context: Context,
    credential: string,
    challenge: string,
  ): Promise<true | string> {
    const { completePasskeyLogin } = await import("../../logins/passkeys.ts");
    try {
      const { grant, passkey } = await completePasskeyLogin(this.#parts, { credential, challenge });
      if (!await this.#sessions.openWith(context, grant)) {
        return grant.person === undefined ? TOKEN_OVER : LOGIN_OVER;
      }
      const { owner, name } = passkey;
      log.info("{owner} logged in with the passkey {name}", { owner, name });
      return true;
    } catch (error) {
      if (!(error instanceof PasskeyError)) throw error;
      const { message, detail } = error;
      const remote_ip = this.#parts.ipOf(context);
      log.warn("A login with a passkey from {remote_ip} failed: {message} ({detail})", {
        remote_ip,
        message,
        detail,
      });
      if (error instanceof CopiedPasskeyError) await auditCopy(this.#parts, error, remote_ip);
      return `${message}.`;
    }
  }

  /** Makes the page of the login, with all ways to log in. */
  async #loginPage(props: Omit<LoginProps, "buttons" | "hasPasskeys">): Promise<Html> {
    const buttons = await this.#issuers.buttons(props.to);
    const hasPasskeys = relyingParty(this.#parts.baseUrl()) !== undefined &&
      (await listPasskeys(this.#parts.store)).length > 0;
    return LoginPage({ ...props, buttons, hasPasskeys });
  }

  /** Begins a login at an identity provider. */
  async beginLogin(context: Context, provider: string): Promise<Response> {
    const to = this.#targets.page(context.req.query("to") ?? "");
    const begun = await this.#issuers.begin(context, provider, to);
    if (typeof begun !== "string") return await this.#failedLogin(context, begun);
    context.header("cache-control", "no-store");
    context.header("referrer-policy", "no-referrer");
    return context.redirect(begun, SEE_OTHER);
  }

  /** Completes a login: an identity provider has sent the person back. */
  async completeLogin(context: Context): Promise<Response> {
    const done = await this.#issuers.complete(context);
    if (typeof done === "string") return this.#redirect(context, this.#targets.page(done));
    if ("error" in done) return await this.#failedLogin(context, done);
    context.header("retry-after", String(done.wait_s));
    const detail = `Too many logins from your network failed. Try again in ${done.wait_s} s`;
    return await this.fail(context, STATUS_CODE.TooManyRequests, detail);
  }

  async #failedLogin(context: Context, { status, error }: FailedLogin): Promise<Response> {
    const view = this.#openView(context);
    return await this.#page(context, view, FailedLoginPage({ view, error }), status);
  }

  /** Opens a session. */
  async logIn(context: Context): Promise<Response> {
    requireOwnOrigin(context.req.raw.headers, this.#ownOrigins(context));
    const form = await readForm(context, this.#parts.bodies);
    const to = this.#targets.page(form.get("to") ?? "");
    const address = this.#targets.form(form.get("kept_address") ?? "");
    const kept = address === "" ? undefined : { address, form: form.get("kept_form") ?? "" };
    const view = this.#openView(context);
    const refused = async (status: number, problem: string) => {
      // The way to an identity provider and back would lose what was typed.
      const page = kept === undefined
        ? await this.#loginPage({ view, to, problem })
        : LoginPage({ view, to, kept, problem });
      return await this.#page(context, view, page, status);
    };
    const { wrongTokens, ipOf } = this.#parts;
    const remoteIp = ipOf(context);
    const token = form.get("token")?.trim() ?? "";
    const { found: csrf, wait_s } = await wrongTokens.look(
      remoteIp,
      async () =>
        token.length > TOKEN_LENGTH_MAX ? undefined : await this.#sessions.open(context, token),
    );
    if (csrf === undefined && wait_s > 0) {
      context.header("retry-after", String(wait_s));
      const problem = `Too many wrong tokens came from ${remoteIp}. Try again in ${wait_s} s.`;
      return await refused(STATUS_CODE.TooManyRequests, problem);
    }
    if (csrf === undefined) return await refused(STATUS_CODE.Unauthorized, WRONG_TOKEN);
    if (kept === undefined) return this.#redirect(context, to);
    return await this.#page(context, view, SendAgainPage({ view: { ...view, csrf }, kept }));
  }

  /** Ends the session. */
  async logOut(context: Context): Promise<Response> {
    requireOwnOrigin(context.req.raw.headers, this.#ownOrigins(context));
    const ended = await this.#sessions.close(context);
    const there = ended && await this.#issuers.logout(ended);
    if (there === undefined) return this.#redirect(context, "login");
    // No redirect: the policy of the page lets its forms lead to this service alone.
    const view = this.#openView(context);
    return await this.#page(context, view, LoggedOutPage({ view, there }));
  }

  /** Answers with the page of an error. */
  async fail(context: Context, status: number, detail: string): Promise<Response> {
    const session = await this.#sessions.of(context).catch(() => undefined);
    const view = session ? await this.#view(context, session) : this.#openView(context);
    return await this.#page(context, view, ErrorPage({ view, status, detail }), status);
  }

  /** Answers with the page of something that was thrown. */
  async failed(context: Context, error: unknown): Promise<Response> {
    if (error instanceof ApiCallError) {
      return await this.fail(context, error.status, error.message);
    }
    const answer = problemOfError(error);
    const { title, detail = title }: { title: string; detail?: string } = await answer.json();
    return await this.fail(context, answer.status, detail);
  }

  async #visit(context: Context, session: OpenSession): Promise<Visit> {
    return { view: await this.#view(context, session), params: context.req.param() };
  }

  async #view(context: Context, session: OpenSession): Promise<View> {
    const { access, grant, remoteIp, isAllowed, csrf } = session;
    const isRefresh = isRefreshOf(context);
    const caller = { access, grant, remoteIp, isAllowed, isRefresh };
    const method = context.req.method === "HEAD" ? "HEAD" : "GET";
    const api = new ApiClient(await this.#parts.api(), caller, method);
    const launch: View["launch"] = (id, request) => this.#launch(context, id, request);
    const passkeys = new OwnPasskeys(this.#parts, session);
    const deviceLogins = new DeviceApprovals(this.#parts, session);
    const own = { api, launch, access, passkeys, deviceLogins, sessionId: session.id, csrf };
    return { ...this.#openView(context), ...own };
  }

  /** Sends a test with what a proxy tells of the browser: it came the same way. */
  async #launch(
    context: Context,
    id: string,
    { query, headers, body }: TestRequest,
  ): Promise<Response> {
    const forwarded = [...context.req.raw.headers].filter(([name]) =>
      name.startsWith("x-forwarded-")
    );
    const request = new Request(new URL(`/api/v0/launch/${id}/${query}`, context.req.url), {
      method: "POST",
      headers: [...Object.entries(headers), ...forwarded],
      body,
    });
    return await this.#parts.launch(request, context.env);
  }

  #openView(context: Context): OpenView {
    const { clock, baseUrl, store } = this.#parts;
    const { search } = new URL(context.req.url);
    return {
      address: context.req.path.slice(1) + search,
      root: this.#root(),
      baseUrl: baseUrl(),
      isShared: store.shared !== undefined,
      query: new URLSearchParams(search),
      now_ms: clock.now(),
      csrf: "",
      nonce: newNonce(),
      notice: undefined,
    };
  }

  async #page(
    context: Context,
    view: View | OpenView,
    page: Html | undefined,
    status: number = STATUS_CODE.OK,
  ): Promise<Response> {
    const text = `<!doctype html>${await page}`;
    const headers = { ...pageHeaders(view.nonce), "content-type": "text/html; charset=utf-8" };
    // Hono's type of a status is a union of numbers.
    return context.newResponse(text, { status: status as 200, headers });
  }

  #toLogin(context: Context): Response {
    if (isRefreshOf(context)) return context.body(null, STATUS_CODE.Unauthorized);
    const { address } = this.#openView(context);
    return this.#redirect(context, `login${search({ to: address })}`);
  }

  #redirect(context: Context, to: string, notice?: string | Message): Response {
    const message = typeof notice === "string" ? { text: notice, tone: "ok" as const } : notice;
    if (message !== undefined) this.#sessions.keepNotice(context, message);
    context.header("cache-control", "no-store");
    return context.redirect(this.#root() + to, SEE_OTHER);
  }

  /** The path of the console as browsers see it: a proxy may have removed a part of it. */
  #root(): string {
    return `${new URL(this.#parts.baseUrl()).pathname.replace(/\/$/, "")}/`;
  }

  #ownOrigins(context: Context): string[] {
    const scheme = this.#parts.isPlainHttp(context) ? "http" : "https";
    const { host } = new URL(context.req.url);
    return [...new Set([`${scheme}://${host}`, new URL(this.#parts.baseUrl()).origin])];
  }
}

const EXPIRED = "Your session is over. Log in again: what you typed is kept.";
const TOKEN_OVER =
  "The token that this passkey rests on opens nothing any more: it was revoked, or has expired.";
const LOGIN_OVER =
  "Your last login at the identity provider is more than a day ago, or its settings have changed: log in there " +
  "once, then the passkey works again.";
const WRONG_TOKEN = "This token opens nothing: it is mistyped, was revoked, or has expired.";

function isRefreshOf(context: Context): boolean {
  return context.req.header(REFRESH_HEADER) !== undefined;
}

function keptForm({ address }: View | OpenView, form: URLSearchParams): KeptForm {
  return { address, form: JSON.stringify([...form].filter(([name]) => name !== "csrf")) };
}
