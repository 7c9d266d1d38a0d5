/**
 * Handshakes: a provider asks whether a URL is listening, and expects a certain answer. Such a request is
 * verified and answered, and launches nothing.
 *
 * @module
 */
import { type Field, readField, readText } from "./field.ts";
import type { LaunchRequest } from "./request.ts";

/** The handshake of a provider, as data. */
export interface Handshake {
  /** The provider cannot prove itself when it asks: it is answered before authentication. */
  readonly unverified?: true;
  /** The value that marks such a request. Without it, a request with a value to echo is one. */
  readonly when?: Field & { readonly equals: string | number };
  /** A field that such a request does not have, where another kind of request matches `when` too. */
  readonly unless?: Field;
  /** The value that the answer repeats. One that is longer, or not of the pattern, gets no answer. */
  readonly echo?: Field & { readonly characters_max: number; readonly pattern?: RegExp };
  /** `{echo}` stands for the repeated value, `{hmac}` for its HMAC-SHA256 with the secret, in hex. */
  readonly answer: { readonly text: "{echo}" } | { readonly empty: true } | {
    readonly json: Readonly<Record<string, string | number>>;
  };
}

/** An answer, ready to send. It goes with `X-Content-Type-Options: nosniff`. */
export interface Answer {
  status: number;
  contentType: string;
  body: string;
}

/** The handshakes of a trigger. Both functions return undefined for any other request. */
export interface Handshakes {
  /** True when a request may be answered before authentication. */
  readonly hasUnverified: boolean;
  /** Answers before authentication: Microsoft Graph signs nothing when it validates a URL. */
  unverified(request: LaunchRequest): Answer | undefined;
  /** Answers a request that has passed authentication and timestamp. */
  verified(request: LaunchRequest): Promise<Answer | undefined>;
}

/** Makes the HMAC of the echo with the secret that signed the request; undefined where none did. */
type SignEcho = (request: LaunchRequest, echo: string) => Promise<string | undefined>;

/** The handshake of one condition. */
export interface PreparedHandshake {
  handshake: Handshake;
  /** Makes `{hmac}`, where the answer has it. */
  signEcho?: SignEcho;
}

/** Combines the handshakes of a trigger's conditions. */
export function combineHandshakes(all: readonly PreparedHandshake[]): Handshakes {
  const unverified = all.filter(({ handshake }) => handshake.unverified);
  const verified = all.filter(({ handshake }) => !handshake.unverified);
  return {
    hasUnverified: unverified.length > 0,
    unverified(request) {
      // A request with a body is a notification, which must prove itself.
      if (request.body.length > 0) return undefined;
      for (const { handshake } of unverified) {
        const echo = echoOf(handshake, request);
        if (echo !== undefined) return answerOf(handshake, echo, "");
      }
      return undefined;
    },
    async verified(request) {
      for (const { handshake, signEcho } of verified) {
        const echo = echoOf(handshake, request);
        if (echo === undefined) continue;
        const mac = containsHmac(handshake) ? await signEcho?.(request, echo) : "";
        if (mac !== undefined) return answerOf(handshake, echo, mac);
      }
      return undefined;
    },
  };
}

/** Returns the value to echo, "" where the handshake echoes nothing; undefined for any other request. */
function echoOf(handshake: Handshake, request: LaunchRequest): string | undefined {
  const { when, unless, echo } = handshake;
  if (when && readField(request, when) !== when.equals) return undefined;
  if (unless && typeof readField(request, unless) !== "object") return undefined;
  if (echo === undefined) return "";
  const text = readText(request, echo);
  if (typeof text !== "string" || text === "" || text.length > echo.characters_max) {
    return undefined;
  }
  if (echo.pattern && !echo.pattern.test(text)) return undefined;
  // A log or a terminal could take a control character for a command.
  return /\p{Cc}/u.test(text) ? undefined : text;
}

function answerOf({ answer }: Handshake, echo: string, mac: string): Answer {
  if ("text" in answer) {
    return { status: 200, contentType: "text/plain; charset=utf-8", body: echo };
  }
  if ("empty" in answer) return { status: 204, contentType: "application/json", body: "" };
  const values = Object.entries(answer.json).map(([name, value]) => {
    return [name, value === "{echo}" ? echo : value === "{hmac}" ? mac : value];
  });
  const body = JSON.stringify(Object.fromEntries(values));
  return { status: 200, contentType: "application/json", body };
}

function containsHmac({ answer }: Handshake): boolean {
  return "json" in answer && Object.values(answer.json).includes("{hmac}");
}
