/**
 * The parts of signed content that no template can express, each as its provider documents it.
 *
 * @module
 */
import { hash } from "node:crypto";
import { crc32 } from "node:zlib";
import { childOf } from "../../platform/schema/pointer.ts";
import type { Refusal } from "../check.ts";
import type { LaunchRequest } from "../request.ts";
import type { Builder } from "./template.ts";

const SIGNED_HEADERS_MAX = 32;

/** The headers of Contentful that name the signed headers and the time. */
const CONTENTFUL_SIGNED_HEADERS = "x-contentful-signed-headers";
const CONTENTFUL_TIMESTAMP = "x-contentful-timestamp";

/** Makes a part of the signed content, as text. */
type Build = (
  request: LaunchRequest,
  url: string,
  identity?: string,
) => string | Refusal;

/** The function of each part. */
export const BUILDERS: Readonly<Record<Builder, Build>> = {
  "adyen:item": adyenItem,
  "contentful:headers": contentfulHeaders,
  "contentful:path": (_request, url) => contentfulPath(url),
  "hubspot:url": (_request, url) => hubspotUrl(url),
  "paypal:webhook": (request, _url, webhook) => `${webhook ?? ""}|${crc32(request.body)}`,
  "sns:message": (request, _url, topic) => snsMessage(request, topic),
  "twilio:parameters": twilioParameters,
  "twilio:url_with_port": (_request, url) => withPort(url, (port) => `:${port}`),
  "twilio:url_without_port": (_request, url) => withPort(url, () => ""),
};

/** The parts of a request that a sender adds before it signs. */
interface Additions {
  headers?: Record<string, string>;
  query?: Record<string, string>;
}

/** Returns the additions that a part needs. */
export function additionsFor(builder: Builder, request: LaunchRequest): Additions {
  switch (builder) {
    case "contentful:headers": {
      const names = [CONTENTFUL_SIGNED_HEADERS, CONTENTFUL_TIMESTAMP];
      return { headers: { [CONTENTFUL_SIGNED_HEADERS]: names.join(",") } };
    }
    case "twilio:parameters": {
      const needsHash = request.body.length > 0 && request.parsedBody().kind !== "form";
      return needsHash ? { query: { bodySHA256: hash("sha256", request.body) } } : {};
    }
    default:
      return {};
  }
}

/** Limits of a message that is parsed as a whole, on the event loop, before it is verified. */
const MESSAGE_BYTES_MAX = 2 * 1024 * 1024;
const MESSAGE_VALUES_MAX = 10_000;

/** Parses the message of a provider; undefined for a body that is no JSON, or beyond what the provider sends. */
function messageOf(request: LaunchRequest): unknown {
  if (request.body.length > MESSAGE_BYTES_MAX) return undefined;
  const { values } = request.bodySize() ?? { values: Infinity };
  const body = values > MESSAGE_VALUES_MAX ? undefined : request.parsedBody();
  return body?.kind === "json" ? body.value : undefined;
}

/** The place of the one item of an Adyen notification, and the fields of it that are signed. */
const ADYEN_ITEM = ["notificationItems", "0", "NotificationRequestItem"];
const ADYEN_FIELDS = [
  ["pspReference"],
  ["originalReference"],
  ["merchantAccountCode"],
  ["merchantReference"],
  ["amount", "value"],
  ["amount", "currency"],
  ["eventCode"],
  ["success"],
];

/** Joins the signed fields of an Adyen notification with colons; one that is missing is empty. */
function adyenItem(request: LaunchRequest): string | Refusal {
  const message = messageOf(request);
  const items = childOf(message, "notificationItems");
  // A second item would not be signed.
  if (!Array.isArray(items) || items.length !== 1) {
    return { reason: "Body field notificationItems is not a list of one item" };
  }
  const item = ADYEN_ITEM.reduce(childOf, message);
  return ADYEN_FIELDS.map((path) => String(path.reduce(childOf, item) ?? "")).join(":");
}

/** The signed fields of a message of SNS by its type, in order. */
const SNS_CONFIRMATION = [
  "Message",
  "MessageId",
  "SubscribeURL",
  "Timestamp",
  "Token",
  "TopicArn",
  "Type",
];
const SNS_SIGNED: Readonly<Record<string, readonly string[]>> = {
  Notification: ["Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"],
  SubscriptionConfirmation: SNS_CONFIRMATION,
  UnsubscribeConfirmation: SNS_CONFIRMATION,
};
/** The fields of SNS that its signature does not cover. A message with further fields is refused. */
const SNS_UNSIGNED = [
  "MessageAttributes",
  "Signature",
  "SignatureVersion",
  "SigningCertURL",
  "UnsubscribeURL",
];

