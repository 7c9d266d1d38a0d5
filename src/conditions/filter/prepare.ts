/**
 * A payload filter that is ready for requests. An evaluation that is sure to be short runs at once, any other
 * in the Worker for heavy work.
 *
 * @module
 */
import { messageOf } from "../../platform/errors.ts";
import { truncate } from "../../platform/text/display.ts";
import type { Expression } from "../cel/expression.ts";
import type { CredentialField } from "../field.ts";
import type { LaunchRequest } from "../request.ts";
import { failureOf, requestInput } from "../worker_request.ts";
import {
  compiledFilter,
  type FilterSettings,
  isShort,
  type Judgement,
  judgeRequest,
} from "./filter.ts";
import type { FilterWork } from "./job.ts";

/** The time of one evaluation in the Worker, in which it parses the body too. */
const FILTER_MS_MAX = 2_000;
const EXPECTED_MAX = 200;

/** The surroundings of a filter. */
interface FilterContext {
  heavyWork: FilterWork;
  /** The fields that carry credentials: no log shows their values. */
  credentials: readonly CredentialField[];
  /** The owner to which the Worker's time is counted, such as a trigger. */
  owner: string;
}

/** Judges a request; undefined lets it pass. */
type Judge = (
  request: LaunchRequest,
) => Judgement | undefined | Promise<Judgement | undefined>;

/** Prepares a filter. One that cannot be used refuses every request. */
export function prepareFilter(filter: FilterSettings, context: FilterContext): Judge {
  let expression: Expression;
  try {
    expression = compiledFilter(filter);
  } catch (error) {
    const refusal = { reason: `Payload filter cannot be used: ${messageOf(error)}` };
    return () => ({ refusal, isError: true });
  }
  const expected = truncate(expression.clauses.map(({ text }) => text).join(" && "), EXPECTED_MAX);
  return (request) => {
    if (isShort(expression, request)) {
      return judgeRequest(expression, request, context.credentials);
    }
    return judgeInWorker(filter, request, context).catch((error) => {
      const reason = `Payload filter failed: ${failureOf(error)}`;
      return { refusal: { reason, expected }, isError: true };
    });
  };
}

function judgeInWorker(
  filter: FilterSettings,
  request: LaunchRequest,
  { heavyWork, owner, credentials }: FilterContext,
): Promise<Judgement | undefined> {
  const { signal } = request;
  return heavyWork.run(
    "filter",
    { filter, credentials, ...requestInput(request) },
    { key: owner, timeout_ms: FILTER_MS_MAX, ...(signal && { signal }) },
  );
}
