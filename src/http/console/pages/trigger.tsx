/** `/triggers/<name>`: a trigger: its URL, conditions, actions, secrets, a test, and its recent deliveries. */
import type { DeliveryPage } from "../../api/deliveries.ts";
import type { ShownDelivery } from "../../api/delivery_views.ts";
import type { ShownQuota, TriggerQuotas } from "../../api/quotas.ts";
import type { SignedResult } from "../../api/try_out.ts";
import type { ShownRun } from "../../api/shown_run.ts";
import type { ShownTrigger } from "../../api/triggers.ts";
import type { TriggerSecrets } from "../../api/trigger_secrets.ts";
import { neededSettings } from "../../../triggers/needs.ts";
import { type ApiCallError, search } from "../client.ts";
import { Described, Secrets } from "../components/condition.tsx";
import { DELIVERY_COLUMNS, DeliveryRow } from "../components/delivery_row.tsx";
import { Action, Confirm, CsrfField, describedBy, Field } from "../components/form.tsx";
import { may, Page } from "../components/page.tsx";
import { occurrencesOf, Schedule } from "../components/schedule.tsx";
import { Badge } from "../components/states.tsx";
import { Table } from "../components/table.tsx";
import { TriggerOrigin } from "../components/trigger_origin.tsx";
import { Refusal } from "../components/trigger_problems.tsx";
import { Copied, Time } from "../components/values.tsx";
import { Warnings, warningsOf } from "../components/warnings.tsx";
import { type Html, route, type Submission, type Submitted, type View } from "../route.ts";
import { bodyTextOf, sampleOf } from "../samples.ts";
import { headersOf, testMessage } from "../test_request.ts";
import {
  pageOf,
  presetNameOf,
  presetOf,
  readTrigger,
  secretsOf,
  type ShownSecret,
} from "../triggers.ts";
import { Health, placesIn } from "./triggers.tsx";

const DELIVERIES = 10;
const QUOTA_REFRESH_S = 5;
const DAY_MS = 24 * 60 * 60_000;

interface TriggerProps {
  view: View;
  trigger: ShownTrigger;
}

interface PageProps {
  view: View;
  name: string;
  refused?: ApiCallError;
  /** The test that was refused. */
  form?: URLSearchParams;
}

async function TriggerPage({ view, name, refused, form }: PageProps): Promise<Html> {
  const trigger = await readTrigger(view, name);
  const { id, conditions, actions, url } = trigger;
  const [warnings, recent, { quotas }, { secrets }, coming] = await Promise.all([
    warningsOf(view, trigger),
    view.api.get<DeliveryPage>("deliveries/", { trigger: id, limit: DELIVERIES }),
    view.api.get<TriggerQuotas>(`triggers/${id}/quotas/`),
    view.api.get<TriggerSecrets>(`triggers/${id}/secrets/`),
    occurrencesOf(view, trigger),
  ]);
  return (
    <Page view={view} title={trigger.name} nav="Triggers">
      <p class="crumbs">
        <a href="triggers">Triggers</a>
      </p>
      <Head view={view} trigger={trigger} warnings={placesIn(warnings.open)} />
      {refused === undefined ? null : <Refusal trigger={trigger} refused={refused} />}
      <Warnings view={view} trigger={trigger} warnings={warnings} />
      {may(view, "operate")
        ? <div id="differences" data-load={`${pageOf(trigger)}/payloads`}></div>
        : null}
      <p>
        <Copied value={url} label="the URL" />
      </p>
      <TriggerOrigin view={view} trigger={trigger} />
      <div class="columns">
        <section>
          <h2>Conditions</h2>
          {conditions.length === 0
            ? <p class="waiting">Anybody who knows the URL can launch.</p>
            : (
              <ol>
                {conditions.map((each, place) => (
                  <li>
                    <Described settings={each} />
                    <QuotaLeft view={view} quota={quotas.find(({ index }) => index === place)} />
                  </li>
                ))}
              </ol>
            )}
          <h2>Actions</h2>
          <ol>
            {actions.map((each) => (
              <li>
                <Described settings={each} />
              </li>
            ))}
          </ol>
          <Schedule view={view} trigger={trigger} coming={coming} />
        </section>
        <section>
          <h2>Secrets</h2>
          <Secrets view={view} trigger={trigger} secrets={secrets} />
          <SetUp trigger={trigger} />
        </section>
      </div>
      {may(view, "operate") ? <TestForm view={view} trigger={trigger} form={form} /> : null}
      <h2>Recent deliveries</h2>
      <div id="recent" data-refresh={5}>
        {recent.results.length === 0
          ? <p class="dim">Nothing has arrived yet.</p>
          : (
            <Table label="Recent deliveries" columns={DELIVERY_COLUMNS} stacked>
              {recent.results.map((delivery) => <DeliveryRow delivery={delivery} view={view} />)}
            </Table>
          )}
      </div>
      <p>
        <a href={`deliveries${search({ trigger: trigger.name })}`}>All its deliveries</a>
        {may(view, "operate")
          ? (
            <>
              , <a href={`${pageOf(trigger)}/payloads`}>what its payloads have in common</a>
            </>
          )
          : null}
      </p>
    </Page>
  );
}

