/**
 * Making a request that a trigger's conditions let pass, as its sender would: for trying a trigger out.
 * It is made from the same settings that verify.
 *
 * @module
 */
import { whenPartsRead } from "../platform/waiting/pending.ts";
import { messageOf, type Problem } from "../platform/errors.ts";
import type { ConditionSettings } from "./condition.ts";
import { factsOf } from "./facts.ts";
import { loadKinds } from "./prepare.ts";
import { Draft } from "./signing/draft.ts";
import type { KeySetting } from "./keys.ts";

/** The request to be signed. */
export interface UnsignedRequest {
  method?: string;
  /** The public URL of the trigger. */
  url: string;
  /** With their `content-type`. */
  headers: Record<string, string>;
  body: Uint8Array;
  /** The time of sending, in milliseconds since the epoch. */
  now_ms: number;
  /** Reads an environment variable, for secrets written as `{env:NAME}`. */
  env(name: string): string | undefined;
  /** Private keys for conditions that know public keys alone: as PEM, JWK or the provider's form. */
  privateKeys?: readonly KeySetting[];
}

/** A request that is ready to be sent. */
export interface SignedRequest {
  url: string;
  headers: Record<string, string>;
  body: Uint8Array;
  /** One sentence for each step that was done, without secrets, with a pointer to its condition (`/0`). */
  notes: Problem[];
  /** The steps that failed, likewise: their conditions will refuse the request. */
  problems: Problem[];
  /** True when a secret itself is in it. */
  reveals: boolean;
}

/** Adds to a request what a trigger's conditions ask for. Secrets are in clear, or `{env:NAME}`. */
export async function signRequest(
  conditions: readonly ConditionSettings[],
  unsigned: UnsignedRequest,
): Promise<SignedRequest> {
  const { method = "POST", url, headers, body, now_ms, privateKeys = [] } = unsigned;
  const known = await loadKinds(conditions);
  const { times, deliveryId } = factsOf(known);
  const draft = new Draft(method, url, body, headers, now_ms);
  const env = (name: string) => unsigned.env(name);
  const context = { draft, env, privateKeys, times, deliveryId };
  const steps = known.flatMap(({ kind, settings }, index) =>
    (kind.sign?.(settings, context) ?? []).map((step) => ({ step, index }))
  );
  const notes: Problem[] = [];
  const problems: Problem[] = [];
  let reveals = false;
  for (const { step, index } of steps.sort((a, b) => a.step.order - b.step.order)) {
    try {
      const detail = await whenPartsRead(() => step.run());
      reveals ||= step.reveals === true;
      if (detail !== undefined) notes.push({ pointer: `/${index}`, detail });
    } catch (error) {
      problems.push({ pointer: `/${index}`, detail: messageOf(error) });
    }
  }
  return {
    url: draft.url,
    headers: Object.fromEntries(draft.headers),
    body: draft.body,
    notes,
    problems,
    reveals,
  };
}
