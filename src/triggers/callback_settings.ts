/**
 * The settings of a trigger's callback: the sender is told when its run and the run's work have ended.
 *
 * @module
 */
import { z } from "zod";
import { oneSecretSchema } from "../conditions/settings.ts";
import { sourcesIn, templateMistakes } from "../conditions/values/compile.ts";
import { signingTypeOf } from "../http_requests/sign.ts";
import type { Problem } from "../platform/errors.ts";
import { hasPublicHost, hostOf } from "../platform/network/public_addresses.ts";
import { parsePattern } from "./callback_address.ts";

const ALLOWED_MAX = 32;
const ADDRESS_LENGTH_MAX = 2_048;

/** The schema of the settings. */
export const callbackSchema = z.strictObject({
  url: z.string().min(1).max(ADDRESS_LENGTH_MAX).describe(
    "The address, with values, such as `{body.callback_url}`; where it is empty, nothing is sent",
  ),
  allow: z.array(z.string().min(1).max(ADDRESS_LENGTH_MAX)).min(1).max(ALLOWED_MAX).describe(
    "The addresses that the sender may choose: scheme, host, port and the beginning of the path; `*.` stands for one label",
  ),
  sign: z.strictObject({
    preset: z.string().min(1).max(64),
    secret: oneSecretSchema.describe("The secret, or the private key; kept encrypted"),
  }).optional().describe("Signs each attempt as a provider does"),
  private_networks: z.boolean().optional().describe(
    "Addresses that are not public are allowed",
  ),
});

/** The settings of a callback. */
export type CallbackSettings = z.infer<typeof callbackSchema>;

/** Warns of addresses that nothing would be sent to. */
export function callbackWarnings(settings: CallbackSettings | undefined): Problem[] {
  if (settings === undefined || settings.private_networks) return [];
  return settings.allow.flatMap((text, index) => {
    if (hasPublicHost(text)) return [];
    const detail = `${hostOf(text)} is no public address, so nothing is sent to it: ` +
      "set private_networks: true in the callback, with a token without limits";
    return [{ pointer: `/callback/allow/${index}`, detail }];
  });
}

/** Finds the mistakes in the settings of a callback. */
export function callbackMistakes(settings: CallbackSettings | undefined): Problem[] {
  if (settings === undefined) return [];
  const { url, allow, sign } = settings;
  const problems = templateMistakes({ url }).map(({ message }) => ({
    pointer: "/callback/url",
    detail: message,
  }));
  if (problems.length === 0 && sourcesIn(url).length === 0) {
    const detail =
      "Expected a value of the request, such as {body.callback_url}. To tell an address of " +
      "your own of each run, use an action or a notification";
    problems.push({ pointer: "/callback/url", detail });
  }
  for (const [index, text] of allow.entries()) {
    const pattern = parsePattern(text);
    if (typeof pattern !== "string") continue;
    problems.push({ pointer: `/callback/allow/${index}`, detail: pattern });
  }
  if (sign !== undefined && signingTypeOf(sign.preset) === undefined) {
    const detail = `Expected a preset of the page of providers, found "${sign.preset}"`;
    problems.push({ pointer: "/callback/sign/preset", detail });
  }
  return problems;
}
