/** `/triggers/<name>/edit`: the settings of a trigger. A second editor sees what the first has changed. */
import type { Problem } from "../../../platform/errors.ts";
import { requireScope } from "../../api/access.ts";
import type { ShownTrigger } from "../../api/triggers.ts";
import { ApiCallError } from "../client.ts";
import { type ActionTries, actionTriesOf } from "../action_tries.ts";
import { ActionTriesPanel } from "../components/action_tries.tsx";
import { FilterField } from "../components/filter_field.tsx";
import { CsrfField, describedBy, Field, Input } from "../components/form.tsx";
import { Page } from "../components/page.tsx";
import { Notice } from "../components/table.tsx";
import {
  filterFieldsOf,
  JSON_FIELDS,
  PACE_FIELDS,
  patchOf,
  problemsByField,
  TEXT_FIELDS,
  textsOf,
} from "../edit_trigger.ts";
import { type Tries, triesOf, TRY } from "../filter_tries.ts";
import { type Html, route, type Submission, type Submitted, type View } from "../route.ts";
import { pageOf, presetNameOf, readTrigger } from "../triggers.ts";

const CHANGED = 412;
const HINTS: Readonly<Record<string, string>> = { ...TEXT_FIELDS, ...JSON_FIELDS };
const isNoPace = (field: string) => !PACE_FIELDS.has(field);

interface EditProps {
  view: View;
  trigger: ShownTrigger;
  /** The form that was refused, or whose filter was tried. */
  form?: URLSearchParams;
  refused?: ApiCallError;
  /** The verdicts of the filter that was tried, by the name of its field. */
  tries?: Readonly<Record<string, Tries>>;
  /** The work of the actions that were tried. */
  actionTries?: ActionTries;
}

function EditPage(
  { view, trigger, form, refused, tries = {}, actionTries }: EditProps,
): Html {
  const texts = form === undefined ? textsOf(trigger) : new Map(form);
  const isConflict = refused?.status === CHANGED;
  const problems = problemsByField(
    isConflict ? [] : refused?.problems ?? [],
    form ?? new URLSearchParams(),
  );
  const filters = filterFieldsOf(texts);
  const known = [...Object.keys(TEXT_FIELDS), ...filters, ...Object.keys(JSON_FIELDS)];
  const others = [...problems].flatMap(([field, each]) => known.includes(field) ? [] : each);
  const revision = (isConflict ? undefined : form?.get("revision")) ?? trigger.revision;
  const fields = `${pageOf(trigger)}/payloads`;
  const isSaid = problems.size > 0 && others.length === 0;
  const common = { view, fields, actionTries };
  const input = (name: string) => (
    <Setting
      name={name}
      text={texts.get(name) ?? ""}
      problems={problems.get(name) ?? []}
      {...common}
    />
  );
  return (
    <Page view={view} title={`Edit ${trigger.name}`} nav="Triggers">
      <p class="crumbs">
        <a href="triggers">Triggers</a> › <a href={pageOf(trigger)}>{trigger.name}</a>
      </p>
      <h1>Edit {trigger.name}</h1>
      {refused === undefined || isSaid
        ? null
        : isConflict
        ? <Conflict refused={refused} />
        : (
          <Notice tone="bad">
            {refused.summary}
            {others.map(({ detail }) => <div>{detail}</div>)}
          </Notice>
        )}
      <form method="post" action={`triggers/${trigger.id}/edit`} class="panel">
        {/* Enter presses the first button of a form. */}
        <button hidden>Save</button>
        <CsrfField view={view} />
        <input type="hidden" name="revision" value={revision} />
        {Object.keys(TEXT_FIELDS).filter(isNoPace).map(input)}
        {filters.map((field) => (
          <FilterField
            view={view}
            name={field}
            text={texts.get(field) ?? ""}
            problems={problems.get(field) ?? []}
            fields={fields}
            tries={tries[field]}
          />
        ))}
        {Object.keys(JSON_FIELDS).filter(isNoPace).map(input)}
        <details
          class="field"
          open={[...PACE_FIELDS].some((field) => texts.get(field) || problems.has(field))}
        >
          <summary>Pace and schedule</summary>
          {[...PACE_FIELDS].map(input)}
        </details>
        <button class="primary">{isConflict ? "Save mine" : "Save"}</button>{" "}
        <a href={pageOf(trigger)}>Cancel</a>
      </form>
      <p>
        <a href="docs/payload_filters">Filters</a>, <a href="docs/conditions">all conditions</a>,
        {" "}
        <a href="docs/actions">all actions</a>, <a href="docs/pace">pace</a>,{" "}
        <a href={fields}>fields of its deliveries</a>
      </p>
    </Page>
  );
}

