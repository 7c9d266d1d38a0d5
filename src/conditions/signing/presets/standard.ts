/**
 * Standard Webhooks (github.com/standard-webhooks/standard-webhooks) and who sends as it says: with
 * a shared secret (`v1`) or with an Ed25519 key (`v1a`).
 *
 * @module
 */
import type { SigningPreset } from "../preset.ts";
import type { SchemeSettings } from "../scheme.ts";

const SPECIFICATION =
  "https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md";

/** What headers of one beginning have in common. */
function headersOf(beginning: string): SchemeSettings {
  return {
    header: `${beginning}-signature`,
    list_separator: " ",
    field_separator: ",",
    encoding: "base64",
    signed_content: "{id}.{timestamp}.{body}",
    timestamp: { in: "header", name: `${beginning}-timestamp`, format: "unix_s" },
    id: { in: "header", name: `${beginning}-id` },
    delivery_id: { in: "header", name: `${beginning}-id` },
    key_encoding: "base64",
  };
}

/** The rows of shared secrets. */
export const standardSecrets = {
  standard_webhooks: {
    title: "Standard Webhooks",
    source: SPECIFICATION,
    scheme: { ...headersOf("webhook"), algorithm: "sha256", field: "v1", key_prefix: "whsec_" },
  },
  svix: {
    title: "Svix",
    source: "https://docs.svix.com/receiving/verifying-payloads/how-manual",
    scheme: { ...headersOf("svix"), algorithm: "sha256", field: "v1", key_prefix: "whsec_" },
  },
  gitlab_signed: {
    title: "GitLab, signing token",
    source: "https://docs.gitlab.com/user/project/integrations/webhooks/",
    scheme: { ...headersOf("webhook"), algorithm: "sha256", field: "v1", key_prefix: "whsec_" },
  },
} as const satisfies Record<string, SigningPreset>;

/** The rows of public keys. */
export const standardKeys = {
  standard_webhooks: {
    title: "Standard Webhooks, Ed25519",
    source: SPECIFICATION,
    scheme: { ...headersOf("webhook"), algorithm: "ed25519", field: "v1a", key_prefix: "whpk_" },
  },
  svix: {
    title: "Svix, Ed25519",
    source: "https://docs.svix.com/receiving/verifying-payloads/how-manual",
    scheme: { ...headersOf("svix"), algorithm: "ed25519", field: "v1a", key_prefix: "whpk_" },
  },
} as const satisfies Record<string, SigningPreset>;
