/** `/triggers/<name>/payloads`: what the newest payloads of a trigger have in common, and which of them differ. */
import type { InferredSchema } from "../../../triggers/infer_schema.ts";
import { Page } from "../components/page.tsx";
import { Notice, Table } from "../components/table.tsx";
import { Copied, ShortId, Time } from "../components/values.tsx";
import { type Html, route, type View } from "../route.ts";
import { pageOf, readTrigger } from "../triggers.ts";

const TITLE = "Payloads";

async function PayloadsPage({ view, name }: { view: View; name: string }): Promise<Html> {
  const trigger = await readTrigger(view, name);
  const inferred = await view.api.send<InferredSchema>(
    "POST",
    `triggers/${trigger.id}/infer-schema/`,
    {},
  );
  const { requests, fields, schema } = inferred;
  return (
    <Page view={view} title={`${TITLE} of ${trigger.name}`} nav="Triggers">
      <p class="crumbs">
        <a href="triggers">Triggers</a> › <a href={pageOf(trigger)}>{trigger.name}</a>
      </p>
      <h1>Payloads</h1>
      <p class="dim">
        {requests === 0
          ? "No payload is stored that is JSON or a form."
          : `Of the ${requests} newest deliveries whose payload is stored.`}
      </p>
      <Differences view={view} inferred={inferred} />
      {fields.length === 0 ? null : (
        <>
          <h2>Fields</h2>
          <p class="dim">
            As <a href="docs/payload_filters">filters</a> and{" "}
            <a href="docs/actions#values-from-the-request">values of actions</a> read them.
          </p>
          <div id="fields">
            <Table label="Fields" columns={["Field", "Types"]}>
              {fields.map(({ expression, types }) => (
                <tr>
                  <td>
                    <code data-field>{expression}</code>
                  </td>
                  <td>{types.join(", ")}</td>
                </tr>
              ))}
            </Table>
          </div>
          <h2>Schema</h2>
          <p class="dim">
            The condition <a href="docs/conditions#json_schema">json_schema</a>{" "}
            refuses what does not match it.
          </p>
          <Copied value={JSON.stringify(schema)} label="the schema" />
          <pre tabindex={0} aria-label="Schema">{JSON.stringify(schema, null, 2)}</pre>
        </>
      )}
    </Page>
  );
}

/** The newest deliveries that differ from those before them. The page of the trigger loads it. */
function Differences({ view, inferred }: { view: View; inferred: InferredSchema }): Html {
  const { differences } = inferred;
  const first = differences.at(-1);
  return (
    <div id="differences">
      {first === undefined ? null : (
        <Notice tone="waiting">
          {differences.length === 1
            ? "A delivery differs"
            : `${differences.length} of the newest deliveries differ`} from those before, since{" "}
          <Time at={first.time} now_ms={view.now_ms} />:
          <ul>
            {differences.map(({ delivery_id, reason, expected, found }) => (
              <li>
                <a href={`deliveries/${delivery_id}`}>
                  <ShortId id={delivery_id} />
                </a>{" "}
                {reason}
                {expected === undefined ? null : (
                  <>
                    , expected <code>{expected}</code>
                  </>
                )}
                {found === undefined ? null : (
                  <>
                    , found <code>{found}</code>
                  </>
                )}
              </li>
            ))}
          </ul>
        </Notice>
      )}
    </div>
  );
}

/** The route of the page. */
export const payloadsRoutes = [
  route({
    path: "/triggers/:name/payloads",
    show: ({ view, params: { name } }) => PayloadsPage({ view, name }),
  }),
];
