/**
 * Handshakes: how a provider asks whether a URL is listening, and the answer that it wants to hear.
 * Such a request is no launch: it is answered after it has been verified, and starts nothing.
 *
 * @module
 */
import { type Field, readField, readText } from "./field.ts";
import type { LaunchRequest } from "./request.ts";

/** A handshake as data. */
export interface Handshake {
  /** The provider cannot prove itself when it asks: the answer comes before authentication. */
  readonly unverified?: true;
  /** The value by which such a request is known; without it, by what is to be echoed. */
  readonly when?: Field & { readonly equals: string | number };
  /** A value that such a request does not have, where others that do are known by the same `when`. */
  readonly unless?: Field;
  /** What the answer repeats. A value that is longer, or not of the pattern, gets no answer. */
  readonly echo?: Field & { readonly characters_max: number; readonly pattern?: RegExp };
  /** `{echo}` stands for what is repeated, `{hmac}` for its HMAC-SHA256 with the secret, in hex. */
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

/** The handshakes of a trigger; each returns undefined for a request that is none. */
export interface Handshakes {
  /** Answers before authentication: Microsoft Graph signs nothing when it validates a URL. */
  unverified(request: LaunchRequest): Answer | undefined;
  /** Answers a request that authentication and timestamp let pass. */
  verified(request: LaunchRequest): Promise<Answer | undefined>;
}

/** Signs what is echoed, with the secret that signed the request; undefined where there is none. */
export type SignEcho = (request: LaunchRequest, echo: string) => Promise<string | undefined>;

/** The handshake of one condition. */
export interface PreparedHandshake {
  handshake: Handshake;
  /** Makes what `{hmac}` stands for, where the handshake has it. */
  signEcho?: SignEcho;
}

/** Puts the handshakes of a trigger's conditions together. */
export function combineHandshakes(all: readonly PreparedHandshake[]): Handshakes {
  const unverified = all.filter(({ handshake }) => handshake.unverified);
  const verified = all.filter(({ handshake }) => !handshake.unverified);
  return {
    unverified(request) {
      // A request with a body is a notification, which carries what proves it.
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

/** What is to be echoed, empty where nothing is; undefined when the request is no such handshake. */
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
  // Nothing that a log or a terminal could take for a command.
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
