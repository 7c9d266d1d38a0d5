/** `/retention`: the records that the next cleanup would remove, or that another retention would. */
import type { RetentionLook } from "../../api/retention.ts";
import { ApiCallError, orRefused } from "../client.ts";
import { describedBy } from "../components/form.tsx";
import { Page } from "../components/page.tsx";
import { QueryField, QueryProblems } from "../components/query_field.tsx";
import { Row, Table } from "../components/table.tsx";
import { ShortId, Size, Time } from "../components/values.tsx";
import { type Html, route, type Shown, type View, type Visit } from "../route.ts";

/** The fields of the form: the name of each, and its label. */
const FIELDS = [
  ["trigger", "Trigger"],
  ["project", "Project"],
  ["records", "As if records were kept for"],
  ["payloads", "payloads for"],
  ["logs", "logs for"],
  ["outputs", "outputs for"],
] as const;

async function show({ view }: Visit): Promise<Shown> {
  const query = Object.fromEntries(
    FIELDS.map(([name]) => [name, view.query.get(name)?.trim() || undefined]),
  );
  const found = await orRefused(view.api.get<RetentionLook>("retention/", query));
  const refused = found instanceof ApiCallError ? found : undefined;
  const page = (
    <Page view={view} title="Retention" nav="Settings">
      <p class="crumbs">
        <a href="settings">Settings</a>
      </p>
      <h1>Retention</h1>
      <p class="dim">
        What the next cleanup removes, within the hour: nothing is removed by looking.{" "}
        <a href="docs/settings/#retention">How it is set</a>.
      </p>
      <QueryProblems refused={refused} fields={FIELDS.map(([name]) => name)} />
      <form class="filters" action="retention" role="search" aria-label="Retention">
        {FIELDS.map(([name, label]) => (
          <QueryField label={label} name={name} refused={refused}>
            <input
              id={`f-${name}`}
              name={name}
              value={query[name]}
              placeholder={name === "trigger" || name === "project" ? undefined : "7d"}
              aria-describedby={describedBy(`f-${name}`)}
            />
          </QueryField>
        ))}
        <button>Look</button>
      </form>
      {found instanceof ApiCallError ? null : <Found view={view} found={found} />}
    </Page>
  );
  return refused === undefined ? page : { page, status: refused.status };
}

function Found({ view, found: { complete, kinds } }: { view: View; found: RetentionLook }): Html {
  const records = kinds.flatMap(({ kind, records }) => records.map((each) => ({ kind, ...each })));
  if (records.length === 0) return <p class="notice ok">Nothing would be removed.</p>;
  return (
    <>
      {complete
        ? null
        : <p class="waiting">There is more than could be counted in five seconds.</p>}
      <Table label="Kinds" columns={["Kind", "Count", "Size", "Oldest"]}>
        {kinds.map(({ kind, count, bytes, oldest }) => (
          <Row id={kind}>
            <td>{nameOf(kind)}</td>
            <td>{count}</td>
            <td>
              <Size bytes={bytes} />
            </td>
            <td>
              {oldest === undefined
                ? <span class="dim">–</span>
                : <Time at={oldest} now_ms={view.now_ms} />}
            </td>
          </Row>
        ))}
      </Table>
      <h2>The oldest of each kind</h2>
      <Table label="Records" columns={["Kind", "Id", "Trigger", "Made", "Size"]} stacked>
        {records.map(({ kind, id, trigger_id, created_at, bytes }) => (
          <Row id={`${kind}-${id}`}>
            <td>{nameOf(kind)}</td>
            <td>
              <ShortId id={id} />
            </td>
            <td>
              <a href={`triggers/${trigger_id}`}>
                <ShortId id={trigger_id} />
              </a>
            </td>
            <td>
              <Time at={created_at} now_ms={view.now_ms} />
            </td>
            <td>
              <Size bytes={bytes} />
            </td>
          </Row>
        ))}
      </Table>
    </>
  );
}

function nameOf(kind: string): string {
  return kind === "http_requests" ? "HTTP requests" : kind.replaceAll("_", " ");
}

/** The route of the retention. */
export const retentionRoutes = [route({ path: "/retention", show })];
