/** `/triggers/new`: a trigger in under a minute: provider, secret, work. */
import { requireScope } from "../../api/access.ts";
import type { ProjectContents } from "../../api/project_contents.ts";
import type { ShownProject } from "../../api/projects.ts";
import type { ShownTrigger } from "../../api/triggers.ts";
import { ApiCallError } from "../client.ts";
import { FilterField } from "../components/filter_field.tsx";
import { CsrfField, describedBy, Field, Input } from "../components/form.tsx";
import { Page } from "../components/page.tsx";
import { Empty, Notice } from "../components/table.tsx";
import { type Tries, triesOf, TRY } from "../filter_tries.ts";
import {
  type FieldName,
  fieldOf,
  labelOf,
  problemsOfForm,
  providerOf,
  settingsOfForm,
  type Work,
  workOf,
} from "../new_trigger.ts";
import { type Html, route, type Submission, type Submitted, type View } from "../route.ts";
import { pageOf, providers } from "../triggers.ts";

/** The projects whose files are read for the form. */
const PROJECTS = 10;
const NO_SECRET = { pointer: "", detail: "Expected the secret of the provider, found nothing" };

interface FormProps {
  view: View;
  /** The form that was refused, or whose filter was tried. */
  form?: URLSearchParams;
  refused?: ApiCallError;
  /** The verdicts of the filter that was tried. */
  tries?: Tries;
}

/** The work of one project. */
interface Offer {
  project: string;
  works: { label: string; work: Work }[];
  problems: ProjectContents["problems"];
}

async function NewTriggerPage(props: FormProps): Promise<Html> {
  const { view } = props;
  const { offers, hasMore } = await offersOf(view);
  return (
    <Page view={view} title="New trigger" nav="Triggers">
      <p class="crumbs">
        <a href="triggers">Triggers</a>
      </p>
      <h1>New trigger</h1>
      {offers.length === 0
        ? (
          <Empty title="There is no project yet">
            <p>
              A project has the steps that a trigger launches. <a href="projects">Add one</a> first.
            </p>
          </Empty>
        )
        : <NewTriggerForm {...props} offers={offers} hasMore={hasMore} />}
    </Page>
  );
}

async function offersOf(view: View): Promise<{ offers: Offer[]; hasMore: boolean }> {
  const only = view.query.get("project");
  const { results: projects, cursor } = only === null
    ? await view.api.list<ShownProject>("projects/", { limit: PROJECTS })
    : { results: [{ name: only }], cursor: undefined };
  const offers = await Promise.all(projects.map(async ({ name: project }) => {
    const contents = await view.api.get<ProjectContents>(`projects/${project}/contents/`);
    return { project, works: workOf(project, contents), problems: contents.problems };
  }));
  return { offers, hasMore: cursor !== undefined };
}

function NewTriggerForm(
  { view, form, refused, tries, ...offered }: FormProps & { offers: Offer[]; hasMore: boolean },
): Html {
  const settings = form === undefined ? {} : settingsOfForm(form);
  const all = refused?.problems ?? [];
  const problemsOf = (field: FieldName) => all.filter((each) => fieldOf(each, settings) === field);
  const others = all.filter((each) => fieldOf(each, settings) === undefined);
  const typed = (name: string) => form?.get(name) ?? undefined;
  const isOn = (name: string, first: boolean) => form === undefined ? first : form.has(name);
  const isOpen = tries !== undefined ||
    (["filter", "quota", "key"] as const).some((name) => problemsOf(name).length > 0);
  return (
    <form method="post" action="triggers/new" class="panel">
      {/* Enter presses the first button of a form. */}
      <button hidden>Create the trigger</button>
      <CsrfField view={view} />
      {refused === undefined || (all.length > 0 && others.length === 0) ? null : (
        <Notice tone="bad">
          {refused.summary}
          {others.map(({ pointer, detail }) => <div>{pointer}: {detail}</div>)}
        </Notice>
      )}
      <Input
        label="Name"
        id="name"
        hint="Such as retrain-on-push"
        problems={problemsOf("name")}
        required
        autofocus
        value={typed("name")}
      />
      <Provider chosen={typed("provider")} problems={problemsOf("provider")} />
      <Input
        label="Secret"
        id="secret"
        hint="The same as at the provider. It is stored encrypted; {env:NAME} names a variable of the service"
        problems={problemsOf("secret").map((each) => typed("secret") ? each : NO_SECRET)}
        type="password"
        autocomplete="off"
        value={typed("secret")}
      />
      <p class="makes">
        <button type="button" class="quiet" data-makes="secret" hidden>Make a secret</button>
      </p>
      <WorkField {...offered} chosen={typed("work")} problems={problemsOf("work")} />
      <details open={isOpen}>
        <summary>Filter, limits, repeats</summary>
        <FilterField
          view={view}
          name="filter"
          text={typed("filter") ?? ""}
          problems={problemsOf("filter")}
          tries={tries}
        />
        <Input
          label="Launches a minute, at most"
          id="quota"
          problems={problemsOf("quota")}
          inputmode="numeric"
          value={typed("quota")}
        />
        <Choice name="ignore" isOn={isOn("ignore", false)}>
          Answer 200 to requests that the filter refuses: some providers disable URLs that answer
          400
        </Choice>
        <Choice name="deduplication" isOn={isOn("deduplication", false)}>
          Launch once for a delivery that is sent twice: the provider must send an id
        </Choice>
        <Input
          label="Launch once for each value of"
          id="key"
          hint="Where the provider sends no id: an expression such as body.event.id"
          problems={problemsOf("key")}
          value={typed("key")}
        />
        <Choice name="keep" isOn={isOn("keep", true)}>
          Keep refused requests for 24 hours, to find out why, and to launch them after all
        </Choice>
      </details>
      <p>
        <button class="primary">Create the trigger</button>
      </p>
    </form>
  );
}

