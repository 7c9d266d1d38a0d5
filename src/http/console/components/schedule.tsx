/** The coming occurrences of a trigger's schedules. */
import type { ComingOccurrences } from "../../api/schedules.ts";
import type { ShownTrigger } from "../../api/triggers.ts";
import { Action } from "./form.tsx";
import { may } from "./page.tsx";
import { Time } from "./values.tsx";
import type { Html, View } from "../route.ts";

const OCCURRENCES = 5;

/** Reads the coming occurrences; undefined of a trigger without schedules. */
export async function occurrencesOf(
  view: View,
  { id, schedule = [] }: ShownTrigger,
): Promise<ComingOccurrences | undefined> {
  if (schedule.length === 0) return undefined;
  return await view.api.get<ComingOccurrences>(`triggers/${id}/schedule/`, { limit: OCCURRENCES });
}

/** The schedules of a trigger, the times at which they launch next, and a button that launches now. */
export function Schedule({ view, trigger, coming }: {
  view: View;
  trigger: ShownTrigger;
  coming: ComingOccurrences | undefined;
}): Html | null {
  const { id, enabled, schedule = [] } = trigger;
  if (coming === undefined) return null;
  return (
    <>
      <h2>Schedule</h2>
      <ol>
        {schedule.map(({ cron, timezone }, index) => (
          <li>
            <code>{cron}</code> {timezone} {may(view, "operate") && enabled
              ? (
                <Action
                  view={view}
                  to={`triggers/${id}/schedule`}
                  fields={{ index: String(index) }}
                >
                  Run now
                </Action>
              )
              : null}
          </li>
        ))}
      </ol>
      {coming.results.length === 0
        ? <p class="waiting">Nothing is scheduled while it is disabled.</p>
        : (
          <ul>
            {coming.results.map(({ time, local, timezone }) => (
              <li>
                {local} {timezone}, <Time at={time} now_ms={view.now_ms} />
              </li>
            ))}
          </ul>
        )}
    </>
  );
}
