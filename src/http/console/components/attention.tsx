/** Failures in words, and warnings of set-ups with their dismissal. */
import type { Cause, CauseCode } from "../../../attention/cause.ts";
import { search } from "../client.ts";
import type { Html, View } from "../route.ts";
import { Action, CsrfField } from "./form.tsx";
import { may } from "./page.tsx";
import { Lasting, Time } from "./values.tsx";

/** The refusal of a dismissal. */
export interface RefusedDismissal {
  /** The id of the warning. */
  warning: string;
  reason: string;
  problem: string;
}

interface FailuresProps {
  view: View;
  title: string;
  causes: readonly Cause[];
}

/** Counted over a day: since when it lasts says less than what it says. */
const COUNTED: readonly CauseCode[] = [
  "run_error",
  "execution_error",
  "pipeline_error",
  "refused",
];

/** Lists failures. */
export function Failures({ view, title, causes }: FailuresProps): Html {
  return (
    <section class="attention" aria-labelledby="failures">
      <h2 id="failures">{title}</h2>
      <ul>
        {causes.map((cause) => (
          <li>
            <strong>{nameOf(cause)}</strong>: <a href={hrefOf(cause)}>{cause.text}</a>
            {COUNTED.includes(cause.code) ? null : (
              <span class="dim">
                , <Lasting since={cause.since} now_ms={view.now_ms} />
              </span>
            )}
            <span class="dim">. {cause.advice}.</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Names what a cause is about. */
function nameOf({ subject: { kind, name } }: Cause): string {
  if (kind === "service") return "Service";
  if (kind === "notifier") return `Notifier ${name}`;
  if (kind === "instance") return `Instance ${name}`;
  return kind === "engine" ? `Engine ${name}` : name;
}

/** The page of each cause, or of its cure. */
const PAGES: Readonly<Record<CauseCode, (cause: Cause) => string>> = {
  disk_full: () => "docs/operating",
  files_disk_full: () => "docs/operating",
  artifact_store_failed: () => "docs/operating",
  backup_failed: () => "docs/operating#backups",
  certificate_failed: () => "docs/https",
  instance_gone: () => "instances",
  instance_not_serving: () => "instances",
  instance_differs: () => "instances",
  engine_unreachable: () => "engines",
  project_fetch_failed: ofProject,
  project_file_invalid: ofProject,
  run_error: ({ subject }) => deliveries({ trigger: subject.name, outcome: "accepted" }),
  execution_error: ({ subject: { name } }) =>
    `executions${search({ trigger: name, status: "error" })}`,
  pipeline_error: ({ subject: { name } }) =>
    `pipelines${search({ trigger: name, status: "error" })}`,
  schedule_failed: ({ subject }) => `triggers/${subject.id}`,
  silent: ({ subject }) => deliveries({ trigger: subject.name }),
  notifier_failed: ({ subject }) => `notifications${search({ notifier: subject.name })}`,
  refused: ({ subject }) => deliveries({ trigger: subject.name, outcome: "refused" }),
  setting_missing: () => "docs/deploy",
  trigger_setup: ({ subject }) => `triggers/${subject.id}`,
};

function hrefOf(cause: Cause): string {
  return PAGES[cause.code](cause);
}

function ofProject({ subject }: Cause): string {
  return `projects/${encodeURIComponent(subject.name)}`;
}

function deliveries(query: Record<string, string>): string {
  return `deliveries${search(query)}`;
}

/** Lists settings without which less works; nothing where there are none. */
export function SettingNotes({ causes }: { causes: readonly Cause[] }): Html | null {
  const notes = causes.filter(({ code }) => code === "setting_missing");
  if (notes.length === 0) return null;
  return (
    <section class="notice" aria-label="Settings">
      <ul>
        {notes.map((cause) => (
          <li>
            <a href={hrefOf(cause)}>{cause.text}</a>
            <span class="dim">. {cause.advice}.</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Returns true for the warning of a trigger, which can be dismissed. */
export function isOfTrigger({ code }: Cause): boolean {
  return code === "trigger_setup";
}

interface DismissProps {
  view: View;
  cause: Cause;
  refused?: RefusedDismissal | undefined;
  /** The page to come back to. */
  from: "attention" | "trigger";
}

/** Asks for the reason for which a warning is dismissed. */
export function Dismiss({ view, cause, refused, from }: DismissProps): Html | null {
  if (!may(view, "admin")) return null;
  const own = refused?.warning === cause.id ? refused : undefined;
  const id = `reason-${cause.id}`;
  return (
    <details class="dismiss" open={own !== undefined}>
      <summary class="button quiet" aria-label={`Dismiss: ${cause.text}`}>Dismiss</summary>
      <form method="post" action={`attention/${cause.subject.id}/${cause.id}/dismiss`}>
        <CsrfField view={view} />
        <input type="hidden" name="from" value={from} />
        <div class={own === undefined ? "field" : "field wrong"}>
          <label for={id}>Why it needs no attention</label>
          <input
            id={id}
            name="reason"
            maxlength={1000}
            required
            value={own?.reason}
            placeholder="Such as: our own network alone"
          />
          {own === undefined ? null : <p class="problem">{own.problem}</p>}
        </div>
        <button>Dismiss</button>
      </form>
    </details>
  );
}

/** Says who has dismissed a warning and why, and brings it back. */
export function Dismissed({ view, cause, from }: Omit<DismissProps, "refused">): Html {
  const { author, reason, time } = cause.dismissed ??
    { author: { name: "" }, reason: "", time: "" };
  return (
    <>
      <span class="dim">
        {author.name}, <Time at={time} now_ms={view.now_ms} />:
      </span>{" "}
      {reason} {may(view, "admin")
        ? (
          <Action
            view={view}
            to={`attention/${cause.subject.id}/${cause.id}/restore`}
            fields={{ from }}
            class="quiet"
          >
            Bring back
          </Action>
        )
        : null}
    </>
  );
}
