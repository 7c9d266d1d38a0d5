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
  body: unknown;
}

const REPOSITORY = {
  id: 35129377,
  name: "digits",
  full_name: "octo/digits",
  html_url: "https://github.com/octo/digits",
};

/** Samples by the names of presets. */
const SAMPLES: Readonly<Record<string, Sample>> = {
  github: {
    title: "GitHub",
    headers: {
      "x-github-event": "push",
      "x-github-delivery": "72d3162e-cc78-11e3-81ab-4c9367dc0958",
    },
    body: {
      ref: "refs/heads/main",
      before: "6113728f27ae82c7b1a177c8d03f9e96e0adf246",
      after: "0000000000000000000000000000000000000000",
      repository: REPOSITORY,
      pusher: { name: "octo", email: "octo@example.com" },
      commits: [],
    },
  },
  gitlab: {
    title: "GitLab",
    headers: { "x-gitlab-event": "Push Hook" },
    body: {
      object_kind: "push",
      ref: "refs/heads/main",
      project: { path_with_namespace: "octo/digits" },
    },
  },
  stripe: {
    title: "Stripe",
    headers: {},
    body: {
      id: "evt_1NG8Du2eZvKYlo2CUI79vXWy",
      object: "event",
      type: "invoice.paid",
      data: { object: { id: "in_1MtHbELkdIwHu7ixl4OzzPMv", object: "invoice", amount_paid: 1200 } },
    },
  },
  shopify: {
    title: "Shopify",
    headers: { "x-shopify-topic": "orders/create" },
    body: { id: 820982911946154500, email: "jon@example.com", total_price: "403.00" },
  },
  slack: {
    title: "Slack",
    headers: {},
    body: {
      type: "event_callback",
      event_id: "Ev123ABC456",
      event: { type: "message", text: "train" },
    },
  },
};

const OTHER: Sample = { headers: {}, body: { event: "test", data: { id: 1 } } };

/** Returns what a provider sends; something plain for a provider whose requests are not known here. */
export function sampleOf(preset: unknown): Sample {
  return SAMPLES[String(preset)] ?? OTHER;
}
