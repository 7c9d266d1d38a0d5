/** `/replays`: launching many deliveries again. */
import type { ReplayResult } from "../../api/replay_results.ts";
import type { DryRun, ShownReplay } from "../../api/replays.ts";
import { ApiCallError, type ListPage, search } from "../client.ts";
import { WorkStates } from "../components/delivery_row.tsx";
import { Confirm, CsrfField, Input, SecondClick } from "../components/form.tsx";
import { may, Page } from "../components/page.tsx";
import { State } from "../components/states.tsx";
import { Differences } from "../components/story.tsx";
import { Empty, More, Notice, Row, Table } from "../components/table.tsx";
import { Facts, Time } from "../components/values.tsx";
import { type Html, route, type Submission, type Submitted, type View } from "../route.ts";

/** The filters of a replay, which are the API's. */
const REPLAY_FILTERS = [
  "trigger",
  "outcome",
  "condition",
  "from",
  "to",
  "delivery_id",
  "text",
  "dead",
] as const;
/** The parameter of a whole count. Without it, a page that shows at once counts for a moment. */
const COUNT_ALL = "count_all";
const REFRESH_S = 1;
const RESULTS = 50;

async function ReplaysPage({ view }: { view: View }): Promise<Html> {
  const cursor = view.query.get("cursor") ?? undefined;
  const { results, ...page } = await view.api.list<ShownReplay>("replays/", { cursor });
  return (
    <Page view={view} title="Replays" nav="Deliveries">
      <h1>Replays</h1>
      {results.length > 0
        ? <ReplayTable view={view} replays={results} />
        : (
          <Empty title="Nothing was replayed yet">
            <p>
              Filter <a href="deliveries">the deliveries</a>, and choose "Replay these".
            </p>
          </Empty>
        )}
      {page.cursor === undefined
        ? null
        : <More href={`replays${search({ cursor: page.cursor })}`} />}
    </Page>
  );
}

function ReplayTable({ view, replays }: { view: View; replays: readonly ShownReplay[] }): Html {
  return (
    <Table label="Replays" columns={["Begun", "State", "Deliveries", "Launched", "Failed"]}>
      {replays.map(({ id, state, created_at, filter, count, launched, failed }) => (
        <Row id={id}>
          <td>
            <a href={`replays/${id}`}>
              <Time at={created_at} now_ms={view.now_ms} />
            </a>
          </td>
          <td>
            <State state={state} />
          </td>
          <td class="wide">{count} {filterText(filter)}</td>
          <td>{launched}</td>
          <td>{failed === 0 ? "0" : <span class="bad">{failed}</span>}</td>
        </Row>
      ))}
    </Table>
  );
}

interface NewReplayProps {
  view: View;
  filter: Record<string, string>;
  /** The form that was refused, and why. */
  form?: URLSearchParams;
  refused?: ApiCallError;
}

/** Counts the deliveries that a filter finds, and asks before they are launched again. */
async function NewReplayPage({ view, filter, form, refused }: NewReplayProps): Promise<Html> {
  const { count, has_more } = await view.api.send<DryRun>("POST", "replays/", {
    filter,
    dry_run: true,
    briefly: view.query.get(COUNT_ALL) === null,
  });
  const counted = count === 1 ? "1 delivery" : `${count} deliveries`;
  const deliveries = has_more ? `at least ${counted}` : counted;
  return (
    <Page view={view} title="Replay" nav="Deliveries">
      <h1>Launch {deliveries} again</h1>
      <p>
        <a href={`deliveries${search(filter)}`}>Those</a>{" "}
        {filterText({ outcome: "accepted", ...filter })}, oldest first, with each trigger's actions
        and rate limits as they are now.
      </p>
      {refused === undefined ? null : <Notice tone="bad">{refused.message}</Notice>}
      {has_more
        ? (
          <p>
            <a href={`replays/new${search({ ...filter, [COUNT_ALL]: "yes" })}`}>Count them all</a>,
            {" "}
            which may take a while.
          </p>
        )
        : null}
      {count === 0 && !has_more
        ? <p>There are none: widen the filter.</p>
        : (
          <form method="post" action="replays" class="panel">
            <CsrfField view={view} />
            {Object.entries(filter).map(([name, value]) => (
              <input type="hidden" name={`filter_${name}`} value={value} />
            ))}
            <Input
              label="Launches a second at most"
              id="rate"
              type="number"
              min="0.1"
              max="1000"
              step="any"
              value={form?.get("rate") ?? "10"}
            />
            <Input
              label="Commit"
              id="commit"
              hint="As usual when empty"
              value={form?.get("commit") ?? undefined}
            />
            <p>
              <label>
                <input
                  type="checkbox"
                  name="only_without_success"
                  checked={form?.has("only_without_success")}
                />{" "}
                Leave out those that have succeeded
              </label>
            </p>
            <SecondClick ask="Replay" consequence={`Launch ${deliveries} again`} />
          </form>
        )}
    </Page>
  );
}

