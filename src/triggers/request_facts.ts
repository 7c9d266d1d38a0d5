/**
 * The part of a request that its owner is shown later. No credential is in it.
 *
 * @module
 */
import { hash } from "node:crypto";
import { STATUS_CODE } from "@std/http/status";
import { maskedFieldsOf } from "../conditions/masked_body.ts";
import type { LaunchRequest } from "../conditions/request.ts";
import { headerText } from "../platform/network/header_text.ts";
import { isCredentialName } from "../platform/network/credential_names.ts";
import type { LaunchFacts } from "../store/records/runs.ts";
import { recordBytes } from "../store/records/record_size.ts";
import { type RequestFacts, shownId } from "../store/records/trigger_log_entries.ts";
import type { PreparedTrigger } from "./prepare.ts";
import { formDecode, RequestCredentials, shownUrl } from "./request_credentials.ts";
import { sentStatus } from "./sent_status.ts";
import { MORE, ValueRoom } from "./value_room.ts";

/** Headers in which providers send the id of a delivery, in the order in which they are looked for. */
const DELIVERY_ID_HEADERS: readonly string[] = [
  "webhook-id",
  "svix-id",
  "x-github-delivery",
  "x-gitea-delivery",
  "x-gitlab-event-uuid",
  "x-request-uuid",
  "x-atlassian-webhook-identifier",
  "linear-delivery",
  "x-mlflow-delivery-id",
  "twitch-eventsub-message-id",
  "i-twilio-idempotency-token",
  "x-zendesk-webhook-invocation-id",
  "x-shopify-webhook-id",
  "idempotency-key",
  "request-id",
  "x-request-id",
];

/** Headers that are shown, unless the trigger's conditions read credentials there. */
const SHOWN_HEADERS = new Set([
  ...DELIVERY_ID_HEADERS,
  "accept",
  "accept-charset",
  "accept-encoding",
  "accept-language",
  "box-delivery-timestamp",
  "cache-control",
  "connection",
  "content-encoding",
  "content-length",
  "content-type",
  "date",
  "host",
  "pragma",
  "svix-timestamp",
  "transfer-encoding",
  "twitch-eventsub-message-timestamp",
  "twitch-eventsub-message-type",
  "user-agent",
  "webhook-timestamp",
  "x-event-key",
  "x-forwarded-for",
  "x-forwarded-proto",
  "x-gitea-event",
  "x-github-event",
  "x-gitlab-event",
  "x-shopify-shop-domain",
  "x-shopify-topic",
  "x-slack-request-timestamp",
  "x-slack-retry-num",
  "x-slack-retry-reason",
  "x-timestamp",
  "x-zm-request-timestamp",
]);
/** Headers that a run's record holds elsewhere, or that say nothing of the sender. */
const LEFT_OUT_HEADERS = new Set([
  "accept",
  "accept-encoding",
  "accept-language",
  "connection",
  "content-length",
  "content-type",
  "expect",
  "host",
  "traceparent",
  "tracestate",
  "transfer-encoding",
]);
const HIDDEN = "********";
const NAME_LENGTH_MAX = 100;
const VALUE_LENGTH_MAX = 200;
const CONTENT_TYPE_LENGTH_MAX = 255;
const QUERY_LENGTH_MAX = 500;
const HEADERS_MAX = 64;
/** The most parameters of a run's query. */
const PARTS_MAX = 512;
/** Length of a trigger's actions from which little else fits into a run's record. */
const LONG_ACTIONS_BYTES = 32 * 1024;
/** Limit of the header names that are remembered for a trigger. */
const NAMES_MAX = 256;

/** A request as a refusal sees it: without its body where that was not read. */
export interface SeenRequest
  extends
    Pick<LaunchRequest, "method" | "headers" | "remoteIp">,
    Partial<Pick<LaunchRequest, "body">> {
  /** The query as it was sent, without its `?`. */
  queryText: string;
  /** True at a launch URL, false where a sender asks how a run went. */
  isDelivery: boolean;
}

/** The ways in which headers of requests to one trigger are treated. */
interface Treatment {
  /** The headers with credentials, by name in lower case, each with the texts before them. */
  hidden: ReadonlyMap<string, readonly string[]>;
  /** Names of headers with the id of a delivery. */
  ids: readonly string[];
  queryCredentials: ReadonlySet<string>;
  /** The fields of the body that carry credentials. */
  masked: string[];
  /** True where the actions take most of a run's record. */
  hasLongActions: boolean;
  /** True for the headers that a run's record keeps, by name. */
  kept: Map<string, boolean>;
}

const treatments = new WeakMap<PreparedTrigger, Treatment>();

/** Longest body that is hashed on the event loop, which takes half a millisecond. */
const HASHED_AT_ONCE_MAX = 256 * 1024;

