/** The facts of an execution: where it runs, what it got, what it left behind. */
import type { ShownExecution } from "../../api/executions.ts";
import { hasEnded, type InputFile } from "../../../store/records/executions.ts";
import { search } from "../client.ts";
import type { Html, View } from "../route.ts";
import { Notice } from "./table.tsx";
import { LaunchedBy } from "./launched_by.tsx";
import { Copied, durationText, Facts, Removed, Size, Time } from "./values.tsx";

interface ExecutionProps {
  execution: ShownExecution;
  view: View;
}

/** Says why the command has not begun, or what is not known of it now. */
export function ExecutionNotice({ execution }: Pick<ExecutionProps, "execution">): Html | null {
  const { status, waiting, reachable, reason, engine } = execution;
  if (reachable === false && !hasEnded(status)) {
    return (
      <Notice tone="bad">
        The engine {engine.type}{" "}
        cannot be asked now{waiting === undefined ? "" : `: ${waiting}`}. The command may run on.
      </Notice>
    );
  }
  if (waiting !== undefined && !hasEnded(status)) {
    return <Notice tone="waiting">It waits: {waiting}</Notice>;
  }
  if (reason === undefined) return null;
  return <Notice tone={status === "error" ? "bad" : "waiting"}>{reason}</Notice>;
}

/** The facts that are of interest while it runs. */
export function ExecutionFacts({ execution, view }: ExecutionProps): Html {
  const { engine, machine, created_at, started_at, ended_at, duration, exit_code } = execution;
  const { now_ms } = view;
  const time = (at: string | undefined) =>
    at === undefined ? undefined : <Time at={at} now_ms={now_ms} />;
  return (
    <Facts
      facts={[
        ["Created", started_at === undefined ? time(created_at) : undefined],
        ["Started", time(started_at)],
        ["Ended", time(ended_at)],
        ["Duration", duration === undefined ? undefined : durationText(duration * 1_000)],
        ["Exit code", exit_code],
        ["Engine", engine.type],
        ["Machine", machine],
      ]}
    />
  );
}

/** The facts of its origin: the code, the delivery, the pipeline. */
export function ExecutionOrigin({ execution }: Pick<ExecutionProps, "execution">): Html {
  const { project, step, commit, image, pipeline_id, pipeline_title, node, trigger } = execution;
  return (
    <Facts
      facts={[
        ["Project", <a href={`projects/${project}`}>{project}</a>],
        ["Step", step],
        ["Commit", <code>{commit.slice(0, 12)}</code>],
        ["Image", <code>{image}</code>],
        ["Trigger", trigger],
        ["Launched by", <LaunchedBy {...execution} />],
        [
          "Pipeline",
          pipeline_id === undefined ? undefined : (
            <>
              <a href={`pipelines/${pipeline_id}`}>{pipeline_title}</a>, node {node}
            </>
          ),
        ],
      ]}
    />
  );
}

/** The files that it found, by the names of its inputs. */
export function Inputs({ inputs }: Pick<ShownExecution, "inputs">): Html {
  const files = Object.entries(inputs).flatMap(([input, list]) =>
    list.map((file) => ({ input, file }))
  );
  if (files.length === 0) return <p class="dim">It has none.</p>;
  return (
    <ul class="files">
      {files.map(({ input, file }) => (
        <li>
          <span class="dim">{input}/</span>
          {file.name} <Source file={file} />
        </li>
      ))}
    </ul>
  );
}

function Source({ file }: { file: InputFile }): Html {
  if ("url" in file) return <span class="dim">from {file.url}</span>;
  const place = "payload_of" in file
    ? { href: `deliveries/${file.payload_of}`, label: "the payload" }
    : { href: `executions/${file.output_of}`, label: `output ${file.path}` };
  return (
    <span class="dim">
      <Size bytes={file.size} />, <a href={place.href}>{place.label}</a>
    </span>
  );
}

/** The files that it left behind. */
export function Outputs({ view, execution }: ExecutionProps): Html {
  const { id, attempt, outputs, outputs_removed_at, status } = execution;
  if (outputs_removed_at !== undefined) {
    return <Removed at={outputs_removed_at} now_ms={view.now_ms} />;
  }
  if (outputs.length === 0) {
    return <p class="dim">{hasEnded(status) ? "It left none." : "They are saved at its end."}</p>;
  }
  return (
    <ul class="files">
      {outputs.map(({ path, size, datum_id }) => (
        <li>
          <a href={`executions/${id}/output${search({ path, attempt })}`} download>{path}</a>{" "}
          <span class="dim">
            <Size bytes={size} />
          </span>{" "}
          <button
            type="button"
            class="quiet"
            data-copy={`datum://${datum_id}`}
            aria-label={`Copy datum link of ${path}`}
          >
            Copy datum link
          </button>
        </li>
      ))}
    </ul>
  );
}

/** The command and all that it was given, folded away. */
export function Definition({ execution }: Pick<ExecutionProps, "execution">): Html {
  const { id, command, parameters, environment_variables, secrets = {} } = execution;
  const secretNames = Object.entries(secrets).map(([variable, { name }]) => [variable, name]);
  return (
    <details>
      <summary>Command, parameters, environment</summary>
      <pre tabindex={0} aria-label="Command">{command}</pre>
      <Values title="Parameters" values={parameters} />
      <Values title="Environment variables" values={environment_variables} />
      <Values title="Secrets, by variable" values={Object.fromEntries(secretNames)} />
      <p class="dim">
        Id <Copied value={id} label="the id" />
      </p>
    </details>
  );
}

/** Names and values. */
export function Values({ title, values }: { title: string; values: Record<string, unknown> }) {
  const entries = Object.entries(values);
  if (entries.length === 0) return null;
  return (
    <>
      <h3>{title}</h3>
      <Facts facts={entries.map(([name, value]) => [name, <code>{valueText(value)}</code>])} />
    </>
  );
}

/** Writes a value as people read it: text as it is, all else as JSON. */
export function valueText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value) ?? "";
}
