/** The turn of a run: what it waits for, or which run was performed in its place. */
import type { ShownRun } from "../../api/shown_run.ts";
import type { Html, View } from "../route.ts";
import { ShortId, Time } from "./values.tsx";

/** The turn of a run whose trigger has a pace; nothing of any other. */
export function Turn({ run, view }: { run: ShownRun; view: View }): Html | null {
  const { waiting, superseded_by, skipped_by } = run;
  if (superseded_by !== undefined) {
    return (
      <div>
        <RunLink id={superseded_by} /> was performed in its place.
      </div>
    );
  }
  if (skipped_by !== undefined) {
    return (
      <div>
        It was not performed: the work of <RunLink id={skipped_by} /> was under way.
      </div>
    );
  }
  return waiting === undefined ? null : <Wait waiting={waiting} view={view} />;
}

function Wait({ waiting, view }: { waiting: NonNullable<ShownRun["waiting"]>; view: View }): Html {
  if (waiting.for === "delay") {
    return (
      <div>
        It waits until <Time at={waiting.until} now_ms={view.now_ms} />.
      </div>
    );
  }
  const key = waiting.key === "" ? null : (
    <>
      {" "}of the key <code>{waiting.key}</code>
    </>
  );
  if (waiting.for === "burst") {
    return (
      <div>
        It waits for more runs{key}, until <Time at={waiting.until} now_ms={view.now_ms} />.
      </div>
    );
  }
  const { limit, place, behind } = waiting;
  return (
    <div>
      It waits for one of {limit} {limit === 1 ? "place" : "places"}
      {key}: number {place} of those that wait, behind {behind.map((id, index) => (
        <>
          {index === 0 ? "" : ", "}
          <RunLink id={id} />
        </>
      ))}.
    </div>
  );
}

function RunLink({ id }: { id: string }): Html {
  return (
    <a href={`deliveries/${id}`}>
      <ShortId id={id} />
    </a>
  );
}
