/**
 * The kinds of action that a trigger may name but that this version cannot do. They are refused when
 * the trigger is saved, so that nobody finds out from a run.
 *
 * @module
 */
import { z } from "zod";
import { ActionError } from "../errors.ts";
import type { ActionKind } from "./action.ts";

/** A kind of action that is refused when a trigger is saved. */
export function notAvailable<Type extends string>(type: Type) {
  return {
    type,
    schema: z.looseObject({ type: z.literal(type) }).refine(() => false, {
      error: "Pipelines are not available in this version of Hooklaunch: expected an action of " +
        'type "run_execution" or "fetch_repository"',
      path: ["type"],
    }),
    perform: () => Promise.reject(new ActionError(`Cannot perform ${type} in this version`)),
  } satisfies ActionKind<{ type: Type }>;
}
