/**
 * Hops: requests that one instance forwards to another, signed with the key that all instances have. The signature
 * covers the whole request that counts: time, sender, method, URL and body. It is good once.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { createHmac, timingSafeEqual } from "node:crypto";
import type { Clock } from "../platform/clock.ts";
import type { Grant } from "../store/records/passkeys.ts";
import { UnavailableError } from "../platform/errors.ts";
import type { Peer } from "./peer.ts";
import { logTurnedAway, unavailable } from "./problem.ts";

/** The header of a hop: time, sender, a number used once, whether a body follows, and the code of them all. */
const HOP_HEADER = "x-hooklaunch-hop";
/** The header of the grounds on which an operator asks, where the request has no token of its own. */
const GRANT_HEADER = "x-hooklaunch-grant";
const HOP_AGE_MAX_MS = 30_000;
/** A hop may be as old as that, and its clock as much ahead. */
const REMEMBERED_MS = 2 * HOP_AGE_MAX_MS;
const RETRY_S = 1;
/** The code behind a body: HMAC-SHA-256. */
const CODE_BYTES = 32;

/** Signs forwarded requests, and recognises them. */
export class Hops {
  readonly #key: Uint8Array;
  readonly #clock: Pick<Clock, "steady">;
  readonly #senders = new WeakMap<Request, Peer>();
  readonly #grants = new WeakMap<Request, Grant>();
  /** The numbers of the hops that came, in two generations: the older one is forgotten as a whole. */
  #used = new Set<string>();
  #usedBefore = new Set<string>();
  #generation_ms: number;

  /** @param secret the same for all instances */
  constructor(secret: string, clock: Pick<Clock, "steady">) {
    this.#key = createHmac("sha256", secret).update("hooklaunch hops").digest();
    this.#clock = clock;
    this.#generation_ms = clock.steady();
  }

  /**
   * Signs a request that is forwarded for a sender. Sets its headers, and returns its body.
   *
   * @param headers those that it is forwarded with
   * @param grant the grounds on which an operator asks who has no token
   */
  sign(
    request: Request,
    ip: string,
    headers: Headers,
    grant?: Grant,
  ): ReadableStream<Uint8Array> | null {
    const { body } = request;
    const nonce = crypto.randomUUID();
    // The clock that instances compare: it does not jump.
    const time_ms = Math.round(this.#clock.steady());
    const fields = [time_ms, ip, nonce, body === null ? "none" : "body"];
    headers.delete(GRANT_HEADER);
    if (grant) headers.set(GRANT_HEADER, JSON.stringify(grant));
    const code = this.#code(request, fields, headers.get(GRANT_HEADER));
    headers.set(HOP_HEADER, [...fields, code.toString("hex")].join(" "));
    if (body === null) return null;
    changeLength(headers, CODE_BYTES);
    return body.pipeThrough(this.#withCode(nonce));
  }

  /**
   * Returns a request as it is to be answered: that of a hop has its own body again, which breaks off at its end when
   * it is not the one that was signed. A hop that is not believed is answered 503: its body has a code behind it, which
   * nobody is to take for content. Strangers can send such a request, so the reason is for the log alone. A request that
   * is no hop is returned as it is.
   */
  receive(request: Request): Request | Response {
    const header = request.headers.get(HOP_HEADER);
    if (header === null) return request;
    // A stranger may name a host that makes no URL.
    if (!URL.canParse(request.url)) return notBelieved();
    const [time = "", ip = "", nonce = "", content = "", code = ""] = header.split(" ");
    const fields = [time, ip, nonce, content];
    const grant = request.headers.get(GRANT_HEADER);
    const expected = this.#code(request, fields, grant);
    const found = Buffer.from(code, "hex");
    const isGenuine = found.length === expected.length && timingSafeEqual(found, expected) &&
      Math.abs(this.#clock.steady() - Number(time)) <= HOP_AGE_MAX_MS &&
      content === (request.body === null ? "none" : "body") && this.#isNew(nonce);
    if (!isGenuine) return notBelieved();
    const received = request.body === null
      ? request
      : withBody(request, request.body.pipeThrough(this.#withoutCode(nonce)));
    this.#senders.set(received, { ip, secure: true });
    if (grant !== null) this.#grants.set(received, JSON.parse(grant));
    return received;
  }

  /** Returns the grounds on which the operator of a hop asks; undefined where its token tells them. */
  grantOf(request: Request): Grant | undefined {
    return this.#grants.get(request);
  }

  /** Returns the sender of a hop that was received; undefined for any other request. */
  senderOf(request: Request): Peer | undefined {
    return this.#senders.get(request);
  }

  /** Notes a number, and returns false for one that was used. */
  #isNew(nonce: string): boolean {
    const now_ms = this.#clock.steady();
    if (now_ms - this.#generation_ms > REMEMBERED_MS) {
      this.#usedBefore = this.#used;
      this.#used = new Set();
      this.#generation_ms = now_ms;
    }
    if (this.#used.has(nonce) || this.#usedBefore.has(nonce)) return false;
    this.#used.add(nonce);
    return true;
  }

  #code({ method, url }: Request, fields: readonly unknown[], grant: string | null): Buffer {
    const { pathname, search } = new URL(url);
    const granted = grant === null ? [] : [grant];
    const text = ["head", ...fields, method, pathname, search, ...granted].join("\n");
    return createHmac("sha256", this.#key).update(text).digest();
  }

  #bodyCode(nonce: string) {
    return createHmac("sha256", this.#key).update(`body\n${nonce}\n`);
  }

  /** Appends its code to a body. */
  #withCode(nonce: string): TransformStream<Uint8Array, Uint8Array> {
    const code = this.#bodyCode(nonce);
    return new TransformStream({
      transform(chunk, controller) {
        code.update(chunk);
        controller.enqueue(chunk);
      },
      flush: (controller) => controller.enqueue(new Uint8Array(code.digest())),
    });
  }

  /** Takes the code from the end of a body, which fails there when the code is not its own. */
  #withoutCode(nonce: string): TransformStream<Uint8Array, Uint8Array> {
    const code = this.#bodyCode(nonce);
    let held = Buffer.alloc(0);
    return new TransformStream({
      transform(chunk, controller) {
        held = Buffer.concat([held, chunk]);
        if (held.length <= CODE_BYTES) return;
        const sent = new Uint8Array(held.subarray(0, held.length - CODE_BYTES));
        held = held.subarray(held.length - CODE_BYTES);
        code.update(sent);
        controller.enqueue(sent);
      },
      flush(controller) {
        const expected = code.digest();
        if (held.length === CODE_BYTES && timingSafeEqual(held, expected)) return;
        controller.error(
          new TypeError("The body of a forwarded request is not the one that was sent"),
        );
      },
    });
  }
}

function notBelieved(): Response {
  logTurnedAway(
    new UnavailableError(
      "A forwarded request is not believed: it came late or twice, instances differ in " +
        "HOOKLAUNCH_SECRET_KEY or in their clocks, or a stranger has sent it",
      RETRY_S,
    ),
  );
  return unavailable(RETRY_S);
}

function withBody(request: Request, body: ReadableStream<Uint8Array>): Request {
  const received = new Request(request, { body });
  changeLength(received.headers, -CODE_BYTES);
  return received;
}

function changeLength(headers: Headers, by: number): void {
  const length = headers.get("content-length");
  if (length !== null) headers.set("content-length", String(Number(length) + by));
}
