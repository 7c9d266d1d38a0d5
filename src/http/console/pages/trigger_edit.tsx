/** `/triggers/<name>/edit`: the settings of a trigger. A second editor sees what the first has changed. */
import type { ShownTrigger } from "../../api/triggers.ts";
import { ApiCallError } from "../client.ts";
import { CsrfField, describedBy, Field } from "../components/form.tsx";
import { Page } from "../components/page.tsx";
import { Notice } from "../components/table.tsx";
import { type Html, route, type Submission, type Submitted, type View } from "../route.ts";
import { readTrigger } from "../triggers.ts";

const CHANGED = 412;
/** The fields that are JSON, and their hints. */
const JSON_FIELDS = {
  conditions: "All must pass. A secret that is shown as ******** stays as it is",
  actions: "What it launches",
  response: "The answer to an accepted request; the usual one when empty",
} as const;
/** The fields that are text. An empty one is removed. */
const TEXT_FIELDS = {
  name: "Its address in the console follows it; its URL stays",
  project: "The project whose steps it runs",
  keep_refused: "The time for which refused requests are kept, such as 24h; none when empty",
} as const;

interface EditProps {
  view: View;
  name: string;
  /** The form that was refused. */
  form?: URLSearchParams;
  refused?: ApiCallError;
}

async function EditPage({ view, name, form, refused }: EditProps): Promise<Html> {
  const trigger = await readTrigger(view, name);
  const fields: Record<string, unknown> = { ...trigger };
  const all = refused?.status === CHANGED ? [] : refused?.problems ?? [];
  const problemsOf = (field: string) =>
    all.filter(({ pointer }) => pointer.split("/")[1] === field).map(({ pointer, detail }) => ({
      pointer,
      detail: pointer === `/${field}` ? detail : `${pointer}: ${detail}`,
    }));
  const known: readonly string[] = [...Object.keys(TEXT_FIELDS), ...Object.keys(JSON_FIELDS)];
  const others = all.filter(({ pointer }) => !known.includes(pointer.split("/")[1] ?? ""));
  return (
    <Page view={view} title={`Edit ${trigger.name}`} nav="Triggers">
      <p class="crumbs">
        <a href="triggers">Triggers</a> › <a href={`triggers/${trigger.name}`}>{trigger.name}</a>
      </p>
      <h1>Edit {trigger.name}</h1>
      {refused?.status === CHANGED ? <Conflict refused={refused} /> : null}
      {refused === undefined || refused.status === CHANGED ||
          (all.length > 0 && others.length === 0)
        ? null
        : (
          <Notice tone="bad">
            {refused.message}
            {others.map(({ pointer, detail }) => <div>{pointer}: {detail}</div>)}
          </Notice>
        )}
      <form method="post" action={`triggers/${trigger.id}/edit`} class="panel">
        <CsrfField view={view} />
        <input type="hidden" name="revision" value={trigger.revision} />
        {Object.entries(TEXT_FIELDS).map(([field, hint]) => (
          <Field label={labelOf(field)} id={field} hint={hint} problems={problemsOf(field)}>
            <input
              id={field}
              name={field}
              value={form?.get(field) ?? String(fields[field] ?? "")}
              aria-describedby={describedBy(field)}
            />
          </Field>
        ))}
        {Object.entries(JSON_FIELDS).map(([field, hint]) => (
          <Field label={labelOf(field)} id={field} hint={hint} problems={problemsOf(field)}>
            <textarea
              id={field}
              name={field}
              rows={rowsOf(form?.get(field) ?? jsonText(fields[field]))}
              spellcheck={false}
              aria-describedby={describedBy(field)}
            >
              {form?.get(field) ?? jsonText(fields[field])}
            </textarea>
          </Field>
        ))}
        <button class="primary">{refused?.status === CHANGED ? "Save mine" : "Save"}</button>{" "}
        <a href={`triggers/${trigger.name}`}>Cancel</a>
      </form>
      <p>
        <a href="docs/conditions">All conditions</a>, <a href="docs/actions">all actions</a>
      </p>
    </Page>
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
  const text = field.replaceAll("_", " ");
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

function jsonText(value: unknown): string {
  return value === undefined ? "" : JSON.stringify(value, null, 2);
}

function rowsOf(text: string): number {
  return Math.min(24, Math.max(3, text.split("\n").length));
}

async function save(
  { view, params: { name: id }, form }: Submission<"/:name">,
): Promise<Submitted> {
  try {
    const ifMatch = { "if-match": `"${Number(form.get("revision"))}"` };
    const patch = patchOf(form);
    const { name } = await view.api.send<ShownTrigger>("PATCH", `triggers/${id}/`, patch, ifMatch);
    return { to: `triggers/${name}`, notice: "Saved. It holds from the next request on" };
  } catch (error) {
    if (!(error instanceof ApiCallError)) throw error;
    return { page: await EditPage({ view, name: id, form, refused: error }), status: error.status };
  }
}

/** Makes a merge patch of the form: what is empty is removed. */
function patchOf(form: URLSearchParams): Record<string, unknown> {
  const texts = Object.keys(TEXT_FIELDS).map((name) => [name, form.get(name)?.trim() || null]);
  const values = Object.keys(JSON_FIELDS).map((name) => {
    const text = form.get(name)?.trim();
    return [name, text ? parsed(name, text) : null];
  });
  return Object.fromEntries([...texts, ...values]);
}

/** @throws {ApiCallError} with the field, when the text is no JSON */
function parsed(name: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const problem = { pointer: `/${name}`, detail: `Expected JSON: ${why}` };
    throw new ApiCallError(422, "The trigger is not saved", [problem]);
  }
}

/** The route of the form. */
export const editTriggerRoutes = [
  route({
    path: "/triggers/:name/edit",
    show: ({ view, params: { name } }) => EditPage({ view, name }),
    submit: save,
  }),
];
