/** The editor of a filter: its field, and its verdicts on requests, which follow what is typed. */
import { wrappedParts } from "../../../conditions/json_schema/fields.ts";
import type { Problem } from "../../../platform/errors.ts";
import type { TriedDelivery } from "../../api/try_filter.ts";
import type { Tries } from "../filter_tries.ts";
import type { Html, View } from "../route.ts";
import type { Sample } from "../samples.ts";
import { describedBy, Field } from "./form.tsx";
import { Badge, type Tone } from "./states.tsx";
import { Mistakes, TriedOn, TriesPanel } from "./tries.tsx";

const HINT =
  'An expression over the request, such as body.ref == "refs/heads/main", or a list of clauses as JSON; ' +
  "always when empty";
const ROWS_MAX = 16;
const WORDS: Readonly<Record<TriedDelivery["verdict"], readonly [Tone, string]>> = {
  passed: ["ok", "passes"],
  failed: ["quiet", "does not pass"],
  error: ["bad", "error"],
  "not tried": ["waiting", "not tried"],
};

interface FilterFieldProps {
  view: View;
  /** Its name in the form, and its id. */
  name: string;
  text: string;
  problems: readonly Problem[];
  /** The address of the page that has the names of fields. */
  fields?: string | undefined;
  /** Undefined until it was tried. */
  tries: Tries | undefined;
}

/** The field of a filter. The script tries what is typed; without it the button does. */
export function FilterField({ view, name, text, problems, fields, tries }: FilterFieldProps): Html {
  return (
    <>
      <Field
        label="Launch only when"
        id={name}
        hint={HINT}
        problems={problems}
      >
        <textarea
          id={name}
          name={name}
          rows={Math.min(ROWS_MAX, Math.max(3, text.split("\n").length))}
          spellcheck={false}
          autocapitalize="off"
          data-try={`${name}-tries`}
          data-complete={fields}
          aria-describedby={describedBy(name)}
        >
          {text}
        </textarea>
      </Field>
      <TriesPanel
        name={name}
        label="Verdicts of the filter"
        summary={tries === undefined ? null : <Summary tries={tries} />}
      >
        {tries === undefined || "mistakes" in tries
          ? null
          : <Verdicts view={view} results={tries.results} sample={tries.sample} />}
      </TriesPanel>
    </>
  );
}

function Summary({ tries }: { tries: Tries }): Html {
  if ("mistakes" in tries) return <Mistakes mistakes={tries.mistakes} />;
  const { results, sample } = tries;
  const passed = results.filter(({ verdict }) => verdict === "passed").length;
  if (sample === undefined) {
    return (
      <>
        <strong>{passed} of {results.length}</strong> recent requests pass
      </>
    );
  }
  const from = sample.title === undefined ? "A plain sample" : `A sample of ${sample.title}`;
  return (
    <>
      {from} <strong>{passed === 0 ? "does not pass" : "passes"}</strong>. No request is kept yet
    </>
  );
}

interface VerdictsProps {
  view: View;
  results: readonly TriedDelivery[];
  sample: Sample | undefined;
}

function Verdicts({ view, results, sample }: VerdictsProps): Html {
  return (
    <>
      <ul class="verdicts">
        {results.map((each) => (
          <li>
            <Verdict view={view} {...each} />
          </li>
        ))}
      </ul>
      {sample === undefined ? null : (
        <details>
          <summary>Its body</summary>
          <pre tabindex={0} aria-label="Body">{JSON.stringify(sample.body, null, 2)}</pre>
          {wrappedParts(sample.body).map(({ expression, value }) => (
            <>
              <p>
                Unwrapped by <code>{expression}</code>:
              </p>
              <pre tabindex={0} aria-label={expression}>{JSON.stringify(value, null, 2)}</pre>
            </>
          ))}
        </details>
      )}
    </>
  );
}

function Verdict(
  { view, verdict, outcome, ...rest }: TriedDelivery & { view: View },
): Html {
  const [tone, label] = WORDS[verdict];
  const { delivery_id, reason, found, expected, position } = rest;
  return (
    <>
      <span class="verdict">
        <Badge tone={tone} label={label} />
      </span>
      <span class="dim">
        {delivery_id === undefined ? "the sample" : (
          <>
            <TriedOn view={view} {...rest} />, {outcome}
          </>
        )}
      </span>
      {verdict === "passed" ? null : (
        <span class="why">
          {verdict === "failed" && found !== undefined
            ? <code>{found}</code>
            : reason?.replace(/^Payload filter (failed: )?/, "")}
          {position === undefined ? null : <>, line {position.line}, column {position.column}</>}
          {verdict === "error" && expected !== undefined
            ? (
              <>
                : <code>{expected}</code>
              </>
            )
            : null}
        </span>
      )}
    </>
  );
}
