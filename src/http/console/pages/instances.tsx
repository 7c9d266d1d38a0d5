/** `/instances`: the instances that share the database: which leads, when each was seen, how its clock differs. */
import { CLOCK_DIFFERENCE_MAX_MS, GONE_MS } from "../../../store/commit/instance_limits.ts";
import type { ShownInstance } from "../../api/instances.ts";
import { Page } from "../components/page.tsx";
import { Badge } from "../components/states.tsx";
import { Empty, Row, Table } from "../components/table.tsx";
import { durationText, ShortId, Time } from "../components/values.tsx";
import { type Html, route, type View, type Visit } from "../route.ts";

const REFRESH_S = 5;
const COLUMNS = ["Instance", "State", "Version", "Address", "Started", "Last seen", "Clock"];

async function show({ view }: Visit): Promise<Html> {
  const { results } = await view.api.list<ShownInstance>("instances/");
  return (
    <Page view={view} title="Instances" nav="Instances">
      <h1>Instances</h1>
      <div id="instances" data-refresh={results.length === 0 ? undefined : REFRESH_S}>
        {results.length === 0 ? <OneInstance /> : (
          <>
            <p class="dim">
              All accept launches. The one that leads also performs the work and makes changes; when
              it is silent for {GONE_MS / 1_000} s, another takes its place.
            </p>
            <Table label="Instances" columns={COLUMNS}>
              {results.toSorted((a, b) => Number(b.leads) - Number(a.leads)).map((instance) => (
                <InstanceRow view={view} instance={instance} />
              ))}
            </Table>
          </>
        )}
      </div>
    </Page>
  );
}

function OneInstance(): Html {
  return (
    <Empty title="This service is one instance">
      <p>
        Its database is a file in its data folder, which one process has. Several instances share a
        remote database, so that one can be away: <a href="docs/scale">how to set that up</a>.
      </p>
    </Empty>
  );
}

function InstanceRow({ view, instance }: { view: View; instance: ShownInstance }): Html {
  const { id, url, started_at, seconds_silent, clock_ahead_ms, version } = instance;
  const seen = new Date(view.now_ms - seconds_silent * 1_000).toISOString();
  return (
    <Row id={id}>
      <td>
        <ShortId id={id} />
      </td>
      <td>
        <InstanceState instance={instance} />
      </td>
      <td>{version ?? <span class="dim">not told</span>}</td>
      <td>{url === undefined ? <span class="dim">not told</span> : <code>{url}</code>}</td>
      <td>
        <Time at={started_at} now_ms={view.now_ms} />
      </td>
      <td>
        <Time at={seen} now_ms={view.now_ms} />
      </td>
      <td>
        <Clock ahead_ms={clock_ahead_ms} />
      </td>
    </Row>
  );
}

function InstanceState({ instance }: { instance: ShownInstance }): Html {
  const { leads, seconds_silent, obstacle, differs } = instance;
  if (seconds_silent * 1_000 >= GONE_MS) return <Badge tone="bad" label="silent" />;
  if (obstacle !== undefined) {
    return <Badge tone="bad" label={`accepts no launches: ${obstacle}`} />;
  }
  if (differs !== undefined) {
    return <Badge tone="bad" label={`differs from the leader: ${differs.join(", ")}`} />;
  }
  return leads ? <Badge tone="ok" label="leads" /> : <Badge tone="quiet" label="follows" />;
}

function Clock({ ahead_ms }: { ahead_ms: number | undefined }): Html {
  if (ahead_ms === undefined) return <span class="dim">not compared yet</span>;
  const size = durationText(Math.abs(ahead_ms));
  const difference = ahead_ms === 0 ? "the same" : `${size} ${ahead_ms > 0 ? "ahead" : "behind"}`;
  if (Math.abs(ahead_ms) <= CLOCK_DIFFERENCE_MAX_MS) return <span>{difference}</span>;
  return <Badge tone="bad" label={`${difference}: accepts no launches`} />;
}

/** The route of the instances. */
export const instancesRoutes = [route({ path: "/instances", show })];