/** Writes the signed fields of a message of SNS, each name and value on a line of its own. */
function snsMessage(request: LaunchRequest, topic: string | undefined): string | Refusal {
  const value = messageOf(request);
  const fieldOf = (name: string) => childOf(value, name);
  const signed = SNS_SIGNED[String(fieldOf("Type"))];
  if (signed === undefined) return { reason: "The body is no message of SNS" };
  // SNS signs for every account of AWS.
  if (fieldOf("TopicArn") !== topic) {
    return { reason: "Body field TopicArn is not the identity of the condition" };
  }
  const known = [...signed, ...SNS_UNSIGNED];
  const other = Object.keys(Object(value)).find((name) => !known.includes(name));
  if (other !== undefined) {
    return { reason: "The body holds a field that SNS does not send", found: other.slice(0, 64) };
  }
  let text = "";
  for (const name of signed) {
    const field = fieldOf(name);
    if (typeof field === "string") text += `${name}\n${field}\n`;
    else if (name !== "Subject" || (field ?? null) !== null) {
      return { reason: `Body field ${name} is missing` };
    }
  }
  return text;
}

/**
 * Writes the parameters of a form, sorted by name, each name with its distinct values, sorted too. Any other
 * body is covered by its hash, which is a parameter of the signed URL. That URL may come from the settings,
 * with a query in place of the request's.
 */
function twilioParameters(request: LaunchRequest, url: string): string | Refusal {
  const [given, ...others] = new URL(url).searchParams.getAll("bodySHA256");
  if (others.length > 0) return { reason: "Query parameter bodySHA256 comes more than once" };
  if (given !== undefined) {
    // Also of an empty body and of a form, or the signature of another body would pass.
    if (given.toLowerCase() === hash("sha256", request.body)) return "";
    return { reason: "Query parameter bodySHA256 is not the SHA-256 of the body" };
  }
  if (request.body.length === 0) return "";
  const parsed = request.parsedBody({ path: [] });
  if (parsed.kind !== "form") {
    return { reason: "Query parameter bodySHA256 is missing: the body is no form" };
  }
  const names = [...parsed.fields.keys()].sort();
  if (names.length === 0 || names[0] === "") {
    return { reason: "The body holds no parameter, or one without a name: that is not signed" };
  }
  return names.map((name) => {
    const values = [...new Set(parsed.fields.get(name))].sort();
    return values.map((value) => name + value).join("");
  }).join("");
}

/** Writes the URL with another port: some products of Twilio sign it with the port, some without. */
function withPort(url: string, write: (port: string) => string): string {
  const [, scheme, host, port, rest] = /^(https?):\/\/([^/?#]*?)(?::(\d+))?([/?].*)?$/.exec(url) ??
    [];
  if (scheme === undefined) return url;
  return `${scheme}://${host}${write(port ?? (scheme === "https" ? "443" : "80"))}${rest ?? ""}`;
}

/** The only codes that HubSpot decodes before it signs. */
const HUBSPOT_CODES: Readonly<Record<string, string>> = {
  "%3A": ":",
  "%2F": "/",
  "%3F": "?",
  "%40": "@",
  "%21": "!",
  "%24": "$",
  "%27": "'",
  "%28": "(",
  "%29": ")",
  "%2A": "*",
  "%2C": ",",
  "%3B": ";",
};

function hubspotUrl(url: string): string {
  return url.replace(
    /%(?:3A|2F|3F|40|21|24|27|28|29|2A|2C|3B)/gi,
    (code) => HUBSPOT_CODES[code.toUpperCase()] ?? code,
  );
}

/**
 * Writes the path, and the query escaped once more, as Contentful's own library does. Both are taken as they
 * were sent, since a `URL` would write `'` as `%27`.
 */
function contentfulPath(url: string): string {
  const [, path = "", query = ""] = /^https?:\/\/[^/?]*([^?]*)\??([^?]*)/.exec(url) ?? [];
  return encodeURI((path || "/") + (query === "" ? "" : `?${encodeURIComponent(query)}`));
}

/** Writes the headers that the request names as signed. The timestamp must be one of them. */
function contentfulHeaders(request: LaunchRequest): string | Refusal {
  const listed = request.headers.get(CONTENTFUL_SIGNED_HEADERS);
  if (listed === null) return { reason: `Header ${CONTENTFUL_SIGNED_HEADERS} is missing` };
  const names = new Set(listed.split(",").map((name) => name.trim().toLowerCase()));
  for (const name of [CONTENTFUL_SIGNED_HEADERS, CONTENTFUL_TIMESTAMP]) {
    if (!names.has(name)) {
      return { reason: `Header ${CONTENTFUL_SIGNED_HEADERS} does not name ${name}` };
    }
  }
  if (names.size > SIGNED_HEADERS_MAX) {
    return {
      reason: `Header ${CONTENTFUL_SIGNED_HEADERS} names over ${SIGNED_HEADERS_MAX} headers`,
    };
  }
  const lines = [...names].sort().map((name) => {
    const value = /^[a-z0-9_-]+$/.test(name) ? request.headers.get(name) : null;
    return value === null ? "" : `${name}:${value.trim()}`;
  });
  return lines.filter((line) => line !== "").join(";");
}
