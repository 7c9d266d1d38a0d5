/**
 * The action `http_request`: starts work elsewhere by a request, and may wait for it.
 *
 * @module
 */
import { derivedId } from "../platform/ids.ts";
import { getHttpRequest, type HttpRequest } from "../store/records/http_requests.ts";
import type { ActionContext, ActionKind, Made, PreviewContext, PreviewedWork } from "./action.ts";
import { httpRequestSchema, type HttpRequestSettings } from "./http_request_settings.ts";

/** The kind `http_request`. */
export const httpRequest = {
  type: "http_request",
  schema: httpRequestSchema,
  async preview(settings: HttpRequestSettings, context: PreviewContext): Promise<PreviewedWork> {
    const { previewHttpRequest } = await import("./new_http_request.ts");
    return { http_request: await previewHttpRequest(settings, context) };
  },
  async perform(settings: HttpRequestSettings, context: ActionContext): Promise<Made> {
    const { run, place, repeated, store, httpRequests } = context;
    const id = derivedId(run.id, place, "http_request");
    const existing = repeated ? await getHttpRequest(store, id) : undefined;
    if (existing) return made(existing, [], httpRequests);
    const { newHttpRequest } = await import("./new_http_request.ts");
    const { request, writes } = await newHttpRequest(id, settings, context);
    return made(request, writes, httpRequests);
  },
} satisfies ActionKind<HttpRequestSettings>;

function made(
  { id, url }: HttpRequest,
  writes: Made["writes"],
  httpRequests: ActionContext["httpRequests"],
): Made {
  return { created: { url, http_request_id: id }, writes, begin: () => httpRequests.begin(id) };
}
