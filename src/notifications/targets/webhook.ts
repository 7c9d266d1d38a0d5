/**
 * A webhook: JSON, signed as one of the providers does. Standard Webhooks is the default.
 *
 * @module
 */
import { z } from "zod";
import { signingTypeOf } from "../../http_requests/sign.ts";
import type { Notification } from "../../store/records/notifications.ts";
import { privateNetworks, revealed, secretField, urlField } from "./fields.ts";
import type { HttpTargetKind } from "./target.ts";

const DEFAULT_PRESET = "standard_webhooks";

const schema = z.strictObject({
  type: z.literal("webhook"),
  url: urlField,
  sign: z.strictObject({
    preset: z.string().min(1).max(64).default(DEFAULT_PRESET).refine(
      (preset) => signingTypeOf(preset) !== undefined,
      { error: "Expected a preset whose requests can be signed, such as standard_webhooks" },
    ).describe("The provider whose way of signing is used"),
    secret: secretField.describe("The secret, or the private key, that signs"),
  }).exactOptional(),
  private_networks: privateNetworks,
});

/** The kind `webhook`. */
export const webhook = {
  type: "webhook",
  schema,
  request: (
    notification: Notification,
    { url, sign, private_networks }: z.infer<typeof schema>,
    reveal: (secret: string) => string | undefined,
  ) => {
    if (sign !== undefined) revealed(sign.secret, "to/sign/secret", reveal);
    return {
      method: "POST",
      url,
      headers: { "content-type": "application/json" },
      body: JSON.stringify(webhookBody(notification)),
      private_networks: private_networks === true,
      ...(sign !== undefined && { sign }),
    };
  },
} satisfies HttpTargetKind;

/** Returns what a webhook gets. */
function webhookBody(
  { id, notifier, created_at, title, text, causes, more, is_test }: Notification,
): object {
  return {
    type: is_test ? "notification.test" : "notification",
    timestamp: created_at,
    data: { id, notifier, title, text, causes, ...(more !== undefined && { more }) },
  };
}
