/**
 * ntfy: push messages to phones, by ntfy.sh or a server of one's own.
 *
 * @module
 */
import { z } from "zod";
import { truncate } from "../../platform/text/display.ts";
import type { Notification } from "../../store/records/notifications.ts";
import { privateNetworks, revealed, secretField, urlField } from "./fields.ts";
import type { HttpTargetKind } from "./target.ts";

/** A longer text becomes an attachment. */
const TEXT_LENGTH_MAX = 3_500;

const schema = z.strictObject({
  type: z.literal("ntfy"),
  url: urlField.default("https://ntfy.sh").describe("The server"),
  topic: z.string().regex(/^[-_A-Za-z0-9]{1,64}$/, {
    error: "Expected 1 to 64 letters, digits, hyphens and underscores",
  }),
  token: secretField.describe("An access token, where the topic needs one").exactOptional(),
  priority: z.int().min(1).max(5).default(4).describe(
    "1 to 5. An end of causes has 3 at most",
  ),
  private_networks: privateNetworks,
});

/** The kind `ntfy`. */
export const ntfy = {
  type: "ntfy",
  schema,
  request(
    { title, text, causes }: Notification,
    settings: z.infer<typeof schema>,
    reveal: (secret: string) => string | undefined,
  ) {
    const { url, topic, token, priority, private_networks } = settings;
    if (token !== undefined) revealed(token, "to/token", reveal);
    const isOver = causes.length > 0 && causes.every(({ state }) => state === "recovered");
    const [cause] = causes;
    return {
      method: "POST",
      url,
      headers: {
        "content-type": "application/json",
        ...(token !== undefined && { authorization: { secret: token, prefix: "Bearer " } }),
      },
      body: JSON.stringify({
        topic,
        title,
        message: truncate(text, TEXT_LENGTH_MAX),
        priority: isOver ? Math.min(priority, 3) : priority,
        tags: [isOver ? "white_check_mark" : "warning"],
        ...(cause !== undefined && { click: cause.url }),
      }),
      private_networks: private_networks === true,
    };
  },
} satisfies HttpTargetKind;
