/**
 * `POST /api/v0/callbacks/<http_request_id>/<token>/`: work elsewhere reports its end. The address itself is the
 * right to do so, once.
 *
 * @module
 */
import type { Context } from "@hono/hono";
import { STATUS_CODE } from "@std/http/status";
import type { HttpRequests } from "../../http_requests/http_requests.ts";
import { isId } from "../../platform/ids.ts";
import type { BodyReader } from "../body.ts";
import { methodNotAllowed, problem, unavailable } from "../problem.ts";

/** The longest body of a callback. */
export const CALLBACK_BYTES_MAX = 1024 * 1024;
const TOKEN = /^[0-9a-f]{64}$/;

/** The parts of the service that callbacks reach. */
export interface CallbackParts {
  httpRequests: Pick<HttpRequests, "call" | "knows">;
  bodies: BodyReader;
}

/** Makes the handler of callbacks. */
export function callbackHandler(
  { httpRequests, bodies }: CallbackParts,
): (context: Context) => Promise<Response> {
  return async (context) => {
    const request = context.req.raw;
    if (request.method !== "POST") return methodNotAllowed("POST");
    const [id = "", token = ""] = [context.req.param("id"), context.req.param("token")];
    // Before its body is read: memory is for those who may call.
    const isKnown = isId(id) && TOKEN.test(token) && await httpRequests.knows(id, token);
    if (!isKnown) return problem(STATUS_CODE.NotFound);
    using held = await bodies.read(request, CALLBACK_BYTES_MAX);
    const { body } = held;
    if (!("bytes" in body)) {
      if (body.failure === "too_large") return problem(STATUS_CODE.ContentTooLarge);
      return body.failure === "no_memory" ? unavailable(1) : problem(STATUS_CODE.RequestTimeout);
    }
    const type = request.headers.get("content-type");
    const result = await httpRequests.call(id, token, {
      headers: type === null ? {} : { "content-type": type },
      body: body.bytes.slice(),
    });
    if (result === "unknown") return problem(STATUS_CODE.NotFound);
    if (result === "taken") return context.json({ status: "accepted" });
    return problem(STATUS_CODE.Gone, {
      detail: "The callback has come already, or its time is over",
    });
  };
}
