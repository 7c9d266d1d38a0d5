/** The problems of a trigger, each with its place. */
import type { Problem } from "../../../platform/errors.ts";
import type { ShownTrigger } from "../../api/triggers.ts";
import type { ApiCallError } from "../client.ts";
import type { Html } from "../route.ts";
import { Notice } from "./table.tsx";

/** The refusal of a form, with all that is wrong. */
export function Refusal(
  { trigger, refused }: { trigger: ShownTrigger; refused: ApiCallError },
): Html {
  return (
    <Notice tone="bad">
      {refused.summary}
      {refused.problems.map((problem) => <div>{placedText(trigger, problem)}</div>)}
    </Notice>
  );
}

/** Writes a problem of a trigger with its place, as the page shows it: lists count from 1. */
function placedText(trigger: ShownTrigger, { pointer, detail }: Problem): string {
  const place = placeText(pointer, trigger);
  return place === "" ? detail : `${place}: ${detail}`;
}

/**
 * Writes a place in a trigger.
 *
 * @param trigger names the types of conditions, where it is known
 */
export function placeText(pointer: string, trigger?: ShownTrigger): string {
  const [, part, index, ...rest] = pointer.split("/");
  if (part !== "conditions" || index === undefined) return pointer.slice(1);
  const type = trigger === undefined ? "" : ` (${trigger.conditions[Number(index)]?.type})`;
  const condition = `Condition ${Number(index) + 1}${type}`;
  const [list, place] = rest;
  const inside = list === "secrets" && place !== undefined
    ? [`secret ${Number(place) + 1}`]
    : rest.length === 0
    ? []
    : [rest.join("/")];
  return [condition, ...inside].join(", ");
}
