/** `/attention`: failures, the warnings of all set-ups, and those that were dismissed. */
import type { Cause } from "../../../attention/cause.ts";
import { isLimited } from "../../api/access.ts";
import { ApiCallError, type ListPage, search } from "../client.ts";
import {
  Dismiss,
  Dismissed,
  Failures,
  isOfTrigger,
  type RefusedDismissal,
  SettingNotes,
} from "../components/attention.tsx";
import { Page } from "../components/page.tsx";
import { placeText } from "../components/trigger_problems.tsx";
import { More, Row, Table } from "../components/table.tsx";
import {
  type Html,
  route,
  type Submission,
  type Submitted,
  type View,
  type Visit,
} from "../route.ts";

const LISTED = 200;
const REFRESH_S = 10;

interface PageProps {
  view: View;
  refused?: RefusedDismissal;
}

async function AttentionPage({ view, refused }: PageProps): Promise<Html> {
  const cursor = view.query.get("cursor") ?? undefined;
  const past = view.query.get("dismissed") ?? undefined;
  const [found, dismissed] = await Promise.all([
    view.api.list<Cause>("attention/", { limit: LISTED, cursor }),
    view.api.list<Cause>("attention/", { limit: LISTED, dismissed: "true", cursor: past }),
  ]);
  const failures = found.results.filter(({ group }) => group === "failure");
  const warnings = found.results.filter(isOfTrigger);
  return (
    <Page view={view} title="Attention" nav="Overview">
      <p class="crumbs">
        <a href="">Overview</a>
      </p>
      <h1>Attention</h1>
      {isLimited(view.access) ? null : (
        <p class="dim">
          Who is told of failures: <a href="notifications">notifications</a>.
        </p>
      )}
      <div id="failing" data-refresh={REFRESH_S}>
        {failures.length === 0
          ? <p class="notice ok">Nothing fails.</p>
          : <Failures view={view} title="Failures" causes={failures} />}
        <SettingNotes causes={found.results} />
      </div>
      <h2 id="setups">How triggers are set up</h2>
      {warnings.length === 0
        ? <p class="dim">There are no warnings.</p>
        : <Setups view={view} warnings={warnings} refused={refused} />}
      {found.cursor === undefined
        ? null
        : <More href={`attention${search({ cursor: found.cursor })}`} label="More triggers" />}
      <Past view={view} dismissed={dismissed} />
    </Page>
  );
}

interface SetupsProps {
  view: View;
  warnings: readonly Cause[];
  refused: RefusedDismissal | undefined;
}

function Setups({ view, warnings, refused }: SetupsProps): Html {
  return (
    <>
      <p class="dim">
        These triggers launch all the same. Change the trigger, or dismiss what is meant to be so: a
        warning comes back when what it says changes.
      </p>
      <Warnings
        label="Warnings"
        last=""
        causes={warnings}
        endOf={(cause) => <Dismiss view={view} cause={cause} refused={refused} from="attention" />}
      />
    </>
  );
}

function Past({ view, dismissed }: { view: View; dismissed: ListPage<Cause> }): Html | null {
  const { results, cursor } = dismissed;
  if (results.length === 0 && cursor === undefined) return null;
  return (
    <>
      <h2 id="dismissed">Dismissed</h2>
      <Warnings
        label="Dismissed warnings"
        last="Why"
        causes={results}
        endOf={(cause) => <Dismissed view={view} cause={cause} from="attention" />}
      />
      {cursor === undefined
        ? null
        : <More href={`attention${search({ dismissed: cursor })}#dismissed`} label="More" />}
    </>
  );
}

interface WarningsProps {
  label: string;
  /** The title of the last column. */
  last: string;
  causes: readonly Cause[];
  /** Makes the last column of a warning. */
  endOf(cause: Cause): Html;
}

function Warnings({ label, last, causes, endOf }: WarningsProps): Html {
  return (
    <Table label={label} columns={["Trigger", "Warning", last]} stacked>
      {causes.map((cause) => (
        <Row id={cause.id}>
          <td class="name">
            <a href={`triggers/${cause.subject.id}`}>{cause.subject.name}</a>
          </td>
          <td class="wide">
            {cause.text}
            <br />
            <span class="dim">
              {(cause.pointers ?? []).map((pointer) => placeText(pointer)).join("; ")}
            </span>
          </td>
          <td class="wide">{endOf(cause)}</td>
        </Row>
      ))}
    </Table>
  );
}

/** Returns the address of the page that a form was on. */
function backTo({ params, form }: Submission<"/:trigger">): string {
  return form.get("from") === "trigger" ? `triggers/${params.trigger}` : "attention#setups";
}

function placeOf({ trigger, warning }: { trigger: string; warning: string }): string {
  return `triggers/${encodeURIComponent(trigger)}/warnings/${
    encodeURIComponent(warning)
  }/dismissal/`;
}

async function dismiss(sent: Submission<"/:trigger/:warning">): Promise<Submitted> {
  const { view, params, form } = sent;
  const reason = form.get("reason") ?? "";
  try {
    await view.api.send("PUT", placeOf(params), { reason });
    return { to: backTo(sent), notice: "The warning is dismissed. It is listed under Attention" };
  } catch (error) {
    if (!(error instanceof ApiCallError) || error.problems.length === 0) throw error;
    const [{ detail: problem } = { detail: error.message }] = error.problems;
    const refused = { warning: params.warning, reason, problem };
    return { page: await AttentionPage({ view, refused }), status: error.status };
  }
}

/** The routes of what needs attention. */
export const attentionRoutes = [
  route({ path: "/attention", show: ({ view }: Visit) => AttentionPage({ view }) }),
  route({ path: "/attention/:trigger/:warning/dismiss", submit: dismiss }),
  route({
    path: "/attention/:trigger/:warning/restore",
    async submit(sent) {
      await sent.view.api.send("DELETE", placeOf(sent.params));
      return { to: backTo(sent), notice: "The warning is back" };
    },
  }),
];