/** The rest of the quota of a condition that has one. */
function QuotaLeft({ view, quota }: { view: View; quota: ShownQuota | undefined }) {
  if (quota === undefined) return null;
  const { index, quota: all, left, more_at } = quota;
  return (
    <div id={`quota-${index}`} data-refresh={QUOTA_REFRESH_S}>
      {left === 0 ? <Badge tone="bad" label={`0 of ${all} left`} /> : `${left} of ${all} left`}
      {more_at === undefined ? null : (
        <>
          , more <Time at={more_at} now_ms={view.now_ms} />
        </>
      )}
    </div>
  );
}

function Head({ view, trigger, warnings }: TriggerProps & { warnings: number }): Html {
  const { id, name, enabled } = trigger;
  return (
    <div class="title">
      <h1>{name}</h1>
      <Health trigger={trigger} warnings={warnings} />
      {may(view, "admin")
        ? (
          <div class="end">
            <Action view={view} to={`triggers/${id}/enable`} fields={{ enabled: String(!enabled) }}>
              {enabled ? "Disable" : "Enable"}
            </Action>
            <a class="button" href={`${pageOf(trigger)}/edit`}>Edit</a>
            <Confirm
              view={view}
              to={`triggers/${id}/delete`}
              consequence={`Delete ${name} and its URL`}
            >
              Delete
            </Confirm>
          </div>
        )
        : null}
    </div>
  );
}

/** The steps at the provider. */
function SetUp({ trigger }: { trigger: ShownTrigger }): Html {
  const preset = trigger.conditions.map((each) => presetOf(each)).find((each) =>
    each !== undefined
  );
  const hasSecret = trigger.conditions.some((each) => secretsOf(each).length > 0);
  return (
    <>
      <h2>Set it up{preset === undefined ? "" : ` at ${preset.title}`}</h2>
      <ol>
        <li>
          Add a webhook with the URL above. Its method is POST, its content type application/json.
        </li>
        {hasSecret ? <li>Give it the same secret as here.</li> : null}
        {preset?.note === undefined ? null : <li>{preset.note}.</li>}
        <li>Choose its events, and save. Its first delivery shows below.</li>
      </ol>
      <p>
        <a href="docs/providers">Step by step</a>
        {preset === undefined ? null : (
          <>
            , <a href={preset.source} rel="noreferrer">{preset.title}'s page</a>
          </>
        )}
      </p>
    </>
  );
}

function TestForm(
  { view, trigger, form }: TriggerProps & { form: URLSearchParams | undefined },
): Html {
  const { id } = trigger;
  const sample = sampleOf(presetNameOf(trigger));
  const headers = Object.entries(sample.headers).map((line) => line.join(": ")).join("\n");
  return (
    <details open={form !== undefined}>
      <summary class="button">Send a test</summary>
      <form method="post" action={`triggers/${id}/test`} class="panel">
        <CsrfField view={view} />
        <Field
          label="Body"
          id="body"
          hint="It is signed as the sender would, and launches the actions"
        >
          <textarea id="body" name="body" rows={10} aria-describedby={describedBy("body")}>
            {form?.get("body") ?? bodyTextOf(sample, 2)}
          </textarea>
        </Field>
        <Field label="Headers" id="headers" hint="One a line">
          <textarea id="headers" name="headers" rows={2} aria-describedby={describedBy("headers")}>
            {form?.get("headers") ?? headers}
          </textarea>
        </Field>
        <button class="primary">Sign and send</button>
      </form>
    </details>
  );
}

async function test({ view, params: { id }, form }: Submission<"/:id">): Promise<Submitted> {
  const headers = { "content-type": "application/json", ...headersOf(form.get("headers") ?? "") };
  const body = (form.get("body") ?? "").replaceAll("\r\n", "\n");
  const signed = await view.api.send<SignedResult>("POST", `triggers/${id}/sign/`, {
    headers,
    body,
  });
  const sent = Uint8Array.fromBase64(signed.body_base64);
  const answer = await view.launch(id, {
    query: new URL(signed.url).search,
    headers: signed.headers,
    body: sent,
  });
  await answer.body?.cancel();
  const trigger = await readTrigger(view, id);
  const delivery = await deliveryOf(view, id, sent);
  const why = signed.problems.map(({ detail }) => `. ${detail}`).join("");
  return { to: pageOf(trigger), notice: testMessage(answer, delivery, why) };
}

