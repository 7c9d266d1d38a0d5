/**
 * The evaluation of a payload filter in the Worker for heavy work.
 *
 * @module
 */
import type { HeavyWork } from "../../platform/heavy_work/heavy_work.ts";
import { keepNewest } from "../../platform/evict_oldest.ts";
import type { Expression } from "../cel/expression.ts";
import type { CredentialField } from "../field.ts";
import { type RequestInput, requestInWorker } from "../worker_request.ts";
import { compileFilter, type FilterSettings, type Judgement, judgeRequest } from "./filter.ts";

const KEPT_MAX = 100;

interface FilterInput extends RequestInput {
  filter: FilterSettings;
  credentials: readonly CredentialField[];
}

/** Heavy work that evaluates filters. */
export type FilterWork = Pick<HeavyWork<{ filter: () => Promise<typeof filterJob> }>, "run">;

/** The filters that were evaluated last. */
const kept = new Map<string, Expression>();

/** Evaluates a filter over a request; returns undefined when the request passes. */
export function filterJob(
  { filter, credentials, ...request }: FilterInput,
): Judgement | undefined {
  const expression = keepNewest(kept, JSON.stringify(filter), {
    size_max: KEPT_MAX,
    make: () => compileFilter(filter),
  });
  return judgeRequest(expression, requestInWorker(request), credentials);
}
