/**
 * Bodies such as providers send, to try a trigger out.
 *
 * @module
 */

/** A request of a provider. */
export interface Sample {
  /** The sender's title; undefined for a plain request. */
  title?: string;
  headers: Readonly<Record<string, string>>;
  /** A value of JSON, or the fields of a form where the content type says so. */
  body: unknown;
}

const FORM = "application/x-www-form-urlencoded";

const REPOSITORY = {
  id: 35129377,
  name: "digits",
  full_name: "octo/digits",
  html_url: "https://github.com/octo/digits",
};

/** Samples by the names of presets. Each has a delivery id of its own: a second test is no repeat. */
const SAMPLES: Readonly<Record<string, (id: string) => Sample>> = {
  github: (id) => ({
    title: "GitHub",
    headers: {
      "x-github-event": "push",
      "x-github-delivery": id,
    },
    body: {
      ref: "refs/heads/main",
      before: "6113728f27ae82c7b1a177c8d03f9e96e0adf246",
      after: "0000000000000000000000000000000000000000",
      repository: REPOSITORY,
      pusher: { name: "octo", email: "octo@example.com" },
      commits: [],
    },
  }),
  gitlab: () => ({
    title: "GitLab",
    headers: { "x-gitlab-event": "Push Hook" },
    body: {
      object_kind: "push",
      ref: "refs/heads/main",
      project: { path_with_namespace: "octo/digits" },
    },
  }),
  stripe: (id) => ({
    title: "Stripe",
    headers: {},
    body: {
      id: `evt_${id.replaceAll("-", "")}`,
      object: "event",
      type: "invoice.paid",
      data: { object: { id: "in_1MtHbELkdIwHu7ixl4OzzPMv", object: "invoice", amount_paid: 1200 } },
    },
  }),
  shopify: () => ({
    title: "Shopify",
    headers: { "x-shopify-topic": "orders/create" },
    body: { id: 820982911946154500, email: "jon@example.com", total_price: "403.00" },
  }),
  sns: (id) => ({
    title: "Amazon SNS",
    headers: { "x-amz-sns-message-type": "Notification" },
    body: {
      Type: "Notification",
      MessageId: id,
      TopicArn: "arn:aws:sns:eu-north-1:123456789012:uploads",
      Message: JSON.stringify({
        Records: [{
          eventName: "ObjectCreated:Put",
          s3: { bucket: { name: "scans" }, object: { key: "2026/scan.png", size: 1024 } },
        }],
      }),
    },
  }),
  ses: (id) => ({
    title: "Amazon SES",
    headers: { "x-amz-sns-message-type": "Notification" },
    body: {
      Type: "Notification",
      MessageId: id,
      TopicArn: "arn:aws:sns:eu-north-1:123456789012:mail",
      Subject: "Amazon SES Email Event Notification",
      Message: JSON.stringify({
        eventType: "Bounce",
        bounce: {
          bounceType: "Permanent",
          bouncedRecipients: [{ emailAddress: "jon@example.com", status: "5.1.1" }],
        },
        mail: { messageId: `01000157${id}`, destination: ["jon@example.com"] },
      }),
    },
  }),
  mandrill: (id) => ({
    title: "Mandrill",
    headers: { "content-type": FORM },
    body: {
      mandrill_events: JSON.stringify([{ event: "open", _id: id, msg: { subject: "Hello" } }]),
    },
  }),
  slack: (id) => ({
    title: "Slack",
    headers: {},
    body: {
      type: "event_callback",
      event_id: `Ev${id.slice(0, 8).toUpperCase()}`,
      event: { type: "message", text: "train" },
    },
  }),
};

const OTHER: Sample = { headers: {}, body: { event: "test", data: { id: 1 } } };

/** Writes the body of a sample as it is sent. */
export function bodyTextOf({ headers, body }: Sample, space?: number): string {
  return headers["content-type"] === FORM
    ? new URLSearchParams(Object.entries(Object(body))).toString()
    : JSON.stringify(body, null, space);
}

/** Returns what a provider sends; something plain for a provider whose requests are not known here. */
export function sampleOf(preset: unknown): Sample {
  return SAMPLES[String(preset)]?.(crypto.randomUUID()) ?? OTHER;
}
