/**
 * A new HTTP request: the settings of its action with the values of the run's request.
 *
 * @module
 */
import { hash } from "node:crypto";
import { sourcesIn } from "../conditions/values/compile.ts";
import { fill } from "../conditions/values/fill.ts";
import { SECRET_MASK, secretText } from "../conditions/secret.ts";
import { fillUrl, shownAddress } from "../http_requests/url_values.ts";
import { ActionError } from "../platform/errors.ts";
import { headerValue } from "../platform/network/header_text.ts";
import { mediaType } from "../platform/network/media_type.ts";
import { isObject } from "../platform/objects.ts";
import type { Write } from "../store/commit/change.ts";
import {
  createHttpRequestWrites,
  type HttpRequest,
  type HttpRequestPlan,
  type HttpWaitPlan,
  planBytes,
} from "../store/records/http_requests.ts";
import { launcherFields } from "../store/records/launchers.ts";
import { activeTrace } from "../telemetry/spans.ts";
import type { ActionContext, PreviewContext, PreviewedHttpRequest } from "./action.ts";
import { type HttpRequestSettings, WAIT_S } from "./http_request_settings.ts";

const TOKEN_BYTES = 32;
const FORM = "application/x-www-form-urlencoded";
/** Characters that no value of a header has (RFC 9110 section 5.5). */
// deno-lint-ignore no-control-regex -- these are the characters
const NOT_IN_HEADERS = /[\0-\x08\x0a-\x1f\x7f]/;

/** Makes the record and the plan of a request that has not been sent. */
export async function newHttpRequest(
  id: string,
  settings: HttpRequestSettings,
  context: ActionContext,
): Promise<{ request: HttpRequest; writes: Write[] }> {
  const { run, project, clock, baseUrl, owner } = context;
  const token = crypto.getRandomValues(new Uint8Array(TOKEN_BYTES)).toHex();
  const plan = await planOf(settings, callbackUrl(baseUrl(), id, token), context);
  const { origin, pathname } = new URL(plan.url);
  const { wait } = plan;
  const request: HttpRequest = {
    id,
    run_id: run.id,
    trigger_id: run.trigger_id,
    ...launcherFields(run),
    project: project.name,
    method: settings.method,
    // The path is shown to all who see the run, and a callback is for the receiver alone.
    url: shownAddress((origin + pathname).replaceAll(token, SECRET_MASK)),
    wait: wait.for,
    status: "sending",
    ...(owner !== undefined && { owner }),
    created_at: new Date(clock.now()).toISOString(),
    attempts: 0,
    tried: 0,
    ...(wait.for === "callback" && { callback_hash: hash("sha256", token) }),
    ...activeTrace(),
  };
  return { request, writes: createHttpRequestWrites(request, plan) };
}

/**
 * Returns a request as it would be sent: secrets and the token of the callback are masked, and what each
 * attempt adds is left out.
 *
 * @throws when it would fail, with the same message
 */
export async function previewHttpRequest(
  settings: HttpRequestSettings,
  context: Pick<PreviewContext, "evaluate" | "baseUrl">,
): Promise<PreviewedHttpRequest> {
  const callback = callbackUrl(context.baseUrl(), SECRET_MASK, SECRET_MASK);
  const plan = await planOf(settings, callback, context);
  planBytes(plan);
  const { method, url, headers, body, sign } = plan;
  const shown = Object.entries(headers).map(([name, value]) =>
    [name, typeof value === "string" ? value : `${value.prefix ?? ""}${SECRET_MASK}`] as const
  );
  return {
    method,
    url,
    headers: Object.fromEntries(shown),
    ...(body !== undefined && { body }),
    ...(sign && { sign: sign.preset }),
  };
}

function callbackUrl(baseUrl: string, id: string, token: string): string {
  return `${baseUrl}/api/v0/callbacks/${id}/${token}/`;
}

