/** The lists of executions and of pipelines: newest first, with filters. */
import { ApiCallError, orRefused, search } from "../client.ts";
import type { NavigationEntry } from "../navigation.ts";
import type { Html, Shown, View } from "../route.ts";
import { describedBy } from "./form.tsx";
import { Page } from "./page.tsx";
import { QueryField, QueryPart, QueryProblems } from "./query_field.tsx";
import { Empty, More, Table } from "./table.tsx";

const REFRESH_S = 5;
/** The filters that have a field. */
const FIELDS = ["project", "status", "trigger"] as const;
const NAMES = [...FIELDS, "pipeline", "dead"] as const;

type WorkFilterValues = Readonly<Partial<Record<typeof NAMES[number], string>>>;

/** A list of one kind. */
interface WorkList<Item> {
  /** The address, also in the API. */
  address: string;
  title: NavigationEntry;
  /** The word for one of them. */
  noun: string;
  columns: readonly string[];
  statuses: readonly string[];
  row(item: Item, view: View): Html;
  /** Says how the first one comes about. */
  none(): Html;
  /** Explains the list. */
  note?(items: readonly Item[]): Html | null;
}

/** Makes the page of a list. */
export async function showWork<Item>(view: View, list: WorkList<Item>): Promise<Shown> {
  const { address, title, noun, columns, statuses, row, none, note } = list;
  const filters = workFilters(view.query);
  const cursor = view.query.get("cursor") ?? undefined;
  const found = await orRefused(view.api.list<Item>(`${address}/`, { ...filters, cursor }));
  const isRefused = found instanceof ApiCallError;
  const page = (
    <Page view={view} title={title} nav={title}>
      <h1>{title}</h1>
      <WorkFilters
        address={address}
        filters={filters}
        statuses={statuses}
        refused={isRefused ? found : undefined}
      />
      {isRefused
        ? null
        : (
          <div id={address} data-refresh={cursor === undefined ? REFRESH_S : undefined}>
            {found.results.length > 0
              ? (
                <Table label={title} columns={columns}>
                  {found.results.map((item) => row(item, view))}
                </Table>
              )
              : Object.keys(filters).length === 0
              ? none()
              : (
                <Empty title={`No ${noun} matches`}>
                  <p>
                    <a href={address}>Show all {address}</a>
                  </p>
                </Empty>
              )}
            {note?.(found.results) ?? null}
            {found.cursor === undefined
              ? null
              : <More href={`${address}${search({ ...filters, cursor: found.cursor })}`} />}
          </div>
        )}
    </Page>
  );
  return isRefused ? { page, status: found.status } : page;
}

/** Reads the filters of the address. */
function workFilters(query: URLSearchParams): WorkFilterValues {
  return Object.fromEntries(
    NAMES.flatMap((name) => {
      const value = query.get(name);
      return value ? [[name, value]] : [];
    }),
  );
}

interface WorkFiltersProps {
  /** The address of the list. */
  address: string;
  filters: WorkFilterValues;
  statuses: readonly string[];
  /** The refusal of the filters. */
  refused: ApiCallError | undefined;
}

function WorkFilters({ address, filters, statuses, refused }: WorkFiltersProps): Html {
  const { project, status, trigger, pipeline, dead } = filters;
  const isFiltered = Object.keys(filters).length > 0;
  return (
    <>
      <QueryProblems refused={refused} fields={FIELDS} />
      <form class="filters" action={address} role="search" aria-label="Filters">
        <QueryField label="Project" name="project" refused={refused}>
          <input
            id="f-project"
            name="project"
            value={project}
            data-hotkey="/"
            aria-describedby={describedBy("f-project")}
          />
        </QueryField>
        <QueryField label="Trigger" name="trigger" refused={refused}>
          <input
            id="f-trigger"
            name="trigger"
            value={trigger}
            aria-describedby={describedBy("f-trigger")}
          />
        </QueryField>
        <QueryField label="State" name="status" refused={refused}>
          <select id="f-status" name="status" aria-describedby={describedBy("f-status")}>
            <option value="">any</option>
            {statuses.map((each) => <option value={each} selected={each === status}>{each}
            </option>)}
          </select>
        </QueryField>
        {pipeline === undefined ? null : <QueryPart name="pipeline" value={pipeline} />}
        <label>
          <input type="checkbox" name="dead" value="true" checked={dead !== undefined} /> Dead
        </label>
        <button>Filter</button>
        {isFiltered ? <a href={address}>Clear</a> : null}
      </form>
    </>
  );
}