/** Launches a trigger by one of its schedules. */
async function runSchedule({ view, params: { id }, form }: Submission<"/:id">): Promise<Submitted> {
  const run = await view.api.send<ShownRun>("POST", `triggers/${id}/schedule/run/`, {
    index: Number(form.get("index")),
  });
  return { to: `deliveries/${run.id}`, notice: "It is launched" };
}

/** Finds the delivery that a test has made. */
async function deliveryOf(
  { api, now_ms }: View,
  trigger: string,
  body: Uint8Array<ArrayBuffer>,
): Promise<ShownDelivery | undefined> {
  const from = new Date(now_ms).toISOString();
  const { results } = await api.get<DeliveryPage>("deliveries/", { trigger, from });
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", body)).toHex();
  // The body of a request that is refused by its head is not read.
  return results.find(({ sha256 }) => sha256 === digest) ??
    results.find(({ sha256 }) => sha256 === undefined);
}

/** Changes the secrets of one condition, unless the trigger has changed since the page was made. */
async function changeSecrets(
  { view, params: { id }, form }: Submission<"/:id">,
  change: (secrets: ShownSecret[], place: number) => ShownSecret[],
): Promise<Submitted> {
  const trigger = await readTrigger(view, id);
  const { conditions } = trigger;
  const index = Number(form.get("condition"));
  const changed = conditions.map((each, place) =>
    place === index
      ? { ...each, secrets: change(secretsOf(each), Number(form.get("place"))) }
      : each
  );
  const ifMatch = { "if-match": `"${Number(form.get("revision"))}"` };
  await view.api.send("PATCH", `triggers/${id}/`, { conditions: changed }, ifMatch);
  return { to: pageOf(trigger), notice: "The secrets are changed" };
}

/** Sets what the providers of a trigger need, or the secret with which one checks the URL. */
async function setNeeds({ view, params: { id }, form }: Submission<"/:id">): Promise<Submitted> {
  const trigger = await readTrigger(view, id);
  const preset = form.get("preset");
  const added = { preset, secret: form.get("secret") ?? "" };
  const patch = preset === null
    ? neededSettings(trigger) ?? {}
    : { handshakes: [...trigger.handshakes ?? [], added] };
  const ifMatch = { "if-match": `"${Number(form.get("revision"))}"` };
  const changed = await view.api.send<ShownTrigger>("PATCH", `triggers/${id}/`, patch, ifMatch);
  return { to: pageOf(changed), notice: "It answers as its provider needs it" };
}

function addSecret(sent: Submission<"/:id">): Promise<Submitted> {
  const name = sent.form.get("name")?.trim();
  const added = { value: sent.form.get("value") ?? "", ...(name ? { name } : {}) };
  return changeSecrets(sent, (secrets) => [...secrets, added]);
}

function expireSecret(sent: Submission<"/:id">): Promise<Submitted> {
  const until = new Date(sent.view.now_ms + DAY_MS).toISOString();
  return changeSecrets(
    sent,
    (secrets, place) => secrets.map((each, index) => index === place ? { ...each, until } : each),
  );
}

function again(
  { view, params: { id: name } }: Submission<"/:id">,
  refused: ApiCallError,
): Promise<Html> {
  return TriggerPage({ view, name, refused });
}

/** The routes of one trigger. */
export const triggerRoutes = [
  route({
    path: "/triggers/:name",
    show: ({ view, params: { name } }) => TriggerPage({ view, name }),
  }),
  route({
    path: "/triggers/:id/test",
    submit: test,
    again: ({ view, params: { id: name }, form }, refused) =>
      TriggerPage({ view, name, refused, form }),
  }),
  route({ path: "/triggers/:id/needs", submit: setNeeds, again }),
  route({ path: "/triggers/:id/schedule", submit: runSchedule, again }),
  route({ path: "/triggers/:id/secrets/add", submit: addSecret, again }),
  route({ path: "/triggers/:id/secrets/expire", submit: expireSecret, again }),
  route({
    path: "/triggers/:id/secrets/remove",
    submit: (sent) =>
      changeSecrets(sent, (secrets, place) => secrets.filter((_, index) => index !== place)),
    again,
  }),
];
