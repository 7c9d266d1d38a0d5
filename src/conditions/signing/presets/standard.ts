/**
 * Standard Webhooks (github.com/standard-webhooks/standard-webhooks) and the providers that follow it, with a
 * shared secret (`v1`) or an Ed25519 key (`v1a`).
 *
 * @module
 */
import type { Field } from "../../field.ts";
import type { SigningPreset } from "../preset.ts";
import type { SchemeSettings } from "../scheme.ts";

const SPECIFICATION =
  "https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md";

/** The headers of Standard Webhooks, by the beginning of their names. */
const STANDARD_HEADERS = headersOf("webhook");

/** Svix sends either its own headers or, white-labelled, those of Standard Webhooks. */
const SVIX_HEADERS = headersOf("svix", "webhook");

function headersOf(beginning: string, otherBeginning?: string) {
  const header = (name: string): Field => ({
    in: "header",
    name: `${beginning}-${name}`,
    ...(otherBeginning && { other_name: `${otherBeginning}-${name}` }),
  });
  return {
    header: [beginning, otherBeginning].filter((one) => one).map((one) => `${one}-signature`),
    list_separator: " ",
    field_separator: ",",
    encoding: "base64",
    signed_content: "{id}.{timestamp}.{body}",
    timestamp: { ...header("timestamp"), format: "unix_s" },
    id: header("id"),
    delivery_id: header("id"),
    key_encoding: "base64",
  } satisfies SchemeSettings;
}

/** A shared secret. */
const SECRET = { algorithm: "sha256", field: "v1", key_prefix: "whsec_" } as const;

/** A public key. */
const KEY = { algorithm: "ed25519", field: "v1a", key_prefix: "whpk_" } as const;

/** The parts of a row beside the scheme. */
type Row = Omit<SigningPreset, "scheme" | "vector"> & Partial<Pick<SigningPreset, "vector">>;

/** Makes the row of a provider that signs as Standard Webhooks does, but for `changes`. */
export function standardPreset(
  row: Row,
  changes: Omit<SchemeSettings, "algorithm"> = {},
): SigningPreset {
  return { vector: "published", ...row, scheme: { ...STANDARD_HEADERS, ...SECRET, ...changes } };
}

/** Makes the row of a provider that sends through Svix. */
export function svixPreset(row: Row): SigningPreset {
  const scheme = { ...SVIX_HEADERS, ...SECRET };
  return { vector: "published", disablesEndpoints: true, ...row, scheme };
}

/** The rows of shared secrets. */
export const standardSecrets = {
  standard_webhooks: {
    title: "Standard Webhooks",
    source: SPECIFICATION,
    setup: "Add the URL as an endpoint. Copy the signing secret, with `whsec_`.",
    vector: "published",
    scheme: { ...STANDARD_HEADERS, ...SECRET },
  },
  svix: {
    title: "Svix",
    source: "https://docs.svix.com/receiving/verifying-payloads/how-manual",
    setup: "Add the URL as an endpoint. Copy the signing secret, with `whsec_`.",
    vector: "published",
    disablesEndpoints: true,
    scheme: { ...SVIX_HEADERS, ...SECRET },
  },
  gitlab_signed: {
    title: "GitLab, signing token",
    source: "https://docs.gitlab.com/user/project/integrations/webhooks/",
    setup: "Open Settings > Webhooks > Add new webhook. Generate a signing token.",
    vector: "published",
    event: { in: "header", name: "X-Gitlab-Event" },
    disablesEndpoints: true,
    scheme: { ...STANDARD_HEADERS, ...SECRET },
  },
} satisfies Record<string, SigningPreset>;

/** The rows of public keys. */
export const standardKeys = {
  standard_webhooks: {
    title: "Standard Webhooks, Ed25519",
    source: SPECIFICATION,
    setup: "Add the URL as an endpoint. Copy the public key, with `whpk_`.",
    vector: "published",
    scheme: { ...STANDARD_HEADERS, ...KEY },
  },
  svix: {
    title: "Svix, Ed25519",
    source: "https://docs.svix.com/receiving/verifying-payloads/how-manual",
    setup: "Add the URL as an endpoint. Copy the public key, with `whpk_`.",
    vector: "published",
    disablesEndpoints: true,
    scheme: { ...SVIX_HEADERS, ...KEY },
  },
} satisfies Record<string, SigningPreset>;
