/** The work that actions would launch, below their field. The script tries what is typed; without it the button does. */
import type { PreviewedExecution, PreviewedHttpRequest } from "../../../actions/action.ts";
import type { ActionPreview } from "../../../actions/preview.ts";
import type { TriedRun } from "../../api/try_actions.ts";
import type { ActionTries } from "../action_tries.ts";
import type { Html, View } from "../route.ts";
import { Badge } from "./states.tsx";
import { Mistakes, TriedOn, TriesPanel } from "./tries.tsx";

interface ActionTriesPanelProps {
  view: View;
  /** The name of the field, and the beginning of the ids of the panel. */
  name: string;
  /** Undefined until they were tried. */
  tries: ActionTries | undefined;
}

/** The panel with the work of the actions. */
export function ActionTriesPanel({ view, name, tries }: ActionTriesPanelProps): Html {
  return (
    <TriesPanel
      name={name}
      label="What the actions would launch"
      summary={tries === undefined ? null : <Summary tries={tries} />}
    >
      {tries === undefined || "mistakes" in tries ? null : (
        <ul class="verdicts">
          {tries.results.map((each) => (
            <li>
              <Tried view={view} {...each} />
            </li>
          ))}
        </ul>
      )}
    </TriesPanel>
  );
}

function Summary({ tries }: { tries: ActionTries }): Html {
  if ("mistakes" in tries) return <Mistakes mistakes={tries.mistakes} />;
  const { length } = tries.results;
  if (length === 0) return <>No request is kept yet: nothing to try the actions on</>;
  const failing = tries.results.filter(({ actions }) => actions.some(({ error }) => error)).length;
  return (
    <>
      On {length} recent requests,{" "}
      <strong>{failing === 0 ? "no action fails" : `${failing} fail`}</strong>. Nothing is launched
    </>
  );
}

function Tried({ view, not_tried, actions, ...delivery }: TriedRun & { view: View }): Html {
  return (
    <>
      <span class="dim">
        <TriedOn view={view} {...delivery} />
      </span>
      {not_tried === undefined ? null : <span class="why">{not_tried}</span>}
      {actions.map((action) => <Action {...action} />)}
    </>
  );
}

function Action(
  { action, skipped, error, pipeline, executions = [], http_request }: ActionPreview,
): Html {
  const [tone, label] = error !== undefined
    ? ["bad", "fails"] as const
    : skipped !== undefined
    ? ["quiet", "skipped"] as const
    : ["ok", action.replaceAll("_", " ")] as const;
  return (
    <>
      <span class="verdict">
        <Badge tone={tone} label={label} />
      </span>
      <span class="why">
        {error ?? skipped ?? pipeline}
        {executions.map((each) => <Execution {...each} />)}
        {http_request === undefined ? null : <HttpRequest {...http_request} />}
      </span>
    </>
  );
}

function Execution(
  { node, step, parameters, inputs, environment, metadata }: PreviewedExecution,
): Html {
  const values: [name: string, value: string][] = [
    ...parameters.map(({ name, type, value }): [string, string] => [
      `${name} (${type})`,
      JSON.stringify(value),
    ]),
    ...Object.entries(inputs).map(([name, files]): [string, string] => [
      `input ${name}`,
      files.map((file) => file.url ?? `${file.from} ${file.name}`).join(", "),
    ]),
    ...Object.entries(environment).map(([name, value]): [string, string] => [
      `environment ${name}`,
      JSON.stringify(value),
    ]),
    ...Object.entries(metadata).map(([name, value]): [string, string] => [
      `metadata ${name}`,
      JSON.stringify(value),
    ]),
  ];
  return <Details title={node === undefined ? step : `${node}: ${step}`} values={values} />;
}

function HttpRequest({ method, url, headers, body, sign }: PreviewedHttpRequest): Html {
  const values: [name: string, value: string][] = [
    ...Object.entries(headers).map(([name, value]): [string, string] => [`header ${name}`, value]),
    ...(sign === undefined ? [] : [["signed as by", sign] as [string, string]]),
    ...(body === undefined ? [] : [["body", body] as [string, string]]),
  ];
  return <Details title={`${method} ${url}`} values={values} />;
}

function Details(
  { title, values }: { title: string; values: readonly [name: string, value: string][] },
): Html {
  return (
    <details>
      <summary>{title}</summary>
      {values.map(([name, value]) => (
        <div>
          {name}: <code>{value}</code>
        </div>
      ))}
    </details>
  );
}
