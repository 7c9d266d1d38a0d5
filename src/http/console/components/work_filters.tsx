/** The filters of lists of executions and of pipelines. */
import type { Html } from "../route.ts";

const NAMES = ["project", "status", "trigger", "pipeline"] as const;

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
}

export function WorkFilters({ address, filters, statuses }: WorkFiltersProps): Html {
  const { project, status, trigger, pipeline } = filters;
  const isFiltered = Object.keys(filters).length > 0;
  return (
    <form class="filters" action={address} role="search" aria-label="Filters">
      <div>
        <label for="f-project">Project</label>
        <input id="f-project" name="project" value={project} data-hotkey="/" />
      </div>
      <div>
        <label for="f-trigger">Trigger</label>
        <input id="f-trigger" name="trigger" value={trigger} />
      </div>
      <div>
        <label for="f-status">State</label>
        <select id="f-status" name="status">
          <option value="">any</option>
          {statuses.map((each) => <option value={each} selected={each === status}>{each}</option>)}
        </select>
      </div>
      {pipeline === undefined ? null : <input type="hidden" name="pipeline" value={pipeline} />}
      <button>Filter</button>
      {isFiltered ? <a href={address}>Clear</a> : null}
    </form>
  );
}