async function planOf(
  settings: HttpRequestSettings,
  callbackUrl: string,
  context: Pick<ActionContext, "evaluate">,
): Promise<HttpRequestPlan> {
  const { url, headers, body } = await filled(settings, callbackUrl, context);
  return {
    method: settings.method,
    url: url.href,
    headers,
    ...(body !== undefined && { body }),
    ...(settings.sign && {
      sign: { preset: settings.sign.preset, secret: secretText(settings.sign.secret) },
    }),
    timeout_ms: settings.timeout * 1_000,
    retry: settings.retry,
    private_networks: settings.private_networks === true,
    ...(settings.failed !== undefined && { failed: settings.failed }),
    wait: waitOf(settings.wait),
  };
}

function waitOf(wait: HttpRequestSettings["wait"]): HttpWaitPlan {
  if (wait === "none") return { for: "none" };
  if (wait === "callback") return { for: "callback", timeout_s: WAIT_S };
  if ("callback" in wait) return { for: "callback", timeout_s: wait.callback.timeout };
  const { url, until, every, timeout } = wait.poll;
  return { for: "poll", url, until, every_s: every, timeout_s: timeout };
}

/** The parts of a request that hold values. */
type Filled = { url: URL } & Pick<HttpRequestPlan, "headers" | "body">;

/** Puts values in the place of the expressions in the URL, the headers and the body. */
async function filled(
  settings: HttpRequestSettings,
  callbackUrl: string,
  { evaluate }: Pick<ActionContext, "evaluate">,
): Promise<Filled> {
  const secrets = Object.entries(settings.headers).flatMap(([name, value]) =>
    typeof value === "string"
      ? []
      : [[name.toLowerCase(), { ...value, secret: secretText(value.secret) }] as const]
  );
  const texts = Object.fromEntries(
    Object.entries(settings.headers).flatMap(([name, value]) =>
      typeof value === "string" ? [[name.toLowerCase(), value] as const] : []
    ),
  );
  const rest = { headers: texts, ...(settings.body !== undefined && { body: settings.body }) };
  const [ofUrl, ofRest] = [sourcesIn(settings.url), sourcesIn(rest)];
  const sources = [...ofUrl, ...ofRest];
  const { values } = sources.length === 0
    ? { values: [] }
    : await evaluate({ sources, more: { callback_url: callbackUrl } });
  const url = fillUrl(settings.url, values.slice(0, ofUrl.length));
  if ("problem" in url) refuse("url", url.problem);
  const { value, problems: [problem] } = fill(rest, values.slice(ofUrl.length));
  if (problem) refuse(problem.path.join("/"), problem.detail);
  const { headers, body }: { headers?: Record<string, unknown>; body?: unknown } = Object(value);
  const written = headersOf(headers ?? {});
  return { url: url.url, ...bodyOf(body, { ...written, ...Object.fromEntries(secrets) }) };
}

function headersOf(headers: Record<string, unknown>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => {
      const isText = ["string", "number", "boolean"].includes(typeof value);
      if (!isText || NOT_IN_HEADERS.test(String(value))) {
        refuse(`headers/${name}`, "expected a text without line breaks and control characters");
      }
      return [name, headerValue(String(value))];
    }),
  );
}

/** Writes the body as its content type says: JSON, where a value is no text and nothing else is said. */
function bodyOf(
  body: unknown,
  headers: HttpRequestPlan["headers"],
): Pick<HttpRequestPlan, "headers" | "body"> {
  if (body === undefined) return { headers };
  const type = headers["content-type"];
  if (typeof body === "string") {
    return { headers: { "content-type": "text/plain; charset=utf-8", ...headers }, body };
  }
  if (typeof type === "string" && mediaType(type) === FORM) return { headers, body: form(body) };
  const json = JSON.stringify(body);
  return { headers: { "content-type": "application/json", ...headers }, body: json };
}

function form(body: unknown): string {
  if (!isObject(body)) {
    return refuse("body", "expected a map of fields, since its content type is a form");
  }
  const fields = Object.entries(body).flatMap(([name, value]) =>
    [value].flat().map((each) => {
      const isText = ["string", "number", "boolean"].includes(typeof each);
      return isText ? [name, String(each)] : refuse(`body/${name}`, "expected a text or a number");
    })
  );
  return new URLSearchParams(fields).toString();
}

function refuse(at: string, why: string): never {
  throw new ActionError(`Cannot perform http_request: ${at}: ${why}`);
}