interface SettingProps extends Omit<JsonFieldProps, "hint" | "children"> {
  view: View;
  actionTries: ActionTries | undefined;
}

function Setting({ view, actionTries, ...field }: SettingProps): Html {
  const { name, text, problems } = field;
  const hint = HINTS[name] ?? "";
  if (name in TEXT_FIELDS) {
    return <Input label={labelOf(name)} id={name} hint={hint} problems={problems} value={text} />;
  }
  return (
    <JsonField hint={hint} {...field}>
      {name === "actions" ? <ActionTriesPanel view={view} name={name} tries={actionTries} /> : null}
    </JsonField>
  );
}

interface JsonFieldProps {
  name: string;
  hint: string;
  text: string;
  problems: readonly Problem[];
  /** The address of the page that has the names of fields. */
  fields: string;
  /** The panel below it, which follows what is typed. */
  children: Html | null;
}

function JsonField({ name, hint, text, problems, fields, children }: JsonFieldProps): Html {
  return (
    <>
      <Field label={labelOf(name)} id={name} hint={hint} problems={problems}>
        <textarea
          id={name}
          name={name}
          rows={Math.min(24, Math.max(3, text.split("\n").length))}
          spellcheck={false}
          data-try={children === null ? undefined : `${name}-tries`}
          data-complete={fields}
          aria-describedby={describedBy(name)}
        >
          {text}
        </textarea>
      </Field>
      {children}
    </>
  );
}

/** Shows what differs between the stored trigger, which another has changed, and what was typed. */
function Conflict({ refused }: { refused: ApiCallError }): Html {
  return (
    <Notice tone="bad">
      <p>
        Somebody else saved this trigger while you edited it. What you typed is kept. "Save mine"
        replaces what is stored:
      </p>
      <ul>
        {refused.problems.map(({ pointer, detail }) => (
          <li>
            <code>{pointer}</code> {detail}
          </li>
        ))}
      </ul>
    </Notice>
  );
}

function labelOf(field: string): string {
  if (field === "conditions") return "Other conditions";
  const text = field.replaceAll("_", " ");
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

async function save(
  { view, params: { name: id }, form }: Submission<"/:name">,
): Promise<Submitted> {
  const trigger = await readTrigger(view, id);
  const tried = form.get(TRY);
  if (tried === "actions") {
    const actionTries = await actionTriesOf(view, form.get(tried) ?? "", trigger.id);
    return { page: EditPage({ view, trigger, form, actionTries }), status: 200 };
  }
  if (tried !== null) {
    const on = { triggerId: trigger.id, preset: presetNameOf(trigger) };
    const tries = { [tried]: await triesOf(view, form.get(tried) ?? "", on) };
    return { page: EditPage({ view, trigger, form, tries }), status: 200 };
  }
  try {
    const ifMatch = { "if-match": `"${Number(form.get("revision"))}"` };
    const patch = patchOf(form, trigger);
    const saved = await view.api.send<ShownTrigger>("PATCH", `triggers/${id}/`, patch, ifMatch);
    return { to: pageOf(saved), notice: "Saved. It holds from the next request on" };
  } catch (error) {
    if (!(error instanceof ApiCallError)) throw error;
    return { page: EditPage({ view, trigger, form, refused: error }), status: error.status };
  }
}

/** The route of the form. */
export const editTriggerRoutes = [
  route({
    path: "/triggers/:name/edit",
    async show({ view, params: { name } }) {
      requireScope(view.access, { method: "patch" });
      return EditPage({ view, trigger: await readTrigger(view, name) });
    },
    submit: save,
  }),
];
