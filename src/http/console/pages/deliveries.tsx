/** `/deliveries`: the requests at all launch URLs, newest first, live. */
import { DELIVERY_OUTCOMES } from "../../../store/records/deliveries.ts";
import { isLimited } from "../../api/access.ts";
import type { DeliveryPage } from "../../api/deliveries.ts";
import { ApiCallError, cursorOf, orRefused, search } from "../client.ts";
import { may, Page } from "../components/page.tsx";
import { DELIVERY_COLUMNS, DeliveryRow } from "../components/delivery_row.tsx";
import { describedBy } from "../components/form.tsx";
import { QueryField, QueryPart, QueryProblems } from "../components/query_field.tsx";
import { Empty, More, Table } from "../components/table.tsx";
import { Time } from "../components/values.tsx";
import { type Html, route, type Shown, type View, type Visit } from "../route.ts";

/** The filters, which are the API's. */
const FILTERS = [
  "trigger",
  "outcome",
  "condition",
  "from",
  "to",
  "delivery_id",
  "text",
  "dead",
] as const;
/** The filters that have a field. */
const FIELDS = ["text", "trigger", "outcome"] as const;
/** The filters that have a field or a checkbox. */
const SHOWN: ReadonlySet<string> = new Set([...FIELDS, "dead"]);
/** With a filter, the newest deliveries whose changes are told of: each look at them costs time that launches need. */
const FOLLOWED = 25;
const STREAM_PATH = "deliveries/events";

type Filters = Record<typeof FILTERS[number], string | undefined>;

async function show({ view }: Visit): Promise<Shown> {
  const filters = filtersOf(view.query);
  const cursor = view.query.get("cursor") ?? undefined;
  const found = await orRefused(
    view.api.get<DeliveryPage>("deliveries/", { ...filters, cursor }),
  );
  const page = DeliveriesPage({ view, filters, cursor, found });
  return found instanceof ApiCallError ? { page, status: found.status } : page;
}

interface DeliveriesProps {
  view: View;
  filters: Filters;
  cursor: string | undefined;
  /** The deliveries, or the refusal of the filters. */
  found: DeliveryPage | ApiCallError;
}

function DeliveriesPage({ view, filters, cursor, found }: DeliveriesProps): Html {
  const isFiltered = Object.values(filters).some((value) => value !== undefined);
  const refused = found instanceof ApiCallError ? found : undefined;
  return (
    <Page view={view} title="Deliveries" nav="Deliveries">
      <div class="title">
        <h1>Deliveries</h1>
        {may(view, "operate") && !isLimited(view.access)
          ? (
            <div class="end">
              {isFiltered && refused === undefined && canReplay(filters)
                ? <a class="button" href={`replays/new${search(filters)}`}>Replay these</a>
                : null}
              <a class="button quiet" href="replays">Replays</a>
            </div>
          )
          : null}
      </div>
      <QueryProblems refused={refused} fields={FIELDS} />
      <FilterForm filters={filters} refused={refused} />
      {found instanceof ApiCallError
        ? null
        : <Found view={view} filters={filters} cursor={cursor} page={found} />}
    </Page>
  );
}

interface FoundProps extends Omit<DeliveriesProps, "found"> {
  page: DeliveryPage;
}

function Found({ view, filters, cursor, page }: FoundProps): Html {
  const isFiltered = Object.values(filters).some((value) => value !== undefined);
  const next = cursorOf(page.next);
  const hasRows = page.results.length > 0;
  return (
    <>
      {hasRows || isFiltered || cursor !== undefined ? null : <FirstDelivery view={view} />}
      <Table
        label="Deliveries"
        columns={DELIVERY_COLUMNS}
        stacked
        live={cursor === undefined ? `${STREAM_PATH}${search(filters)}` : undefined}
      >
        {page.results.map((delivery) => <DeliveryRow delivery={delivery} view={view} />)}
      </Table>
      {hasRows || !isFiltered ? null : <NoneFound scannedTo={page.scanned_to} view={view} />}
      <div id="older">
        {next === undefined
          ? null
          : <More href={`deliveries${search({ ...filters, cursor: next })}`} />}
      </div>
    </>
  );
}

