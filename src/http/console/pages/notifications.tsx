/** `/notifications`: the notifiers, which of them fail, and the newest notifications. */
import { type Notification, NOTIFICATION_STATUSES } from "../../../store/records/notifications.ts";
import type { ShownNotifier } from "../../api/notifiers.ts";
import { ApiCallError, type ListPage, orRefused, search } from "../client.ts";
import { Action, describedBy } from "../components/form.tsx";
import { may, Page } from "../components/page.tsx";
import { QueryField, QueryProblems } from "../components/query_field.tsx";
import { Badge, State } from "../components/states.tsx";
import { Empty, More, Row, Table } from "../components/table.tsx";
import { Lasting, Time } from "../components/values.tsx";
import { type Html, route, type Shown, type View, type Visit } from "../route.ts";

const REFRESH_S = 5;
/** The notifiers that are listed. */
const NOTIFIERS = 200;
/** The filters, which are the API's. */
const FILTERS = ["notifier", "status"] as const;

type Filters = Readonly<Partial<Record<typeof FILTERS[number], string>>>;

async function show({ view }: Visit): Promise<Shown> {
  const filters: Filters = Object.fromEntries(
    FILTERS.map((name) => [name, view.query.get(name) || undefined]),
  );
  const cursor = view.query.get("cursor") ?? undefined;
  const [{ results: notifiers }, found] = await Promise.all([
    view.api.list<ShownNotifier>("notifiers/", { limit: NOTIFIERS }),
    orRefused(view.api.list<Notification>("notifications/", { ...filters, cursor })),
  ]);
  const refused = found instanceof ApiCallError ? found : undefined;
  // Of a notifier that was removed, the messages stay.
  const hasMessages = notifiers.length > 0 || isFiltered(filters) || cursor !== undefined ||
    (!(found instanceof ApiCallError) && found.results.length > 0);
  const page = (
    <Page view={view} title="Notifications" nav="Settings">
      <p class="crumbs">
        <a href="settings">Settings</a>
      </p>
      <h1>Notifications</h1>
      <div id="notifiers" data-refresh={REFRESH_S}>
        {notifiers.length === 0 ? <NoNotifier /> : <Notifiers view={view} notifiers={notifiers} />}
      </div>
      {hasMessages
        ? (
          <>
            <h2>Messages</h2>
            <FilterForm filters={filters} refused={refused} />
          </>
        )
        : null}
      {found instanceof ApiCallError || !hasMessages
        ? null
        : <Messages view={view} filters={filters} cursor={cursor} page={found} />}
    </Page>
  );
  return refused === undefined ? page : { page, status: refused.status };
}

function NoNotifier(): Html {
  return (
    <Empty title="Nobody is told yet">
      <p>
        A notifier tells a chat, a mailbox or a server when work fails, when a sender falls silent,
        or when the service itself needs attention. Add one under <code>notifications</code>{" "}
        of the configuration file: <a href="docs/notifications">how to do that</a>.
      </p>
    </Empty>
  );
}

function Notifiers(
  { view, notifiers }: { view: View; notifiers: readonly ShownNotifier[] },
): Html {
  return (
    <Table label="Notifiers" columns={["Notifier", "To", "Tells of", "State", ""]} stacked>
      {notifiers.map((notifier) => (
        <Row id={`notifier-${notifier.name}`}>
          <td class="name">
            <a href={`notifications${search({ notifier: notifier.name })}`}>{notifier.name}</a>
          </td>
          <td>{wordOf(notifier.to.type)}</td>
          <td class="wide">
            <TellsOf notifier={notifier} />
          </td>
          <td class="wide">
            <NotifierState view={view} notifier={notifier} />
          </td>
          <td>
            {may(view, "operate")
              ? (
                <Action
                  view={view}
                  to={`notifications/notifiers/${encodeURIComponent(notifier.name)}/test`}
                  title="Send a message that tries it out"
                  label={`Test ${notifier.name}`}
                >
                  Test
                </Action>
              )
              : null}
          </td>
        </Row>
      ))}
    </Table>
  );
}

