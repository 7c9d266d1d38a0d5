/** `/deliveries/<id>`: one request, from its arrival to the work that came of it; the doctor, and replays. */
import type { DeliveryDetails } from "../../api/delivery_details.ts";
import type { DiagnosisResult } from "../../api/diagnose.ts";
import type { ShownRun } from "../../api/shown_run.ts";
import { ApiCallError } from "../client.ts";
import { Action, CsrfField, describedBy, Field, Input } from "../components/form.tsx";
import { WorkStates } from "../components/delivery_row.tsx";
import { may, Page } from "../components/page.tsx";
import { BODY_SHOWN_MAX, bodyText, RequestView } from "../components/request.tsx";
import { State } from "../components/states.tsx";
import { SentRequests } from "../components/sent_requests.tsx";
import { refreshOf, Story } from "../components/story.tsx";
import { Notice } from "../components/table.tsx";
import { Copied } from "../components/values.tsx";
import {
  type Html,
  route,
  type Submission,
  type Submitted,
  type View,
  type Visit,
} from "../route.ts";

/** The status of a refused request is the same for all causes; only the owner sees this page. */
const DIAGNOSED = ["refused", "filtered"];

interface DeliveryProps {
  view: View;
  id: string;
  findings?: DiagnosisResult["findings"];
  /** The refusal of a form. */
  refused?: ApiCallError;
  /** The form that was refused. */
  form?: URLSearchParams;
}

async function DeliveryPage({ view, id, findings, ...props }: DeliveryProps): Promise<Html> {
  const delivery = await view.api.get<DeliveryDetails>(`deliveries/${id}/`);
  const { outcome, trigger, trigger_id } = delivery;
  return (
    <Page view={view} title={`Delivery ${id.slice(-8)}`} nav="Deliveries">
      <p class="crumbs">
        <a href="deliveries">Deliveries</a> › {trigger === undefined
          ? "a deleted trigger"
          : <a href={`triggers/${trigger_id}`}>{trigger}</a>}
      </p>
      <div id="head" class="title" data-refresh={refreshOf(delivery)}>
        <h1>
          Delivery <code>{id.slice(-8)}</code>
        </h1>
        <State state={outcome} />
        <WorkStates {...delivery} />
        {may(view, "operate") ? <Actions view={view} delivery={delivery} /> : null}
      </div>
      {props.refused === undefined ? null : <Notice tone="bad">{props.refused.message}</Notice>}
      {findings === undefined ? null : <Findings findings={findings} />}
      {may(view, "operate") && isKept(delivery)
        ? <EditForm view={view} delivery={delivery} form={props.form} />
        : <NotKept delivery={delivery} />}
      <div class="columns">
        <Story delivery={delivery} view={view} />
        <RequestView delivery={delivery} view={view} />
      </div>
      <div id="sent" data-refresh={refreshOf(delivery)}>
        <SentRequests sent={delivery.sent ?? []} deliveryId={id} view={view} />
      </div>
      <p class="dim">
        Id <Copied value={id} label="the id" />
      </p>
    </Page>
  );
}

function Actions({ view, delivery }: { view: View; delivery: DeliveryDetails }) {
  const { id, outcome, run } = delivery;
  if (!isKept(delivery)) return null;
  const waits = run?.waiting;
  return (
    <div class="end">
      {waits === undefined || waits.for === "concurrency"
        ? null
        : <Action view={view} to={`deliveries/${id}/turn/launch`}>Launch now</Action>}
      {waits === undefined
        ? null
        : <Action view={view} to={`deliveries/${id}/turn/stop`} class="danger">Stop</Action>}
      {DIAGNOSED.includes(outcome)
        ? <Action view={view} to={`deliveries/${id}/diagnose`} class="primary">Why?</Action>
        : null}
      <Action view={view} to={`deliveries/${id}/replay`} hotkey="r">Replay</Action>
    </div>
  );
}

/** Tells whether a delivery's request is stored, so that it can be looked into and launched again. */
function isKept({ outcome, kept_until, trigger }: DeliveryDetails): boolean {
  return trigger !== undefined && (outcome === "accepted" || kept_until !== undefined);
}

function NotKept({ delivery: { outcome, kept_until, trigger } }: { delivery: DeliveryDetails }) {
  if (!DIAGNOSED.includes(outcome) || kept_until !== undefined) return null;
  return (
    <Notice tone="waiting">
      The request itself is not kept, so it can be neither looked into nor sent again. To keep the
      next ones, set <code>keep_refused: 24h</code>{" "}
      in the trigger{trigger === undefined ? "" : ` "${trigger}"`}.
    </Notice>
  );
}

