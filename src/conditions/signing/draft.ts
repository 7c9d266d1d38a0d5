/**
 * A request in the making, to which steps add what a trigger's conditions ask for.
 *
 * @module
 */
import { HooklaunchError } from "../../platform/errors.ts";
import { parseRawJson } from "../../platform/text/exact_json.ts";
import { childOf } from "../../platform/schema/pointer.ts";
import { type Field, pathOf } from "../field.ts";
import type { KeySetting } from "../keys.ts";
import { formFields, type LaunchRequest, launchRequest } from "../request.ts";

/** No request can be made that passes a condition. */
export class CannotSignError extends HooklaunchError {
  override readonly code = "cannot_sign";
}

/** The order of steps: what changes the body comes before what signs it. */
export const STEP_ORDER = { beforeSigning: 0, signatureInBody: 1, signatureOverBody: 2 };

/** One step. Those of the lowest `order` run first. */
export interface SigningStep {
  order: number;
  /** @returns a sentence that says what was done, without secrets */
  run(): string | undefined | Promise<string>;
  /** It puts a secret itself into the request, and not what is made with it. */
  reveals?: true;
}

/** The request in the making, and the parts that steps use. */
export interface SigningContext {
  draft: Draft;
  /** Reads an environment variable, for secrets written as `{env:NAME}`. */
  env(name: string): string | undefined;
  /** Private keys for conditions that know public keys alone: as PEM, JWK or the provider's form. */
  privateKeys: readonly KeySetting[];
  /** The fields in which timestamp conditions read the time. */
  times: readonly Field[];
  /** The field that stays the same when a delivery is repeated. */
  deliveryId: Field | undefined;
}

/** A request in the making. */
export class Draft {
  readonly headers: Headers;

  /**
   * @param method such as `POST`
   * @param url the public URL of the trigger
   * @param body the bytes that are sent
   * @param headers such as `content-type`
   * @param now_ms the time of sending, in milliseconds since the epoch
   */
  constructor(
    readonly method: string,
    public url: string,
    public body: Uint8Array,
    headers: Record<string, string>,
    readonly now_ms: number,
  ) {
    this.headers = new Headers(headers);
  }

  /** Returns the request as the receiver would see it now. */
  request(): LaunchRequest {
    return launchRequest({
      method: this.method,
      url: this.url,
      query: new URL(this.url).searchParams,
      headers: new Headers(this.headers),
      body: this.body,
      remoteIp: "",
      receivedAt_ms: this.now_ms,
    });
  }

  /** Sets the value of a field. */
  put(field: Field, value: string | number): void {
    switch (field.in) {
      case "header":
        this.headers.set(field.name, String(value));
        return;
      case "query": {
        const url = new URL(this.url);
        url.searchParams.set(field.name, String(value));
        this.url = url.href;
        return;
      }
      case "body":
        this.#putIntoBody(field.name, value);
    }
  }

  /** Sets a value in every element of a list in the body. */
  putEach(list: string, name: string, value: string): void {
    const body = this.#json(list);
    const elements = pathOf(list).reduce<unknown>(childOf, body);
    if (!Array.isArray(elements) || elements.length === 0) {
      throw new CannotSignError(`Cannot put a token into the list ${list}: the body has none`);
    }
    elements.forEach((_, index) => setPath(elements, [String(index), ...pathOf(name)], value));
    this.body = new TextEncoder().encode(JSON.stringify(body));
  }

  #putIntoBody(name: string, value: string | number): void {
    const parsed = this.request().parsedBody();
    if (parsed.kind === "form") {
      const [key = name, ...deeper] = pathOf(name);
      if (deeper.length > 0) {
        throw new CannotSignError(noPlace(name, "a form has no fields in fields"));
      }
      const form = formFields(new TextDecoder().decode(this.body));
      form.set(key, String(value));
      this.body = new TextEncoder().encode(form.toString());
      return;
    }
    const body = this.#json(name);
    setPath(body, pathOf(name), value);
    this.body = new TextEncoder().encode(JSON.stringify(body));
  }

  #json(name: string): object {
    const parsed = this.request().parsedBody();
    if (parsed.kind === "json" && typeof parsed.value === "object" && parsed.value !== null) {
      // Its numbers are sent as they are written. The decoder leaves a byte order mark out.
      return Object(parseRawJson(new TextDecoder().decode(this.body)));
    }
    throw new CannotSignError(noPlace(name, "it is neither a form nor an object of JSON"));
  }
}

function noPlace(name: string, why: string): string {
  return `Cannot put ${name} into the body: ${why}`;
}

/** Sets a value at a path and makes missing objects. A text stays a text. */
function setPath(root: object, path: readonly string[], value: string | number): void {
  let parent = root;
  for (const key of path.slice(0, -1)) {
    const next = childOf(parent, key);
    const inner = typeof next === "object" && next !== null ? next : {};
    // Assignment to `__proto__` would change the prototype.
    if (inner !== next) define(parent, key, inner);
    parent = inner;
  }
  const last = path.at(-1) ?? "";
  define(parent, last, typeof childOf(parent, last) === "string" ? String(value) : value);
}

function define(parent: object, key: string, value: unknown): void {
  // A list takes its elements and the next one alone: JSON drops other keys, and fills gaps with null.
  const isInList = Array.isArray(parent) && key !== String(parent.length);
  if (isInList && childOf(parent, key) === undefined) {
    throw new CannotSignError(noPlace(key, "it would be in a list"));
  }
  Object.defineProperty(parent, key, {
    value,
    writable: true,
    enumerable: true,
    configurable: true,
  });
}
