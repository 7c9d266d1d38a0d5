/**
 * The check of an action that sends an HTTP request, when its trigger is saved.
 *
 * @module
 */
import type { HttpRequestSettings } from "../actions/http_request_settings.ts";
import {
  conditionMistake,
  sourcesIn,
  templateMistakes,
  valueVariables,
  type Variables,
} from "../conditions/values/compile.ts";
import { signingTypeOf } from "../http_requests/sign.ts";
import { literalOrigin } from "../http_requests/url_values.ts";
import type { Problem } from "../platform/errors.ts";
import { hasPublicHost, hostOf } from "../platform/network/public_addresses.ts";
import { pointer } from "../platform/schema/pointer.ts";

/** Finds the mistakes in the settings of an HTTP request. */
export function httpRequestProblems(settings: HttpRequestSettings): Problem[] {
  const { url, headers, body, failed, wait, sign } = settings;
  const isCallback = wait === "callback" || typeof wait === "object" && "callback" in wait;
  const sent: Variables = isCallback
    ? { ...valueVariables, callback_url: "string" }
    : valueVariables;
  const texts = Object.fromEntries(
    Object.entries(headers).filter(([, value]) => typeof value === "string"),
  );
  const parts = { url, headers: texts, ...(body !== undefined && { body }) };
  const came: Variables = { ...valueVariables, answer: "map" };
  const mistakes = mistakesIn(parts, sent);
  const problems = [...mistakes, ...conditionProblems("/failed", failed, came)];
  if (typeof wait === "object" && "poll" in wait) {
    const { url, until } = wait.poll;
    problems.push(
      ...mistakesIn({ wait: { poll: { url } } }, came),
      ...conditionProblems("/wait/poll/until", until, came),
    );
  }
  if (sign !== undefined && signingTypeOf(sign.preset) === undefined) {
    const detail = `Expected a preset of the page of providers, found "${sign.preset}"`;
    problems.push({ pointer: "/sign/preset", detail });
  }
  // What follows needs templates that can be read.
  if (problems.length > 0) return problems;
  return [...urlProblems(settings), ...callbackProblems(parts, isCallback)];
}

/** A sender that chooses the host would choose who gets the secrets, or which private address is reached. */
function urlProblems({ url, headers, sign, private_networks }: HttpRequestSettings): Problem[] {
  const refuse = (detail: string) => [{ pointer: "/url", detail }];
  if (literalOrigin(url) === undefined) {
    const has = sign !== undefined ||
      Object.values(headers).some((each) => typeof each === "object");
    if (!has && private_networks !== true && sourcesIn(url).length > 0) return [];
    return refuse(
      has || private_networks
        ? "Expected http:// or https:// and a host without values, as the request has a secret, or private_networks"
        : "Expected a URL that begins with http:// or https://",
    );
  }
  return /^https?:\/\/[^/?#]*@/.test(url)
    ? refuse("Must not hold a user name or a password: put them in the header authorization")
    : [];
}

/** Warns of addresses that the request would not be sent to. */
export function httpRequestWarnings(
  { url, wait, private_networks }: HttpRequestSettings,
): Problem[] {
  if (private_networks) return [];
  const polled = typeof wait === "object" && "poll" in wait ? wait.poll.url : undefined;
  return [
    ...privateAddress("/url", url),
    ...polled === undefined ? [] : privateAddress("/wait/poll/url", polled),
  ];
}

function privateAddress(at: string, template: string): Problem[] {
  const origin = literalOrigin(template);
  if (origin === undefined || hasPublicHost(origin)) return [];
  const detail = `${hostOf(origin)} is no public address, so nothing is sent to it: ` +
    "set private_networks: true in the action, with a token without limits";
  return [{ pointer: at, detail }];
}

function callbackProblems(parts: object, isCallback: boolean): Problem[] {
  if (!isCallback || sourcesIn(parts).some((source) => /\bcallback_url\b/.test(source))) return [];
  const detail = "Expected {callback_url} in url, headers or body: nobody could call back";
  return [{ pointer: "/wait", detail }];
}

function mistakesIn(templates: object, variables: Variables): Problem[] {
  return templateMistakes(templates, variables).map(({ path, message }) => {
    return { pointer: pointer(...path), detail: message };
  });
}

function conditionProblems(
  at: string,
  source: string | undefined,
  variables: Variables,
): Problem[] {
  const mistake = source === undefined ? undefined : conditionMistake(source, variables);
  return mistake === undefined ? [] : [{ pointer: at, detail: mistake }];
}
