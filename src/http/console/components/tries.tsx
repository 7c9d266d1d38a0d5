/** The panel below a field that is tried on recent requests. The script tries what is typed; without it the button does. */
import type { OfDelivery } from "../../api/tried_request.ts";
import { TRY } from "../filter_tries.ts";
import type { Html, View } from "../route.ts";
import { ShortId, Time } from "./values.tsx";

interface TriesPanelProps {
  /** The name of the field, and the beginning of the ids of the panel. */
  name: string;
  label: string;
  summary: Html | null;
  children: Html | null;
}

/** The panel: a sentence about all requests, the button, and a list of verdicts. */
export function TriesPanel({ name, label, summary, children }: TriesPanelProps): Html {
  return (
    <section class="tries" id={`${name}-tries`} aria-label={label}>
      <div class="title">
        <div role="status" id={`${name}-summary`}>{summary}</div>
        <button name={TRY} value={name}>Try</button>
      </div>
      <div id={`${name}-verdicts`}>{children}</div>
    </section>
  );
}

/** The mistakes for which nothing was tried. */
export function Mistakes({ mistakes }: { mistakes: readonly string[] }): Html {
  return <>{mistakes.map((each) => <div class="bad">{each}</div>)}</>;
}

/** The delivery that a verdict is about. */
export function TriedOn({ view, delivery_id: id, time }: OfDelivery & { view: View }): Html | null {
  if (id === undefined || time === undefined) return null;
  return (
    <>
      <a href={`deliveries/${id}`}>
        <ShortId id={id} />
      </a>{" "}
      <Time at={time} now_ms={view.now_ms} />
    </>
  );
}
