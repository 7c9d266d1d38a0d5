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
    scheme: { algorithm: "sha256", header: "X-Signature-256", prefix: "sha256=" },
  },
  labelbox: {
    title: "Labelbox",
    source: "https://docs.labelbox.com/reference/webhook",
    scheme: { algorithm: "sha1", header: "X-Hub-Signature", prefix: "sha1=" },
  },
} as const satisfies Record<string, SigningPreset>;