function Choice(
  { name, isOn, children }: { name: string; isOn: boolean; children?: string },
): Html {
  return (
    <p>
      <label>
        <input type="checkbox" name={name} value="on" checked={isOn} /> {children}
      </label>
    </p>
  );
}

type Problems = ApiCallError["problems"];

function Provider({ chosen, problems }: { chosen: string | undefined; problems: Problems }): Html {
  return (
    <Field
      label="Who sends"
      id="provider"
      hint="Its requests are checked as it signs them"
      problems={problems}
    >
      <select id="provider" name="provider" aria-describedby={describedBy("provider")}>
        <option value="">anybody who knows the URL</option>
        {providers().map(({ id, title }) => (
          <option value={id} selected={id === (chosen ?? "hmac/github")}>{title}</option>
        ))}
      </select>
    </Field>
  );
}

interface WorkProps {
  offers: readonly Offer[];
  /** There are projects whose work is not offered. */
  hasMore: boolean;
  chosen: string | undefined;
  problems: Problems;
}

function WorkField({ offers, hasMore, chosen, problems }: WorkProps): Html {
  const unusable = offers.filter(({ works }) => works.length === 0).map((offer) =>
    `. Project ${offer.project} has no steps: ${offer.problems[0]?.detail ?? "fetch it first"}`
  );
  const more = hasMore ? ". More projects are not listed: begin at the page of the project" : "";
  const isOffered = offers.some(({ works }) =>
    works.some(({ work }) => JSON.stringify(work) === chosen)
  );
  // Without it a browser would choose the first one in its place.
  const other = chosen === undefined || isOffered ? undefined : labelOf(chosen);
  return (
    <Field
      label="What it launches"
      id="work"
      hint={`A step or a pipeline of a project${unusable.join("")}${more}`}
      problems={problems}
    >
      <select id="work" name="work" required aria-describedby={describedBy("work")}>
        {other === undefined ? null : <option value={chosen} selected>{other}</option>}
        {offers.map(({ project, works }) => (
          <optgroup label={project}>
            {works.map(({ label, work }) => {
              const value = JSON.stringify(work);
              return <option value={value} selected={value === chosen}>{label}</option>;
            })}
          </optgroup>
        ))}
      </select>
    </Field>
  );
}

async function create({ view, form }: Submission): Promise<Submitted> {
  if (form.has(TRY)) {
    const tries = await triesOf(view, form.get("filter") ?? "", providerOf(form));
    return { page: await NewTriggerPage({ view, form, tries }), status: 200 };
  }
  const problems = problemsOfForm(form);
  if (problems.length > 0) throw new ApiCallError(422, "The trigger is not made", problems);
  const made = await view.api.send<ShownTrigger>("POST", "triggers/", settingsOfForm(form));
  return { to: pageOf(made), notice: "The trigger is made. Give its URL to the sender" };
}

/** The route of the form. */
export const newTriggerRoutes = [
  route({
    path: "/triggers/new",
    show({ view }) {
      requireScope(view.access, { method: "post" });
      return NewTriggerPage({ view });
    },
    submit: create,
    again: ({ view, form }, refused) => NewTriggerPage({ view, form, refused }),
  }),
];
