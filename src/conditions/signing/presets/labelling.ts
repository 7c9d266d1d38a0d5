/**
 * Providers of labelled data that sign with a shared secret.
 *
 * @module
 */
import type { SigningPreset } from "../preset.ts";

/** The rows. */
export const labelling = {
  cvat: {
    title: "CVAT",
    source: "https://docs.cvat.ai/docs/administration/advanced/webhooks/",
    setup:
      "Open the project's or the organization's Actions > Setup webhooks > Create. Enter a secret.",
    vector: "published",
    event: { in: "body", name: "event" },
    scheme: { algorithm: "sha256", header: "X-Signature-256", prefix: "sha256=" },
  },
  labelbox: {
    title: "Labelbox",
    source: "https://docs.labelbox.com/reference/webhook",
    setup: "Open the project's Settings > Webhooks > New webhook. Enter a secret.",
    vector: { none: "its page; public code that names its headers" },
    event: { in: "header", name: "X-Labelbox-Event" },
    scheme: { algorithm: "sha1", header: "X-Hub-Signature", prefix: "sha1=" },
  },
} as const satisfies Record<string, SigningPreset>;