function TellsOf({ notifier: { on, triggers, projects } }: { notifier: ShownNotifier }): Html {
  const kind = triggers === undefined ? "projects" : "triggers";
  const names = triggers ?? projects ?? [];
  return (
    <>
      {on.length === 0 ? "each run, on its commit" : on.map(wordOf).join(", ")}
      {names.length === 0 ? null : (
        <>
          <br />
          <span class="dim">Only of the {kind}</span> {names.map((name, index) => (
            <>
              {index === 0 ? "" : ", "}
              <a href={`${kind}/${encodeURIComponent(name)}`}>{name}</a>
            </>
          ))}
        </>
      )}
    </>
  );
}

function NotifierState(
  { view, notifier: { failing_since, reason } }: { view: View; notifier: ShownNotifier },
): Html {
  if (failing_since === undefined) return <Badge tone="ok" label="no failure known" />;
  return (
    <>
      <Badge tone="bad" label="fails" /> <Lasting since={failing_since} now_ms={view.now_ms} />
      {reason === undefined ? null : (
        <>
          <br />
          <span class="dim">{reason}</span>
        </>
      )}
    </>
  );
}

/** Writes a code as words. */
function wordOf(code: string): string {
  return code.replaceAll("_", " ");
}

function FilterForm(
  { filters, refused }: { filters: Filters; refused: ApiCallError | undefined },
): Html {
  return (
    <>
      <QueryProblems refused={refused} fields={FILTERS} />
      <form class="filters" action="notifications" role="search" aria-label="Filters">
        <QueryField label="Notifier" name="notifier" refused={refused}>
          <input
            id="f-notifier"
            name="notifier"
            value={filters.notifier}
            data-hotkey="/"
            aria-describedby={describedBy("f-notifier")}
          />
        </QueryField>
        <QueryField label="State" name="status" refused={refused}>
          <select id="f-status" name="status" aria-describedby={describedBy("f-status")}>
            <option value="">any</option>
            {NOTIFICATION_STATUSES.map((each) => (
              <option value={each} selected={each === filters.status}>{each}</option>
            ))}
          </select>
        </QueryField>
        <button>Filter</button>
        {isFiltered(filters) ? <a href="notifications">Clear</a> : null}
      </form>
    </>
  );
}

interface MessagesProps {
  view: View;
  filters: Filters;
  cursor: string | undefined;
  page: ListPage<Notification>;
}

function Messages({ view, filters, cursor, page }: MessagesProps): Html {
  return (
    <>
      <div id="messages" data-refresh={cursor === undefined ? REFRESH_S : undefined}>
        {page.results.length === 0
          ? (
            <p class="dim">
              {isFiltered(filters) ? "None is like this." : "Nothing was told yet."}
            </p>
          )
          : <MessageTable view={view} notifications={page.results} />}
        {page.cursor === undefined
          ? null
          : <More href={`notifications${search({ ...filters, cursor: page.cursor })}`} />}
      </div>
    </>
  );
}

function MessageTable(
  { view, notifications }: { view: View; notifications: readonly Notification[] },
): Html {
  return (
    <Table label="Messages" columns={["Time", "Notifier", "State", "Message", "Attempts"]} stacked>
      {notifications.map(({ id, created_at, notifier, status, title, attempts, reason }) => (
        <Row id={id}>
          <td>
            <a href={`notifications/${id}`}>
              <Time at={created_at} now_ms={view.now_ms} />
            </a>
          </td>
          <td class="name">{notifier}</td>
          <td>
            <State state={status} />
          </td>
          <td class="wide">
            {title}
            {status === "sent" || reason === undefined ? null : (
              <>
                <br />
                <span class="dim">{reason}</span>
              </>
            )}
          </td>
          <td class="minor">{attempts}</td>
        </Row>
      ))}
    </Table>
  );
}

function isFiltered(filters: Filters): boolean {
  return FILTERS.some((name) => filters[name] !== undefined);
}

/** The route of the notifications, and that of the tests of notifiers. */
export const notificationsRoutes = [
  route({ path: "/notifications", show }),
  route({
    path: "/notifications/notifiers/:name/test",
    async submit({ view, params: { name } }) {
      const place = `notifiers/${encodeURIComponent(name)}/test/`;
      const { id } = await view.api.send<Notification>("POST", place);
      return { to: `notifications/${id}`, notice: "The test is made: below is how it goes" };
    },
  }),
];
