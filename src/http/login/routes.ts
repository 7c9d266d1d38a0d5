/**
 * `/api/v0/login/`: logins of command lines by the device flow (RFC 8628), and their end (RFC 7009).
 *
 * @module
 */
import { type Context, Hono } from "@hono/hono";
import { STATUS_CODE } from "@std/http/status";
import {
  beginDeviceLogin,
  DEVICE_LOGIN_MS,
  fetchDeviceToken,
  INTERVAL_S,
} from "../../logins/device.ts";
import type { Clock } from "../../platform/clock.ts";
import { getToken, removeToken, SCOPES, tokenHash, tokenId } from "../../store/records/tokens.ts";
import type { Store } from "../../store/store.ts";
import { TOKEN_LENGTH_MAX } from "../api/auth.ts";
import type { GrantCheck } from "../api/grants.ts";
import { WrongTokens } from "../api/wrong_tokens.ts";
import type { BodyReader } from "../body.ts";
import { methodNotAllowed, problem } from "../problem.ts";

const BODY_BYTES_MAX = 8_192;
const GRANT_TYPE = "urn:ietf:params:oauth:grant-type:device_code";

/** The parts of the service that these logins use. */
export interface LoginRoutesParts {
  store: Store;
  clock: Clock;
  bodies: BodyReader;
  checkGrant: GrantCheck;
  wrongTokens: WrongTokens;
  ipOf(context: Context): string;
  baseUrl(): string;
}

/** Makes the routes below `/api/v0/login`. */
export function loginRoutes(parts: LoginRoutesParts): Hono {
  // Logins that begin count as wrong tokens do, and by themselves: a network begins so many a minute.
  const begun = new WrongTokens(parts.clock);
  const app = new Hono({ strict: false });
  const routes: Record<string, (context: Context) => Promise<Response>> = {
    "/device": (context) => begin(context, parts, begun),
    "/token": (context) => token(context, parts),
    "/revoke": (context) => revoke(context, parts),
  };
  for (const [path, answer] of Object.entries(routes)) {
    app.post(path, answer).all(path, () => methodNotAllowed("POST"));
  }
  return app.notFound(() => problem(STATUS_CODE.NotFound));
}

async function begin(
  context: Context,
  { store, clock, bodies, ipOf, baseUrl }: LoginRoutesParts,
  begun: WrongTokens,
): Promise<Response> {
  const fields = await fieldsOf(context, bodies);
  if (fields instanceof Response) return fields;
  const remote_ip = ipOf(context);
  const { wait_s } = await begun.look(remote_ip, () => Promise.resolve(undefined));
  if (wait_s > 0) return tooMany(wait_s);
  const asked = fields.get("scope") ?? "";
  const scope = SCOPES.find((each) => each === asked);
  if (asked !== "" && scope === undefined) {
    return refused("invalid_scope", `Expected ${SCOPES.join(", ")}`);
  }
  const device = fields.get("device") ?? "";
  const { device_code, user_code } = await beginDeviceLogin({ store, clock }, {
    device,
    remote_ip,
    scope,
  });
  const verification_uri = `${baseUrl()}/access/device`;
  return context.json({
    device_code,
    user_code,
    verification_uri,
    verification_uri_complete: `${verification_uri}?code=${user_code}`,
    expires_in: DEVICE_LOGIN_MS / 1_000,
    interval: INTERVAL_S,
  });
}

async function token(context: Context, parts: LoginRoutesParts): Promise<Response> {
  const { clock, checkGrant, wrongTokens, ipOf } = parts;
  const fields = await fieldsOf(context, parts.bodies);
  if (fields instanceof Response) return fields;
  if (fields.get("grant_type") !== GRANT_TYPE) {
    return refused("unsupported_grant_type", `Expected ${GRANT_TYPE}`);
  }
  const code = (fields.get("device_code") ?? "").slice(0, TOKEN_LENGTH_MAX);
  const { found, wait_s } = await wrongTokens.look(ipOf(context), async () => {
    const answer = await fetchDeviceToken(parts, code, checkGrant);
    return "error" in answer && answer.error === "expired_token" ? undefined : answer;
  });
  if (found === undefined) return wait_s > 0 ? tooMany(wait_s) : refused("expired_token");
  if ("error" in found) return refused(found.error);
  return context.json({
    access_token: found.token,
    token_type: "Bearer",
    expires_in: Math.floor((Date.parse(found.expires_at) - clock.now()) / 1_000),
    scope: found.scope,
    name: found.name,
  });
}

/** Revokes a token that a login has made. Whether it was one is nothing that the answer tells. */
async function revoke(
  context: Context,
  { store, bodies, wrongTokens, ipOf }: LoginRoutesParts,
): Promise<Response> {
  const fields = await fieldsOf(context, bodies);
  if (fields instanceof Response) return fields;
  const hash = tokenHash((fields.get("token") ?? "").slice(0, TOKEN_LENGTH_MAX));
  const { wait_s } = await wrongTokens.look(ipOf(context), async () => {
    const found = await getToken(store, hash);
    if (found?.granted_by === undefined) return undefined;
    return await removeToken(store, tokenId(hash));
  });
  return wait_s > 0 ? tooMany(wait_s) : context.json({});
}

/** Reads the fields of a form, or of a JSON object. */
async function fieldsOf(
  context: Context,
  bodies: BodyReader,
): Promise<URLSearchParams | Response> {
  using held = await bodies.read(context.req.raw, BODY_BYTES_MAX);
  if (!("bytes" in held.body)) {
    return refused("invalid_request", "The body is too long, or did not arrive completely");
  }
  const text = new TextDecoder().decode(held.body.bytes);
  const type = context.req.header("content-type") ?? "";
  if (type.startsWith("application/x-www-form-urlencoded")) return new URLSearchParams(text);
  try {
    const fields = Object.entries(Object(JSON.parse(text)))
      .map(([name, value]) => [name, String(value)]);
    return new URLSearchParams(fields);
  } catch {
    return refused("invalid_request", "Expected a form, or a JSON object");
  }
}

/** An error as OAuth has it (RFC 6749, section 5.2). */
function refused(error: string, error_description?: string): Response {
  return Response.json({ error, ...(error_description && { error_description }) }, {
    status: STATUS_CODE.BadRequest,
    headers: { "cache-control": "no-store" },
  });
}

function tooMany(wait_s: number): Response {
  return problem(STATUS_CODE.TooManyRequests, {
    detail: `Too many logins came from your network. Try again in ${wait_s} s`,
    headers: { "retry-after": String(wait_s) },
  });
}