function Findings({ findings }: { findings: DiagnosisResult["findings"] }): Html {
  return (
    <section class="findings" aria-labelledby="findings" role="status">
      <h2 id="findings">What the doctor says</h2>
      <ul>
        {findings.map(({ sentence, condition, certainty }) => (
          <li>
            <State state={certainty} /> {sentence} <span class="dim">({condition})</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

interface EditProps {
  view: View;
  delivery: DeliveryDetails;
  form: URLSearchParams | undefined;
}

/** The form for a replay with another body, or at another commit. */
function EditForm({ view, delivery, form }: EditProps): Html {
  const text = form?.get("body") ?? bodyText(delivery.body);
  return (
    <details class="edit" open={form !== undefined}>
      <summary>Replay with changes</summary>
      <form method="post" action={`deliveries/${delivery.id}/replay`} class="panel">
        <CsrfField view={view} />
        {text === undefined || text.length > BODY_SHOWN_MAX ? null : (
          <Field label="Body" id="body">
            <textarea id="body" name="body" rows={8} aria-describedby={describedBy("body")}>
              {text.startsWith("\n") ? `\n${text}` : text}
            </textarea>
          </Field>
        )}
        <Input
          label="Commit"
          id="commit"
          hint="A commit, branch or tag of the project; as usual when empty"
          value={form?.get("commit") ?? undefined}
        />
        <button class="primary">Replay</button>
      </form>
    </details>
  );
}

async function replay({ view, params: { id }, form }: Submission<"/:id">): Promise<Submitted> {
  const run = await view.api.send<ShownRun>("POST", `deliveries/${id}/replay/`, {
    ...await editedBody(view, id, form.get("body")),
    ...(form.get("commit") ? { commit: form.get("commit") } : {}),
  });
  return { to: `deliveries/${run.id}`, notice: "Launched again: this is the new delivery" };
}

/** Returns the body that was typed. Without a change, the stored bytes are launched: a form has other line ends. */
async function editedBody(
  view: View,
  id: string,
  typed: string | null,
): Promise<{ body?: string }> {
  if (typed === null) return {};
  const { body } = await view.api.get<DeliveryDetails>(`deliveries/${id}/`);
  const text = typed.replaceAll("\r\n", "\n");
  if (text === bodyText(body)?.replaceAll("\r\n", "\n")) return {};
  return { body: new TextEncoder().encode(text).toBase64() };
}

async function diagnose({ view, params: { id } }: Submission<"/:id">): Promise<Submitted> {
  const { trigger_id } = await view.api.get<DeliveryDetails>(`deliveries/${id}/`);
  const { findings } = await view.api.send<DiagnosisResult>(
    "POST",
    `triggers/${trigger_id}/diagnose/`,
    { delivery_id: id },
  );
  return { page: await DeliveryPage({ view, id, findings }), status: 200 };
}

async function stop(
  { view, params: { id, request } }: Submission<"/:id/:request">,
): Promise<Submitted> {
  await view.api.send("POST", `http-requests/${request}/stop/`);
  return { to: `deliveries/${id}`, notice: "The HTTP request was stopped" };
}

/** Answers with the body as a file. */
async function download({ view, params: { id } }: Visit<"/:id">): Promise<Response> {
  const { outcome, body } = await view.api.get<DeliveryDetails>(`deliveries/${id}/`);
  if (outcome === "accepted") return await view.api.answer(`runs/${id}/payload/`);
  if (body === undefined) throw new ApiCallError(404, "The body of this request is not kept", []);
  return new Response(Uint8Array.fromBase64(body), {
    headers: {
      "content-type": "application/octet-stream",
      "content-disposition": `attachment; filename="payload-${id}"`,
      "x-content-type-options": "nosniff",
      "cache-control": "no-store",
    },
  });
}

/** Launches a run that waits for its turn, or stops it. */
async function decideTurn(
  { view, params: { id } }: Submission<"/:id">,
  what: "launch" | "stop",
): Promise<Submitted> {
  await view.api.send<ShownRun>("POST", `runs/${id}/${what}/`);
  const notice = what === "stop" ? "Stopped before its turn" : "It does not wait any more";
  return { to: `deliveries/${id}`, notice };
}

function again(
  { view, params: { id }, form }: Submission<"/:id">,
  refused: ApiCallError,
): Promise<Html> {
  const typed = form.has("body") || form.has("commit") ? { form } : {};
  return DeliveryPage({ view, id, refused, ...typed });
}

/** The routes of one delivery. */
export const deliveryRoutes = [
  route({
    path: "/deliveries/:id",
    show: ({ view, params: { id } }) => DeliveryPage({ view, id }),
  }),
  route({ path: "/deliveries/:id/replay", submit: replay, again }),
  route({ path: "/deliveries/:id/diagnose", submit: diagnose, again }),
  route({
    path: "/deliveries/:id/turn/launch",
    submit: (sent) => decideTurn(sent, "launch"),
    again,
  }),
  route({ path: "/deliveries/:id/turn/stop", submit: (sent) => decideTurn(sent, "stop"), again }),
  route({ path: "/deliveries/:id/stop/:request", submit: stop, again }),
  route({ path: "/deliveries/:id/body", answer: download }),
];
