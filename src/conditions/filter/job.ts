/**
 * The evaluation of a payload filter in the Worker for heavy work.
 *
 * @module
 */
import type { HeavyWork } from "../../platform/heavy_work/heavy_work.ts";
import type { JobInput } from "../../platform/heavy_work/job.ts";
import { evictOldest } from "../../platform/evict_oldest.ts";
import type { Expression } from "../cel/expression.ts";
import type { Refusal } from "../check.ts";
import type { CredentialField } from "../field.ts";
import { launchRequest } from "../request.ts";
import { compileFilter, evaluateFilter, type FilterSettings } from "./filter.ts";

const KEPT_MAX = 100;

/** A filter, and a request whose body are the bytes. */
export interface FilterInput extends JobInput {
  filter: FilterSettings;
  credentials: readonly CredentialField[];
  headers: [name: string, value: string][];
  query: string;
  remoteIp: string;
  receivedAt_ms: number;
}

/** Heavy work that evaluates filters. */
export type FilterWork = Pick<HeavyWork<{ filter: () => Promise<typeof filterJob> }>, "run">;

/** The filters that were evaluated last. */
const kept = new Map<string, Expression>();

/** Evaluates a filter over a request; returns the refusal. */
export function filterJob(
  { filter, credentials, bytes, headers, query, ...facts }: FilterInput,
): Refusal | undefined {
  const key = JSON.stringify(filter);
  const expression = kept.get(key) ?? compileFilter(filter);
  kept.delete(key);
  kept.set(key, expression);
  evictOldest(kept, KEPT_MAX);
  const request = launchRequest({
    ...facts,
    // No filter reads these.
    method: "POST",
    url: "",
    headers: new Headers(headers),
    query: new URLSearchParams(query),
    body: bytes,
  });
  return evaluateFilter(expression, request, credentials);
}
