/** `/notifications/<id>`: one notification, its causes, and sending it again. */
import {
  hasNotificationEnded,
  type Notification,
  type NotifiedCause,
} from "../../../store/records/notifications.ts";
import { search } from "../client.ts";
import { Action } from "../components/form.tsx";
import { may, Page } from "../components/page.tsx";
import { Badge, State, type Tone } from "../components/states.tsx";
import { Row, Table } from "../components/table.tsx";
import { Facts, ShortId, Time } from "../components/values.tsx";
import { type Html, route, type View } from "../route.ts";

const REFRESH_S = 2;

const TONES: Readonly<Record<NotifiedCause["state"], Tone>> = {
  began: "bad",
  continues: "bad",
  recovered: "ok",
};

async function NotificationPage({ view, id }: { view: View; id: string }): Promise<Html> {
  const notification = await view.api.get<Notification>(`notifications/${id}/`);
  const hasEnded = hasNotificationEnded(notification.status);
  return (
    <Page view={view} title="Notification" nav="Settings">
      <p class="crumbs">
        <a href="settings">Settings</a> › <a href="notifications">Notifications</a>
      </p>
      <div id="notification" data-refresh={hasEnded ? undefined : REFRESH_S}>
        <div class="title">
          <h1>{notification.title}</h1>
          <State state={notification.status} />
          {hasEnded && may(view, "operate")
            ? (
              <div class="end">
                <Action view={view} to={`notifications/${id}/resend`}>Send again</Action>
              </div>
            )
            : null}
        </div>
        <HowItGoes view={view} notification={notification} />
        <h2>Text</h2>
        <pre tabindex={0} aria-label="Text">{notification.text}</pre>
        <Causes view={view} notification={notification} />
      </div>
    </Page>
  );
}

function HowItGoes({ view, notification }: { view: View; notification: Notification }): Html {
  const { notifier, created_at, ended_at, next_at, attempts, reason, resend_of } = notification;
  const { commit } = notification;
  const timeOf = (at: string | undefined) =>
    at === undefined ? undefined : <Time at={at} now_ms={view.now_ms} />;
  return (
    <Facts
      facts={[
        ["Notifier", <a href={`notifications${search({ notifier })}`}>{notifier}</a>],
        ["Commit", commit && `${commit.repository} at ${commit.sha}`],
        ["Status", commit && `${commit.context}: ${commit.state}`],
        ["Run", commit && <a href={`deliveries/${commit.run_id}`}>{commit.run_id}</a>],
        ["Made", timeOf(created_at)],
        ["Ended", timeOf(ended_at)],
        ["Attempts", String(attempts)],
        ["Next attempt", timeOf(next_at)],
        ["Last failure", reason === undefined ? undefined : <span class="bad">{reason}</span>],
        [
          "Sends again",
          resend_of === undefined ? undefined : (
            <a href={`notifications/${resend_of}`}>
              <ShortId id={resend_of} />
            </a>
          ),
        ],
      ]}
    />
  );
}

function Causes(
  { view, notification: { causes, more } }: { view: View; notification: Notification },
): Html | null {
  if (causes.length === 0) return null;
  return (
    <>
      <h2>Causes</h2>
      <Table label="Causes" columns={["About", "State", "Cause", "Times", "Since"]} stacked>
        {causes.map((cause) => (
          <Row id={cause.id}>
            <td class="name">
              <a href={addressOf(cause, view)}>{cause.subject.name || cause.subject.kind}</a>
            </td>
            <td>
              <Badge tone={TONES[cause.state]} label={cause.state} />
            </td>
            <td class="wide">
              {cause.code.replaceAll("_", " ")}: {cause.text}
            </td>
            <td class="minor">{cause.count}</td>
            <td>
              <Time at={cause.since} now_ms={view.now_ms} />
            </td>
          </Row>
        ))}
      </Table>
      {more === undefined ? null : <p class="dim">and {more} more</p>}
    </>
  );
}

/** Returns the address of a cause's page relative to the console: the browser may know the service by another name. */
function addressOf({ url }: NotifiedCause, { baseUrl }: View): string {
  const own = `${baseUrl}/`;
  return url.startsWith(own) ? url.slice(own.length) : url;
}

/** The routes of a notification. */
export const notificationRoutes = [
  route({
    path: "/notifications/:id",
    show: ({ view, params: { id } }) => NotificationPage({ view, id }),
  }),
  route({
    path: "/notifications/:id/resend",
    async submit({ view, params: { id } }) {
      const again = await view.api.send<Notification>("POST", `notifications/${id}/resend/`);
      return { to: `notifications/${again.id}`, notice: "Sent again: this is the new message" };
    },
  }),
];
