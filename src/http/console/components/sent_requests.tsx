/** The HTTP requests that the actions of a run have sent, and what came back. */
import type { ShownHttpRequest } from "../../api/http_requests.ts";
import type { Html, View } from "../route.ts";
import { Action } from "./form.tsx";
import { may } from "./page.tsx";
import { bodyText } from "./request.tsx";
import { Badge, State } from "./states.tsx";
import { durationText, Size, Time } from "./values.tsx";

/** The statuses of requests that can be stopped. */
const OPEN = ["sending", "waiting"];

export function SentRequests({ sent, deliveryId, view }: {
  sent: readonly ShownHttpRequest[];
  deliveryId: string;
  view: View;
}): Html | null {
  if (sent.length === 0) return null;
  return (
    <section aria-labelledby="sent-title">
      <h2 id="sent-title">Sent</h2>
      {sent.map((request) => (
        <div class="panel">
          <div class="title">
            <h3>
              <code>{request.method} {request.url}</code>
            </h3>
            <State state={request.status} />
            {OPEN.includes(request.status) && may(view, "operate")
              ? (
                <Action view={view} to={`deliveries/${deliveryId}/stop/${request.id}`} class="end">
                  Stop
                </Action>
              )
              : null}
          </div>
          {request.reason === undefined ? null : <p class="bad">{request.reason}</p>}
          <p class="dim">
            {request.attempts === 1 ? "1 attempt" : `${request.attempts} attempts`}
            {request.next_at === undefined ? null : (
              <>
                , next <Time at={request.next_at} now_ms={view.now_ms} />
              </>
            )}
            {request.status !== "waiting" || request.until === undefined ? null : (
              <>
                , waits for a {request.wait} until <Time at={request.until} now_ms={view.now_ms} />
              </>
            )}
          </p>
          <Came title="Answer" came={request.answer} view={view} />
          <Came
            title={request.wait === "poll" ? "Last poll" : "Callback"}
            came={request.result}
            view={view}
          />
        </div>
      ))}
    </section>
  );
}

function Came({ title, came, view }: {
  title: string;
  came: ShownHttpRequest["answer"];
  view: View;
}): Html | null {
  if (came === undefined) return null;
  const { status, received_at, duration_ms, size, cut, body } = came;
  const text = bodyText(body);
  return (
    <>
      <p>
        <strong>{title}</strong> {status === undefined
          ? null
          : <Badge tone={status < 300 ? "ok" : "bad"} label={String(status)} />}{" "}
        <Time at={received_at} now_ms={view.now_ms} />
        {duration_ms === undefined ? "" : ` after ${durationText(duration_ms)}`},{" "}
        <Size bytes={size} />
        {cut ? " (cut)" : ""}
      </p>
      {size === 0
        ? null
        : text === undefined
        ? <p class="dim">It is no text.</p>
        : <pre tabindex={0} aria-label={title}>{text}</pre>}
    </>
  );
}