async function create({ view, form }: Submission): Promise<Submitted> {
  const filter = filterOf((name) => form.get(`filter_${name}`));
  try {
    const { id } = await view.api.send<ShownReplay>("POST", "replays/", {
      filter,
      rate: Number(form.get("rate")),
      only_without_success: form.has("only_without_success"),
      ...(form.get("commit") ? { commit: form.get("commit") } : {}),
    });
    return { to: `replays/${id}` };
  } catch (error) {
    if (!(error instanceof ApiCallError)) throw error;
    return { page: await NewReplayPage({ view, filter, form, refused: error }) };
  }
}

async function ReplayPage({ view, id }: { view: View; id: string }): Promise<Html> {
  const cursor = view.query.get("cursor") ?? undefined;
  // First: where it has ended, the results are all there are, and the page is not looked at again.
  const replay = await view.api.get<ShownReplay>(`replays/${id}/`);
  const path = `replays/${id}/results/`;
  const results = await view.api.list<ReplayResult>(path, { limit: RESULTS, cursor });
  const isRunning = replay.state === "running";
  return (
    <Page view={view} title="Replay" nav="Deliveries">
      <p class="crumbs">
        <a href="deliveries">Deliveries</a> › <a href="replays">Replays</a>
      </p>
      <div id="replay" data-refresh={isRunning ? REFRESH_S : undefined}>
        <div class="title">
          <h1>Replay</h1>
          {isRunning && may(view, "operate")
            ? (
              <div class="end">
                <Confirm
                  view={view}
                  to={`replays/${id}/stop`}
                  consequence={`Leave out the last ${replay.count - replay.done}`}
                >
                  Stop
                </Confirm>
              </div>
            )
            : null}
        </div>
        <Progress replay={replay} view={view} />
        <Results results={results} />
        {results.cursor === undefined
          ? null
          : <More href={`replays/${id}${search({ cursor: results.cursor })}`} label="More" />}
      </div>
    </Page>
  );
}

function Progress({ replay, view }: { replay: ShownReplay; view: View }): Html {
  const { state, count, done, launched, skipped, failed, error, filter, commit } = replay;
  return (
    <>
      <p>
        <State state={state} />{" "}
        <progress value={done} max={count} aria-label={`${done} of ${count} done`}></progress>{" "}
        {done} of {count}
      </p>
      <Facts
        facts={[
          ["Begun", <Time at={replay.created_at} now_ms={view.now_ms} />],
          ["Deliveries", filterText(filter) || "all"],
          ["Commit", commit],
          ["Launched", String(launched)],
          ["Left out", String(skipped)],
          ["Failed", failed === 0 ? "0" : <span class="bad">{failed}: {error}</span>],
        ]}
      />
    </>
  );
}

function Results({ results: { results } }: { results: ListPage<ReplayResult> }): Html {
  return (
    <>
      <h2>Before and after</h2>
      <Table label="Before and after" columns={["Delivery", "Before", "After", "What differs"]}>
        {results.map(({ before, after, differences }) => (
          <Row id={before.id}>
            <td>
              <a href={`deliveries/${before.id}`}>{before.trigger ?? "deleted"}</a>
            </td>
            <td>
              <State state={before.outcome} /> <WorkStates {...before} />
            </td>
            <td>
              {after === undefined ? <span class="dim">not launched</span> : (
                <>
                  <a href={`deliveries/${after.id}`}>
                    <State state={after.outcome} />
                  </a>{" "}
                  <WorkStates {...after} />
                </>
              )}
            </td>
            <td class="wide">
              {after === undefined ? "" : <Differences differences={differences} />}
            </td>
          </Row>
        ))}
      </Table>
    </>
  );
}

/** Returns the filters that are set. */
function filterOf(read: (name: string) => string | null): Record<string, string> {
  const entries = REPLAY_FILTERS.map((name) => [name, read(name)]);
  return Object.fromEntries(entries.filter(([, value]) => value));
}

/** Writes a filter for people. */
function filterText(filter: Readonly<Record<string, string>>): string {
  const parts = Object.entries(filter).map(([name, value]) => `${name.replace("_", " ")} ${value}`);
  return parts.length === 0 ? "" : `with ${parts.join(", ")}`;
}

/** The routes of replays. */
export const replaysRoutes = [
  route({ path: "/replays", show: ({ view }) => ReplaysPage({ view }), submit: create }),
  route({
    path: "/replays/new",
    show: ({ view }) => NewReplayPage({ view, filter: filterOf((name) => view.query.get(name)) }),
  }),
  route({
    path: "/replays/:id",
    show: ({ view, params: { id } }) => ReplayPage({ view, id }),
  }),
  route({
    path: "/replays/:id/stop",
    async submit({ view, params: { id } }) {
      const { state } = await view.api.send<ShownReplay>("POST", `replays/${id}/stop/`);
      const notice = state === "stopped"
        ? "The replay has stopped; what it launched goes on"
        : "The replay had ended before";
      return { to: `replays/${id}`, notice };
    },
  }),
];
