/**
 * Answers without the secrets that were sent: a server that echoes its request would show them to all who see the run.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { SECRET_MASK } from "../conditions/secret.ts";
import { headerText } from "../platform/network/header_text.ts";
import type { HttpRequestPlan } from "../store/records/http_requests.ts";

/** A shorter text is left alone: most answers hold such a one. */
const LENGTH_MIN = 6;
/** Also within a URL or a form, where its slashes are encoded. */
const CALLBACK = /callbacks(?:\/|%2F)[0-9a-f-]{36}(?:\/|%2F)([0-9a-f]{64})/gi;

/** Masks texts in an answer, in which each character stands for one byte. */
export type AnswerMask = (text: string) => string;

/** Makes the mask of what is sent with a request: secrets, and the token of its callback. */
export function answerMask(
  secrets: readonly string[],
  { url, headers, body }: Pick<HttpRequestPlan, "url" | "headers" | "body">,
): AnswerMask {
  const tokens = JSON.stringify([url, headers, body]).matchAll(CALLBACK);
  const hidden = [...secrets, ...Array.from(tokens, ([, token = ""]) => token)]
    .filter(({ length }) => length >= LENGTH_MIN)
    .flatMap((secret) => [
      secret,
      JSON.stringify(secret).slice(1, -1),
      encodeURIComponent(secret),
      new URLSearchParams([["", secret]]).toString().slice(1),
    ])
    .map((text) => Buffer.from(text, "utf8").toString("latin1"))
    .sort((one, other) => other.length - one.length);
  return (text) => hidden.reduce((shown, each) => shown.replaceAll(each, SECRET_MASK), text);
}

/** Masks the body of an answer. */
export function maskedBody(body: Uint8Array, mask: AnswerMask): Uint8Array {
  const text = Buffer.from(body.buffer, body.byteOffset, body.length).toString("latin1");
  const shown = mask(text);
  return shown === text ? body : Buffer.from(shown, "latin1");
}

/** Masks the headers of an answer, and reads them as text. */
export function maskedHeaders(
  headers: Readonly<Record<string, string | string[] | undefined>>,
  mask: AnswerMask,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      headerText(mask([value ?? ""].flat().join(", "))),
    ]),
  );
}
