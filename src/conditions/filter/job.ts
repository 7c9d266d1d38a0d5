/**
 * The evaluation of a payload filter in the Worker for heavy work.
 *
 * @module
 */
import type { HeavyWork } from "../../platform/heavy_work/heavy_work.ts";
import type { JobInput } from "../../platform/heavy_work/job.ts";
import { evictOldest } from "../../platform/evict_oldest.ts";
import type { Expression } from "../cel/expression.ts";
import type { CredentialField } from "../field.ts";
import { keepClaims } from "../jwt/claims.ts";
import { launchRequest } from "../request.ts";
import { compileFilter, type FilterSettings, type Judgement, judgeRequest } from "./filter.ts";

const KEPT_MAX = 100;

/** A filter, and a request whose body are the bytes. */
interface FilterInput extends JobInput {
  filter: FilterSettings;
  credentials: readonly CredentialField[];
  headers: [name: string, value: string][];
  query: string;
  remoteIp: string;
  receivedAt_ms: number;
  /** Of its token. */
  claims: unknown;
}

/** Heavy work that evaluates filters. */
export type FilterWork = Pick<HeavyWork<{ filter: () => Promise<typeof filterJob> }>, "run">;

/** The filters that were evaluated last. */
const kept = new Map<string, Expression>();

/** Evaluates a filter over a request; returns undefined when the request passes. */
export function filterJob(
  { filter, credentials, bytes, headers, query, claims, ...facts }: FilterInput,
): Judgement | undefined {
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
  keepClaims(request, claims);
  return judgeRequest(expression, request, credentials);
}
