/** `/`: what needs attention, and the triggers with their last 24 hours. */
import type { Cause } from "../../../attention/cause.ts";
import type { Activity } from "../../api/activity.ts";
import type { BackupStatus } from "../../api/backups.ts";
import type { ServiceState } from "../../api/service.ts";
import type { ShownTrigger } from "../../api/triggers.ts";
import { ApiCallError, type ListPage, search } from "../client.ts";
import { Failures, isOfTrigger, SettingNotes } from "../components/attention.tsx";
import { Bars, type Totals, totalsOf } from "../components/bars.tsx";
import { Page } from "../components/page.tsx";
import { Badge } from "../components/states.tsx";
import { More, Row, Table } from "../components/table.tsx";
import { Time } from "../components/values.tsx";
import { type Html, route, type View } from "../route.ts";
import { NoTrigger } from "./triggers.tsx";

const TRIGGERS = 50;
const REFRESH_S = 10;
/** The causes that are looked for, and the failures that are shown. */
const CAUSES = 200;
const FAILURES = 20;

/** A trigger with its last 24 hours. */
interface ActiveTrigger {
  trigger: ShownTrigger;
  activity: Activity;
  totals: Totals;
}

async function OverviewPage({ view }: { view: View }): Promise<Html> {
  const cursor = view.query.get("cursor") ?? undefined;
  const [page, service, causes] = await Promise.all([
    view.api.list<ShownTrigger>("triggers/", { limit: TRIGGERS, cursor, activity: "true" }),
    serviceState(view),
    view.api.ifKnown(view.api.list<Cause>("attention/", { limit: CAUSES })),
  ]);
  const triggers = page.results.map(activeTrigger);
  const isWhole = cursor === undefined && page.cursor === undefined;
  if (triggers.length === 0 && isWhole) return FirstPage({ view, causes });
  return (
    <Page view={view} title="Overview" nav="Overview">
      <h1>Overview</h1>
      <div id="overview" data-refresh={REFRESH_S}>
        {causes === undefined ? null : <Attention view={view} causes={causes} />}
        {service === undefined ? null : <UnderWay service={service} />}
        {service?.backup === undefined ? null : <LastBackup view={view} backup={service.backup} />}
        <h2>Triggers</h2>
        <Triggers view={view} triggers={triggers} />
      </div>
      {page.cursor === undefined
        ? null
        : <More href={search({ cursor: page.cursor })} label="More triggers" />}
    </Page>
  );
}

function FirstPage({ view, causes }: { view: View; causes?: ListPage<Cause> | undefined }): Html {
  return (
    <Page view={view} title="Overview" nav="Overview">
      <h1>Welcome</h1>
      <SettingNotes causes={causes?.results ?? []} />
      <NoTrigger view={view}>
        <p>
          Or write it into <code>hooklaunch.yaml</code>, and apply it:
        </p>
        <pre tabindex={0}><code>hooklaunch apply hooklaunch.yaml</code></pre>
        <p>
          <a href="docs/getting_started">Getting started</a> has the whole way, with an example.
        </p>
      </NoTrigger>
    </Page>
  );
}

/** Reads the state of the service; undefined for a token that is limited to some triggers or projects. */
async function serviceState(view: View): Promise<ServiceState | undefined> {
  try {
    return await view.api.ifKnown(view.api.get<ServiceState>("service/"));
  } catch (error) {
    if (error instanceof ApiCallError && error.status === 403) return undefined;
    throw error;
  }
}

function activeTrigger(trigger: ShownTrigger): ActiveTrigger {
  const { activity = { hours: [] } } = trigger;
  return { trigger, activity, totals: totalsOf(activity.hours) };
}

/** Shows the failures, and one line on the warnings of set-ups. */
function Attention({ view, causes }: { view: View; causes: ListPage<Cause> }): Html {
  const { results, cursor } = causes;
  const failures = results.filter(({ group }) => group === "failure");
  const hidden = failures.length - FAILURES;
  const warnings = results.filter(isOfTrigger).length;
  const count = warnings === 1 ? "1 warning" : `${warnings} warnings`;
  return (
    <>
      {failures.length === 0
        ? <p class="notice ok">Nothing needs attention.</p>
        : <Failures view={view} title="Needs attention" causes={failures.slice(0, FAILURES)} />}
      <SettingNotes causes={results} />
      {hidden <= 0 && cursor === undefined ? null : (
        <p>
          <a href="attention">{hidden > 0 ? `${hidden} more` : "More causes"}</a>
        </p>
      )}
      {warnings === 0 ? null : (
        <p class="dim">
          <a href="attention#setups">{count}</a> about how triggers are set up
        </p>
      )}
    </>
  );
}

function UnderWay({ service: { executions, backlog } }: { service: ServiceState }): Html {
  const { running, waiting } = executions;
  if (running + waiting + backlog === 0) return <p class="dim">No work is under way.</p>;
  const runs = backlog === 1 ? "1 run has" : `${backlog} runs have`;
  return (
    <p>
      <a href="executions?status=started">{running} running</a>,{" "}
      <a href="executions?status=queued">{waiting} waiting</a>
      {backlog === 0 ? "." : `; ${runs} work before them.`}
    </p>
  );
}

function LastBackup({ view, backup: { last, proof } }: { view: View; backup: BackupStatus }): Html {
  const href = "docs/operating#backups";
  if (last === undefined) {
    return (
      <p class="dim">
        There is no <a href={href}>backup</a> yet.
      </p>
    );
  }
  return (
    <p class="dim">
      Last <a href={href}>backup</a>: <Time at={last.made_at} now_ms={view.now_ms} />.{" "}
      {proof === undefined ? "None was restored and checked yet." : (
        <>
          Last restored and checked: <Time at={proof.proven_at} now_ms={view.now_ms} />.
        </>
      )}
    </p>
  );
}

function Triggers({ view, triggers }: { view: View; triggers: readonly ActiveTrigger[] }): Html {
  return (
    <Table
      label="Triggers"
      columns={["Trigger", "Project", "Last 24 hours", "Accepted", "Refused", "Last delivery"]}
    >
      {triggers.map(({ trigger, activity, totals }) => (
        <Row id={trigger.id}>
          <td>
            <a href={`triggers/${trigger.id}`}>{trigger.name}</a>
            {trigger.enabled ? null : <Badge tone="quiet" label="disabled" />}
          </td>
          <td>{trigger.project}</td>
          <td>
            <Bars hours={activity.hours} />
          </td>
          <td>{totals.accepted}</td>
          <td>{totals.refused === 0 ? "0" : <span class="bad">{totals.refused}</span>}</td>
          <td>
            {activity.last_delivery_at === undefined
              ? <span class="dim">–</span>
              : (
                <a href={`deliveries${search({ trigger: trigger.name })}`}>
                  <Time at={activity.last_delivery_at} now_ms={view.now_ms} />
                </a>
              )}
          </td>
        </Row>
      ))}
    </Table>
  );
}

/** The route of the overview. */
export const overviewRoutes = [
  route({ path: "/", show: ({ view }) => OverviewPage({ view }) }),
];
