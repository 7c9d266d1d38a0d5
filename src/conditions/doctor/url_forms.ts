/**
 * The URLs that a sender may have signed in place of the one that this service knows.
 *
 * @module
 */
import { type LaunchRequest, launchRequest } from "../request.ts";
import { type Scheme, signedContents } from "../signing/scheme.ts";
import { coversQuery, isBuilt, isPlain, parseTemplate } from "../signing/template.ts";
import type { Variant } from "./body_forms.ts";

const HOST = /^[\w.:[\]-]{1,255}$/;

/**
 * Lists the request under other URLs; none where the scheme does not sign the URL.
 *
 * @param request under the URL that the condition expects
 * @param called the URL that was called
 */
export function* urlVariants(
  request: LaunchRequest,
  called: string,
  scheme: Scheme,
): Generator<Variant> {
  const parts = signedContents(scheme).flatMap(parseTemplate);
  const isUrlSigned = parts.some((part) =>
    coversQuery(part) || isPlain(part, "path") || isBuilt(part, "contentful:path")
  );
  if (!isUrlSigned) return;
  const seen = new Set([request.url]);
  for (const [words, url] of urlForms(request, called)) {
    if (seen.has(url) || !URL.canParse(url)) continue;
    seen.add(url);
    const query = new URL(url).searchParams;
    const difference = `Signed for another URL, ${words}: ${adviceFor(url, request.url)}.`;
    yield { request: launchRequest({ ...request, url, query }), difference };
  }
}

/** Says how both sides have the same URL. The query of the request always belongs to it. */
function adviceFor(signed: string, own: string): string {
  if (own.includes("?") && !signed.includes("?")) {
    return "let the sender sign the URL with its query";
  }
  const set = "set `url` of the condition to what the sender signs";
  return new URL(signed).pathname === new URL(own).pathname
    ? `${set}, or --public-url of the service to the address that it calls`
    : set;
}

function* urlForms(
  request: LaunchRequest,
  called: string,
): Generator<[words: string, url: string]> {
  yield ["the one that was called", called];
  const [base, query] = splitAt(request.url, "?");
  const others = [...sameUrl(base, query), ...otherHosts(base, query, request)];
  yield* others;
  for (const [words, other] of others) {
    const swapped = swapScheme(other);
    yield [`${words} and with ${swapped.split(":", 1)[0]}`, swapped];
  }
}

function sameUrl(base: string, query: string | undefined): [string, string][] {
  const search = query === undefined ? "" : `?${query}`;
  const { origin } = new URL(base);
  return [
    [`with ${base.startsWith("https:") ? "http" : "https"}`, swapScheme(base) + search],
    ["without the slash at its end", base.replace(/\/$/, "") + search],
    ["with a slash at its end", base.replace(/\/?$/, "/") + search],
    ["without its query", base],
    ["without its query and the slash at its end", base.replace(/\/$/, "")],
    ["without its path", `${origin}/`],
    ["without its path and the slash at its end", origin],
  ];
}

/** Behind a proxy the host of the request may be another one than the sender called. */
function otherHosts(
  base: string,
  query: string | undefined,
  { headers }: LaunchRequest,
): [string, string][] {
  const search = query === undefined ? "" : `?${query}`;
  return ["host", "x-forwarded-host", "x-original-host"].flatMap((name): [string, string][] => {
    const host = headers.get(name)?.split(",", 1)[0]?.trim();
    if (host === undefined || !HOST.test(host)) return [];
    const other = base.replace(/^(https?:\/\/)[^/?#]*/, `$1${host}`);
    return [[`with the host of header ${name}`, other + search]];
  });
}

function swapScheme(url: string): string {
  return url.startsWith("https:")
    ? url.replace(/^https:/, "http:")
    : url.replace(/^http:/, "https:");
}

function splitAt(text: string, separator: string): [string, string?] {
  const at = text.indexOf(separator);
  return at === -1 ? [text] : [text.slice(0, at), text.slice(at + separator.length)];
}
