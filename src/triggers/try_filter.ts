/**
 * The dry run of a payload filter: its verdict on each of some requests. Nothing is launched, stored or
 * counted.
 *
 * @module
 */
import { whenPartsRead } from "../platform/waiting/pending.ts";
import type { Refusal } from "../conditions/check.ts";
import type { Position } from "../conditions/cel/syntax.ts";
import type { CredentialField } from "../conditions/field.ts";
import type { FilterWork } from "../conditions/filter/job.ts";
import { prepareFilter } from "../conditions/filter/prepare.ts";
import type { PayloadFilterSettings } from "../conditions/payload_filter.ts";
import type { LaunchRequest } from "../conditions/request.ts";

/** The longest body that a filter is tried on. */
const TRIED_BODY_BYTES_MAX = 1024 * 1024;
/** The time after which no further request is tried: the last one takes as long as a filter may, at most. */
const TRY_MS = 2_000;
/** All dry runs together have the share of the Worker that one trigger has. */
const OWNER = "dry runs of filters";

/** A request that a filter is tried on. */
export interface TriedRequest {
  /** Bytes of its body. */
  size: number;
  /** Reads it; undefined when it is gone. */
  load(): Promise<LaunchRequest | undefined>;
}

/** The verdict of a filter on a request. */
export interface FilterVerdict extends Partial<Refusal> {
  /** `error`: the filter has no value that is true or false, so the request does not pass. */
  verdict: "passed" | "failed" | "error" | "not tried";
  /** The place in the expression that an error comes from. */
  position?: Position;
}

/** The parts of a service that a dry run uses. */
export interface TryFilterParts {
  heavyWork: FilterWork;
  /** The fields in which requests carry credentials, whose values are not shown. */
  credentials: readonly CredentialField[];
}

/**
 * Tries a filter on requests, one after the other.
 *
 * @returns the verdicts, in the order of the requests
 * @throws {UnavailableError} when the Worker has no time for it now
 */
export async function tryFilter(
  { type: _, ...filter }: PayloadFilterSettings,
  requests: readonly TriedRequest[],
  parts: TryFilterParts,
): Promise<FilterVerdict[]> {
  const judge = prepareFilter(filter, { ...parts, owner: OWNER });
  const until_ms = performance.now() + TRY_MS;
  const verdicts: FilterVerdict[] = [];
  for (const { size, load } of requests) {
    if (size > TRIED_BODY_BYTES_MAX) {
      verdicts.push(notTried("The body is longer than 1 MiB"));
    } else if (performance.now() > until_ms) {
      verdicts.push(notTried(`The requests before it took ${TRY_MS} ms`));
    } else {
      const request = await load();
      verdicts.push(request ? await verdictOn(request, judge) : notTried("The body is gone"));
    }
  }
  return verdicts;
}

async function verdictOn(
  request: LaunchRequest,
  judge: ReturnType<typeof prepareFilter>,
): Promise<FilterVerdict> {
  const judged = await whenPartsRead(() => judge(request));
  if (judged === undefined) return { verdict: "passed" };
  const { refusal, isError, position } = judged;
  return { verdict: isError ? "error" : "failed", ...refusal, ...(position && { position }) };
}

function notTried(reason: string): FilterVerdict {
  return { verdict: "not tried", reason };
}
