/**
 * Incoming webhooks of chats. A row holds the body that one of them wants.
 *
 * @module
 */
import { z } from "zod";
import { truncate } from "../../platform/text/display.ts";
import type { Notification } from "../../store/records/notifications.ts";
import { privateNetworks, revealedUrl, secretUrlField } from "./fields.ts";
import type { HttpTargetKind, SendParts } from "./target.ts";

type Message = Pick<Notification, "title" | "text">;

/** A chat: the body of a message, and the characters that it takes. */
interface Chat {
  type: string;
  length_max: number;
  body(message: Message): object;
}

/** Slack reads these as the beginnings of links and of mentions. */
const escapedForSlack = (text: string) =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

/** A backslash takes the meaning from what Markdown reads, and a word joiner from a mention. */
const escapedForMarkdown = (text: string) =>
  text.replace(/[\\`*_[\]<>~|#]/g, "\\$&").replaceAll("@", "@\u2060");

const CHATS: readonly Chat[] = [
  {
    type: "slack",
    length_max: 3_000,
    body: ({ title, text }) => ({
      text: `*${escapedForSlack(title)}*\n${escapedForSlack(text)}`,
      unfurl_links: false,
    }),
  },
  {
    type: "mattermost",
    length_max: 12_000,
    body: ({ title, text }) => ({
      text: `**${escapedForMarkdown(title)}**\n${escapedForMarkdown(text)}`,
    }),
  },
  {
    type: "discord",
    length_max: 1_800,
    body: ({ title, text }) => ({
      content: truncate(`**${escapedForMarkdown(title)}**\n${escapedForMarkdown(text)}`, 1_990),
      allowed_mentions: { parse: [] },
    }),
  },
  {
    type: "teams",
    length_max: 12_000,
    body: ({ title, text }) => ({
      type: "message",
      attachments: [{
        contentType: "application/vnd.microsoft.card.adaptive",
        content: {
          $schema: "http://adaptivecards.io/schemas/adaptive-card.json",
          type: "AdaptiveCard",
          version: "1.4",
          body: [
            { type: "TextBlock", weight: "bolder", wrap: true, text: escapedForMarkdown(title) },
            ...text.split("\n").map((line) => ({
              type: "TextBlock",
              wrap: true,
              text: escapedForMarkdown(line),
            })),
          ],
        },
      }],
    }),
  },
];

/** The kinds of chats. */
export const chats = CHATS.map(chatKind);

function chatKind({ type, length_max, body }: Chat) {
  return {
    type,
    schema: z.strictObject({
      type: z.literal(type),
      url: secretUrlField,
      private_networks: privateNetworks,
    }),
    request: (
      { title, text }: Notification,
      { url, private_networks }: ChatSettings,
      reveal: SendParts["reveal"],
    ) => ({
      method: "POST",
      url: revealedUrl(url, reveal),
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body({ title, text: truncate(text, length_max) })),
      private_networks: private_networks === true,
    }),
  } satisfies HttpTargetKind;
}

/** The settings of a chat. */
type ChatSettings = {
  type: string;
  url: string;
  private_networks?: boolean;
};