function FilterForm(
  { filters, refused }: { filters: Filters; refused: ApiCallError | undefined },
): Html {
  return (
    <form class="filters" action="deliveries" role="search" aria-label="Deliveries">
      <QueryField label="Text in an id or the body" name="text" refused={refused}>
        <input
          id="f-text"
          type="search"
          name="text"
          value={filters.text}
          data-hotkey="/"
          aria-describedby={describedBy("f-text")}
        />
      </QueryField>
      <QueryField label="Trigger" name="trigger" refused={refused}>
        <input
          id="f-trigger"
          name="trigger"
          value={filters.trigger}
          aria-describedby={describedBy("f-trigger")}
        />
      </QueryField>
      <QueryField label="Outcome" name="outcome" refused={refused}>
        <select id="f-outcome" name="outcome" aria-describedby={describedBy("f-outcome")}>
          <option value="">any</option>
          {DELIVERY_OUTCOMES.map((outcome) => (
            <option value={outcome} selected={outcome === filters.outcome}>{outcome}</option>
          ))}
        </select>
      </QueryField>
      <label>
        <input type="checkbox" name="dead" value="true" checked={filters.dead !== undefined} /> Dead
      </label>
      {Object.entries(filters).map(([name, value]) =>
        value === undefined || SHOWN.has(name) ? null : <QueryPart name={name} value={value} />
      )}
      <button>Filter</button>
      {Object.values(filters).some((value) => value !== undefined)
        ? <a href="deliveries">Clear</a>
        : null}
    </form>
  );
}

function FirstDelivery({ view }: { view: View }): Html {
  return (
    <Empty title="Nothing has arrived yet">
      <p>
        A POST to a trigger's launch URL shows here at once. Without a trigger, write one into{" "}
        <code>hooklaunch.yaml</code>, and apply it:
      </p>
      <pre><code>hooklaunch apply hooklaunch.yaml</code></pre>
      <p>
        {may(view, "admin")
          ? (
            <>
              Or <a href="triggers/new">make one here</a>.{" "}
            </>
          )
          : null}
        <a href="docs/getting_started">Getting started</a> has the whole way.
      </p>
    </Empty>
  );
}

function NoneFound({ scannedTo, view }: { scannedTo: string | undefined; view: View }): Html {
  return (
    <Empty title="No delivery matches">
      {scannedTo === undefined ? null : (
        <p>
          The search has come to <Time at={scannedTo} now_ms={view.now_ms} />: "Older" goes on.
        </p>
      )}
      <p>
        <a href="deliveries">Show all deliveries</a>
      </p>
    </Empty>
  );
}

/** Tells whether a filter finds deliveries that can be launched again. */
function canReplay({ outcome = "accepted" }: Filters): boolean {
  return ["accepted", "refused", "filtered"].includes(outcome);
}

function filtersOf(query: URLSearchParams): Filters {
  const entries = FILTERS.map((name) => [name, query.get(name) || undefined]);
  return Object.fromEntries(entries);
}

/** Streams that deliveries came: the script then loads the list again. */
async function stream({ view }: Visit, headers: Headers): Promise<Response> {
  const lastId = headers.get("last-event-id");
  const filters = filtersOf(view.query);
  const isFiltered = Object.values(filters).some((value) => value !== undefined);
  const what = isFiltered ? { ...filters, limit: FOLLOWED } : { only_changes: "true" };
  const path = `deliveries/${search({ ...what, follow: "true" })}`;
  return await view.api.answer(path, lastId === null ? {} : { "last-event-id": lastId });
}

/** The routes of the list of deliveries. */
export const deliveriesRoutes = [
  route({ path: "/deliveries", show }),
  route({ path: `/${STREAM_PATH}`, answer: stream }),
];
