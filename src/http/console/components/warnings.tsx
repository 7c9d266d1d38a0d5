/** The warnings of a trigger on its page, those that were dismissed below. */
import type { Cause } from "../../../attention/cause.ts";
import type { ShownTrigger } from "../../api/triggers.ts";
import type { Html, View } from "../route.ts";
import { Dismiss, Dismissed } from "./attention.tsx";
import { Needs } from "./needs.tsx";
import { may } from "./page.tsx";
import { Notice } from "./table.tsx";
import { placeText } from "./trigger_problems.tsx";

/** The warnings of a trigger. */
interface TriggerWarnings {
  open: readonly Cause[];
  dismissed: readonly Cause[];
}

/** Reads the warnings of a trigger. */
export async function warningsOf(
  { api }: View,
  { id, warnings }: ShownTrigger,
): Promise<TriggerWarnings> {
  if (warnings.length === 0) return { open: [], dismissed: [] };
  const query = { trigger: id, group: "setup", limit: 200 };
  const [open, dismissed] = await Promise.all([
    api.ifKnown(api.list<Cause>("attention/", query)),
    api.ifKnown(api.list<Cause>("attention/", { ...query, dismissed: "true" })),
  ]);
  return { open: open?.results ?? [], dismissed: dismissed?.results ?? [] };
}

interface WarningsProps {
  view: View;
  trigger: ShownTrigger;
  warnings: TriggerWarnings;
}

export function Warnings(
  { view, trigger, warnings: { open, dismissed } }: WarningsProps,
): Html | null {
  if (open.length + dismissed.length === 0) return null;
  return (
    <>
      {open.length === 0 ? null : (
        <Notice tone="waiting">
          {open.map((cause) => (
            <div class="warning">
              <span>{causeText(trigger, cause)}</span>
              <Dismiss view={view} cause={cause} from="trigger" />
            </div>
          ))}
          {may(view, "admin") ? <Needs view={view} trigger={trigger} /> : null}
        </Notice>
      )}
      {dismissed.length === 0 ? null : (
        <details class="dismissed">
          <summary>{countText(dismissed.length)}</summary>
          {dismissed.map((cause) => (
            <div class="past">
              {causeText(trigger, cause)}
              <br />
              <Dismissed view={view} cause={cause} from="trigger" />
            </div>
          ))}
        </details>
      )}
    </>
  );
}

function countText(count: number): string {
  return count === 1 ? "1 dismissed warning" : `${count} dismissed warnings`;
}

function causeText(trigger: ShownTrigger, { pointers = [], text }: Cause): string {
  const places = pointers.map((pointer) => placeText(pointer, trigger)).filter(Boolean);
  return places.length === 0 ? text : `${places.join("; ")}: ${text}`;
}
