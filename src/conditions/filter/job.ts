/**
 * The evaluation of a payload filter in the Worker for heavy work.
 *
 * @module
 */
import type { HeavyWork } from "../../platform/heavy_work/heavy_work.ts";
import type { CredentialField } from "../field.ts";
import { type RequestInput, requestInWorker } from "../worker_request.ts";
import { compiledFilter, type FilterSettings, type Judgement, judgeRequest } from "./filter.ts";

interface FilterInput extends RequestInput {
  filter: FilterSettings;
  credentials: readonly CredentialField[];
}

/** Heavy work that evaluates filters. */
export type FilterWork = Pick<HeavyWork<{ filter: () => Promise<typeof filterJob> }>, "run">;

/** Evaluates a filter over a request; returns undefined when the request passes. */
export function filterJob(
  { filter, credentials, ...request }: FilterInput,
): Judgement | undefined {
  return judgeRequest(compiledFilter(filter), requestInWorker(request), credentials);
}