/**
 * Adds the hash of the body to the facts of a request: of a long body later, as it takes 35 ms for 16 MiB.
 *
 * @returns a promise where it is later
 */
export function withHash(
  facts: RequestFacts,
  { body }: Pick<SeenRequest, "body">,
  use: (facts: RequestFacts) => void,
): Promise<void> | undefined {
  if (body === undefined || body.length <= HASHED_AT_ONCE_MAX) {
    use(body === undefined ? facts : { ...facts, sha256: hash("sha256", body) });
    return undefined;
  }
  // A body that was read lies in memory of its own, which no thread shares.
  const bytes = new Uint8Array(body.buffer as ArrayBuffer, body.byteOffset, body.length);
  return crypto.subtle.digest("SHA-256", bytes).then((digest) =>
    use({ ...facts, sha256: new Uint8Array(digest).toHex() })
  );
}

/** Returns the facts of a request for the trigger log, without the hash of its body. */
export function requestFacts(request: SeenRequest, prepared: PreparedTrigger): RequestFacts {
  const treatment = treatmentOf(prepared);
  const { method, remoteIp: remote_ip, queryText, body } = request;
  const sent = entriesOf(request.headers);
  const credentials = credentialsIn({ headers: sent, queryText }, treatment);
  credentials.addSecrets({ headers: sent, queryText }, prepared.isSecret);
  const headers: Record<string, string> = {};
  for (const [name, value] of sent.slice(0, HEADERS_MAX)) {
    const isShown = SHOWN_HEADERS.has(name) && !treatment.hidden.has(name) &&
      !credentials.isIn(value);
    headers[name.slice(0, NAME_LENGTH_MAX)] = isShown
      ? headerText(value).slice(0, VALUE_LENGTH_MAX)
      : HIDDEN;
  }
  const isHidden = (name: string) =>
    treatment.queryCredentials.size > 0 || isCredentialName(name, "possibly");
  return {
    method,
    remote_ip,
    headers,
    ...(queryText === "" ? {} : { query: shownQuery(queryText, { isHidden, credentials }) }),
    ...(body ? { size: body.length } : {}),
  };
}

/** The part of a request's head that a run keeps. */
interface KeptHead {
  facts?: LaunchFacts;
  /** The id of the delivery, where a header has it. */
  deliveryId?: string;
  contentType?: string;
}

/** Returns the part of a request's head that a run keeps. */
export function launchFacts(
  request: Pick<SeenRequest, "headers" | "queryText">,
  prepared: PreparedTrigger,
): KeptHead {
  const treatment = treatmentOf(prepared);
  const headers = entriesOf(request.headers);
  const { queryText } = request;
  const credentials = credentialsIn({ headers, queryText }, treatment);
  const status = sentStatus(prepared.trigger.response?.status ?? STATUS_CODE.OK);
  const facts = keptValues({ headers, queryText }, treatment, credentials);
  if (status !== STATUS_CODE.OK) facts.status = status;
  if (treatment.masked.length > 0) facts.masked = treatment.masked;
  if (prepared.redacted.length > 0) facts.redacted = true;
  const type = headers.find(([name]) => name === "content-type")?.[1];
  const contentType = type === undefined || credentials.isIn(type)
    ? {}
    : { contentType: type.slice(0, CONTENT_TYPE_LENGTH_MAX) };
  if (Object.keys(facts).length === 0) return contentType;
  const deliveryId = idIn((name) => facts.headers?.[name], treatment);
  return { facts, ...contentType, ...(deliveryId === undefined ? {} : { deliveryId }) };
}

/** Returns the headers and the query of a request without credentials, and the names of what is too long. */
function keptValues(
  { headers, queryText }: ReadHead,
  treatment: Treatment,
  credentials: RequestCredentials,
): LaunchFacts {
  const facts: LaunchFacts = {};
  const room = new ValueRoom(treatment);
  for (const [name, sent] of headers) {
    if (!isKept(name, treatment)) continue;
    const shown = shownUrl(sent);
    if (credentials.isIn(shown)) continue;
    const value = headerText(shown);
    if (!room.take(name, name.length + value.length)) continue;
    facts.headers ??= {};
    facts.headers[name] = value;
  }
  let query: string[] = [];
  if (queryText !== "") {
    const queryRoom = new ValueRoom(treatment);
    facts.query = keptQuery(queryText, queryRoom, treatment, credentials);
    query = queryRoom.leftOut;
  }
  if (room.leftOut.length + query.length > 0) facts.left_out = { headers: room.leftOut, query };
  return facts;
}

