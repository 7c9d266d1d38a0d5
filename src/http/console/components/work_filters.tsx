/** The filters of lists of executions and of pipelines. */
import type { ApiCallError } from "../client.ts";
import type { Html } from "../route.ts";
import { describedBy } from "./form.tsx";
import { QueryField, QueryPart, QueryProblems } from "./query_field.tsx";

/** The filters that have a field. */
const FIELDS = ["project", "status", "trigger"] as const;
const NAMES = [...FIELDS, "pipeline", "dead"] as const;

export type WorkFilterValues = Readonly<Partial<Record<typeof NAMES[number], string>>>;

/** Reads the filters of the address. */
export function workFilters(query: URLSearchParams): WorkFilterValues {
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

export function WorkFilters({ address, filters, statuses, refused }: WorkFiltersProps): Html {
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
