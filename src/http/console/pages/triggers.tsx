/** `/triggers`: all triggers, by pages. */
import type { Child } from "@hono/hono/jsx";
import type { Cause } from "../../../attention/cause.ts";
import type { ShownTrigger } from "../../api/triggers.ts";
import { ApiCallError, type ListPage, orRefused, search } from "../client.ts";
import { describedBy } from "../components/form.tsx";
import { may, Page } from "../components/page.tsx";
import { QueryField, QueryProblems } from "../components/query_field.tsx";
import { Badge } from "../components/states.tsx";
import { Empty, More, Row, Table } from "../components/table.tsx";
import { Time } from "../components/values.tsx";
import {
  type Html,
  route,
  type Shown,
  type Submission,
  type Submitted,
  type View,
  type Visit,
} from "../route.ts";
import { pageOf, presetOf } from "../triggers.ts";

/** The dismissed warnings that are left out of the counts. */
const DISMISSED = 200;

async function show({ view }: Visit): Promise<Shown> {
  const cursor = view.query.get("cursor") ?? undefined;
  const name = view.query.get("name") || undefined;
  const [found, dismissed] = await Promise.all([
    orRefused(view.api.list<ShownTrigger>("triggers/", { cursor, name })),
    view.api.ifKnown(
      view.api.list<Cause>("attention/", { dismissed: "true", limit: DISMISSED }),
    ),
  ]);
  const refused = found instanceof ApiCallError ? found : undefined;
  const page = (
    <Page view={view} title="Triggers" nav="Triggers">
      <div class="title">
        <h1>Triggers</h1>
        {may(view, "admin")
          ? (
            <div class="end">
              <a class="button primary" href="triggers/new">New trigger</a>
            </div>
          )
          : null}
      </div>
      <QueryProblems refused={refused} fields={["name"]} />
      <form class="filters" action="triggers" role="search" aria-label="Triggers">
        <QueryField label="Whole name" name="name" refused={refused}>
          <input
            id="f-name"
            type="search"
            name="name"
            value={name}
            data-hotkey="/"
            aria-describedby={describedBy("f-name")}
          />
        </QueryField>
        <button>Find</button>
        {name === undefined ? null : <a href="triggers">Clear</a>}
      </form>
      {found instanceof ApiCallError
        ? null
        : <Found view={view} name={name} page={found} dismissed={dismissed?.results ?? []} />}
    </Page>
  );
  return refused === undefined ? page : { page, status: refused.status };
}

interface FoundProps {
  view: View;
  name: string | undefined;
  page: ListPage<ShownTrigger>;
  dismissed: readonly Cause[];
}

function Found({ view, name, page: { results, cursor: next }, dismissed }: FoundProps): Html {
  return (
    <>
      {results.length === 0 ? <None view={view} name={name} /> : (
        <Table
          label="Triggers"
          columns={["Name", "State", "Project", "Senders", "Launches", "Saved"]}
        >
          {results.map((trigger) => (
            <Row id={trigger.id}>
              <td>
                <a href={pageOf(trigger)}>{trigger.name}</a>
              </td>
              <td>
                <Health trigger={trigger} warnings={openWarnings(trigger, dismissed)} />
              </td>
              <td>{trigger.project}</td>
              <td>
                {trigger.conditions.flatMap((each) => presetOf(each)?.title ?? []).join(", ")}
              </td>
              <td class="wide">{launches(trigger)}</td>
              <td>
                <Time at={trigger.updated_at} now_ms={view.now_ms} />
              </td>
            </Row>
          ))}
        </Table>
      )}
      {next === undefined
        ? null
        : <More href={`triggers${search({ cursor: next })}`} label="More" />}
    </>
  );
}

/** Counts the warnings of a trigger that were not dismissed. */
function openWarnings({ id, warnings }: ShownTrigger, dismissed: readonly Cause[]): number {
  return warnings.length - placesIn(dismissed.filter(({ subject }) => subject.id === id));
}

/** Counts the places that warnings are about. */
export function placesIn(causes: readonly Cause[]): number {
  return causes.reduce((sum, { pointers = [] }) => sum + pointers.length, 0);
}

/**
 * The state of a trigger in a word or two.
 *
 * @param warnings the number of those that were not dismissed
 */
export function Health(
  { trigger: { enabled }, warnings }: { trigger: ShownTrigger; warnings: number },
): Html {
  if (!enabled) return <Badge tone="quiet" label="disabled" />;
  if (warnings === 0) return <Badge tone="ok" label="enabled" />;
  const label = warnings === 1 ? "1 warning" : `${warnings} warnings`;
  return <Badge tone="waiting" label={label} />;
}

/** Names what a trigger launches. */
function launches({ actions }: ShownTrigger): string {
  return actions.map((action) =>
    "step" in action ? action.step : "pipeline" in action ? action.pipeline : action.type
  ).join(", ");
}

function None({ view, name }: Pick<FoundProps, "view" | "name">): Html {
  if (name !== undefined) {
    return (
      <Empty title={`There is no trigger "${name}"`}>
        <p>
          Only a trigger with exactly this name is found. <a href="triggers">Show all triggers</a>
        </p>
      </Empty>
    );
  }
  return <NoTrigger view={view} />;
}

/** The text in place of triggers where there are none. */
export function NoTrigger({ view, children }: { view: View; children?: Child }): Html {
  return (
    <Empty title="There is no trigger yet">
      <p>A trigger has a URL for webhooks, and launches your steps for each that it accepts.</p>
      {may(view, "admin")
        ? (
          <p>
            <a class="button primary" href="triggers/new">Make the first one</a>
          </p>
        )
        : null}
      {children}
    </Empty>
  );
}

async function enable({ view, params: { id }, form }: Submission<"/:id">): Promise<Submitted> {
  const enabled = form.get("enabled") === "true";
  const changed = await view.api.send<ShownTrigger>("PATCH", `triggers/${id}/`, { enabled });
  const notice = enabled ? "It takes requests again" : "It refuses all requests from now on";
  return { to: pageOf(changed), notice };
}

async function remove({ view, params: { id } }: Submission<"/:id">): Promise<Submitted> {
  await view.api.send("DELETE", `triggers/${id}/`);
  return { to: "triggers", notice: "The trigger is deleted" };
}

/** The routes of the list, and the changes that take no form. */
export const triggersRoutes = [
  route({ path: "/triggers", show }),
  route({ path: "/triggers/:id/enable", submit: enable }),
  route({ path: "/triggers/:id/delete", submit: remove }),
];