function keptQuery(
  query: string,
  room: ValueRoom,
  { queryCredentials }: Treatment,
  credentials: RequestCredentials,
): string {
  const isHidden = (name: string) => queryCredentials.has(name) || isCredentialName(name);
  const parts = query.split("&", PARTS_MAX + 1).filter((part) => part !== "").map((part) =>
    shownPart(part, { isHidden, credentials })
  );
  const kept = parts.slice(0, PARTS_MAX).filter((part) => room.take(nameOf(part), part.length));
  if (parts.length > PARTS_MAX) room.leaveOut(MORE);
  return kept.join("&");
}

/** Returns the id of a delivery, where a header has it. */
export function deliveryIdOf(
  request: SeenRequest,
  prepared: PreparedTrigger,
): string | undefined {
  const treatment = treatmentOf(prepared);
  const head = { headers: entriesOf(request.headers), queryText: request.queryText };
  const credentials = credentialsIn(head, treatment);
  credentials.addSecrets(head, prepared.isSecret);
  return idIn((name) => {
    const value = request.headers.get(name);
    return value === null || credentials.isIn(value) ? undefined : headerText(value);
  }, treatment);
}

/** The head of a request, read once: going through headers takes long. */
interface ReadHead {
  headers: readonly (readonly [name: string, value: string])[];
  queryText: string;
}

function entriesOf(headers: Headers): ReadHead["headers"] {
  const entries: [name: string, value: string][] = [];
  headers.forEach((value, name) => entries.push([name, value]));
  return entries;
}

/** Returns the credentials that a request carries outside of its body. */
function credentialsIn(
  { headers, queryText }: ReadHead,
  { hidden, queryCredentials }: Treatment,
): RequestCredentials {
  const credentials = new RequestCredentials();
  for (const [name, value] of headers) {
    const prefixes = hidden.get(name);
    if (prefixes) credentials.addHeader(value, prefixes);
  }
  if (queryCredentials.size > 0) credentials.addQuery(queryText, queryCredentials);
  return credentials;
}

function idIn(
  header: (name: string) => string | undefined,
  { ids, hidden }: Treatment,
): string | undefined {
  for (const name of ids) {
    const value = header(name);
    if (value !== undefined && value !== "" && !hidden.has(name)) return shownId(value);
  }
  return undefined;
}

function treatmentOf(prepared: PreparedTrigger): Treatment {
  let treatment = treatments.get(prepared);
  if (treatment === undefined) treatments.set(prepared, treatment = newTreatment(prepared));
  return treatment;
}

function newTreatment({ credentials, conditions, trigger }: PreparedTrigger): Treatment {
  const ownIds = conditions.flatMap((condition) =>
    condition.type === "deduplication" && condition.in === "header" && condition.name !== undefined
      ? [condition.name.toLowerCase()]
      : []
  );
  const inHeaders = Map.groupBy(
    credentials.filter((field) => field.in === "header"),
    ({ name }) => name.toLowerCase(),
  );
  const inQuery = credentials.filter((field) => field.in === "query");
  const queryCredentials = new Set(inQuery.map(({ name }) => name));
  return {
    hidden: new Map(
      Array.from(inHeaders, ([name, fields]) => [name, fields.map(({ prefix = "" }) => prefix)]),
    ),
    ids: [...ownIds, ...DELIVERY_ID_HEADERS],
    queryCredentials,
    masked: maskedFieldsOf(credentials),
    hasLongActions: recordBytes(trigger.actions) > LONG_ACTIONS_BYTES,
    kept: new Map(),
  };
}

function isKept(name: string, { hidden, ids, kept }: Treatment): boolean {
  const known = kept.get(name);
  if (known !== undefined) return known;
  const isKept = !LEFT_OUT_HEADERS.has(name) && !hidden.has(name) &&
    (SHOWN_HEADERS.has(name) || ids.includes(name) || !isCredentialName(name));
  if (kept.size < NAMES_MAX) kept.set(name, isKept);
  return isKept;
}

/** The parts of a query that are masked. */
interface Masks {
  /** Tells a parameter that is masked by its name. */
  isHidden(name: string): boolean;
  credentials: RequestCredentials;
}

/** Returns a query with the values of credentials masked. */
function shownQuery(query: string, masks: Masks): string {
  return query.split("&").map((part) => shownPart(part, masks)).join("&").slice(
    0,
    QUERY_LENGTH_MAX,
  );
}

function shownPart(part: string, { isHidden, credentials }: Masks): string {
  const [name = ""] = part.split("=", 1);
  const isNameHidden = credentials.isIn(name);
  if (!isNameHidden && !isHidden(nameOf(part)) && !credentials.isIn(part)) return part;
  return isNameHidden || name === part ? HIDDEN : `${name}=${HIDDEN}`;
}

function nameOf(part: string): string {
  const [name = ""] = part.split("=", 1);
  return formDecode(name);
}
