/**
 * Handshakes: how a provider asks whether a URL is listening, and the answer that it wants to hear.
 * Such a request is no launch: it is answered after it has been verified, and starts nothing.
 *
 * @module
 */
import { createHmac } from "node:crypto";
import type {
  Check,
  ConditionContext,
  ConditionEnvironment,
  ConditionSettings,
} from "./condition.ts";
import { type Field, readField, readText } from "./field.ts";
import { hmac, hmacSecrets, type HmacSettings } from "./hmac.ts";
import type { LaunchRequest } from "./request.ts";
import { presetsByType } from "./signing/presets/mod.ts";

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

/** The handshakes of a trigger; each answers undefined for a request that is none. */
export interface Handshakes {
  /** What is asked before authentication: Microsoft Graph signs nothing when it validates a URL. */
  unverified(request: LaunchRequest): Answer | undefined;
  /** What is asked in a request that authentication and timestamp let pass. */
  verified(request: LaunchRequest): Promise<Answer | undefined>;
}

/** Prepares the handshakes of a trigger's presets. */
export function prepareHandshakes(
  conditions: readonly ConditionSettings[],
  environment: ConditionEnvironment,
): Handshakes {
  const context: ConditionContext = {
    clock: environment.clock,
    env: (name) => environment.env(name),
    signal: environment.signal,
    siblings: conditions,
    credentials: [],
  };
  const all = conditions.flatMap((settings) => {
    const handshake = handshakeOf(settings);
    return handshake ? [{ handshake, settings }] : [];
  });
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
      for (const { handshake, settings } of verified) {
        const echo = echoOf(handshake, request);
        if (echo === undefined) continue;
        const secret = usesSecret(handshake)
          ? await signingSecret(settings, request, context)
          : undefined;
        if (usesSecret(handshake) && secret === undefined) continue;
        const mac = secret ? createHmac("sha256", secret).update(echo).digest("hex") : "";
        return answerOf(handshake, echo, mac);
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

function usesSecret({ answer }: Handshake): boolean {
  return "json" in answer && Object.values(answer.json).includes("{hmac}");
}

/** The secret with which the request was signed: it alone may sign the answer. */
async function signingSecret(
  settings: ConditionSettings,
  request: LaunchRequest,
  context: ConditionContext,
): Promise<Uint8Array | undefined> {
  // Only presets of `hmac` ask for it, and handshakeOf found this one among them.
  const { secrets, ...others } = settings as HmacSettings;
  for (const secret of secrets) {
    const own = { ...others, secrets: [secret] };
    const check: Check = hmac.prepare(own, context);
    if (await check(request) === undefined) return hmacSecrets(own, context.env).usable[0]?.bytes;
  }
  return undefined;
}

function handshakeOf(settings: ConditionSettings): Handshake | undefined {
  if (!("preset" in settings) || typeof settings.preset !== "string") return undefined;
  const rows = Object.entries(presetsByType).find(([type]) => type === settings.type)?.[1];
  return rows?.[settings.preset]?.handshake;
}
