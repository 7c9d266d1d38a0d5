/**
 * The receivers of a trigger's secrets: the requests of its actions carry some of them to other services.
 *
 * @module
 */
import { mistakeOf } from "../conditions/values/compile.ts";
import { literalOrigin } from "../http_requests/url_values.ts";
import { childOf, pointer, pointerParts } from "../platform/schema/pointer.ts";

/**
 * Returns the origins that get a secret of a trigger; none for a secret that stays in the service.
 *
 * @param at the JSON Pointer to the secret
 */
export function receiversOf(trigger: unknown, at: string): string[] {
  const [list, index = ""] = pointerParts(at);
  if (list === "callback") {
    const allow = childOf(childOf(trigger, "callback"), "allow");
    return Array.isArray(allow) ? allow.map(String) : [];
  }
  if (list !== "actions") return [];
  const action = pointerParts(pointer(list, index)).reduce(childOf, trigger);
  const url = childOf(action, "url");
  const polled = childOf(childOf(childOf(action, "wait"), "poll"), "url");
  return [originOf(url, String(url)), originOf(polled)].filter((each) => each !== undefined);
}

/**
 * Returns the origin of a template of a URL.
 *
 * @param other stands for one that values decide. A poll's gets no secrets, unless it is that of the request
 */
function originOf(template: unknown, other?: string): string | undefined {
  if (typeof template !== "string") return other;
  let origin: string | undefined;
  // One that cannot be read is refused, too: nothing goes to it.
  const mistake = mistakeOf(() => void (origin = literalOrigin(template)));
  return mistake === undefined ? origin ?? other : template;
}
