/**
 * Mail by SMTP. The library that sends it is loaded with the first mail.
 *
 * @module
 */
import { isIP } from "node:net";
import { z } from "zod";
import { messageOf } from "../../platform/errors.ts";
import type { Network } from "../../platform/network/connection.ts";
import { FetchError } from "../../platform/network/fetch_errors.ts";
import { within } from "../../platform/waiting/timers.ts";
import type { Notification } from "../../store/records/notifications.ts";
import { privateNetworks, revealed, secretField } from "./fields.ts";
import type { OtherTargetKind, SendParts, Sent } from "./target.ts";

const RECIPIENTS_MAX = 20;
/** The ports by convention (RFC 8314). */
const PORTS = { starttls: 587, tls: 465, none: 25 } as const;

/** Advice on failures, by what is said of them. */
const ADVICE: readonly [said: RegExp, advice: string][] = [
  [/altnames/, "Set host to a name that its certificate has"],
  [
    /certificate|self-signed/,
    "Name the authority of its certificate in DENO_CERT before the service starts",
  ],
  [
    /upgrading connection with STARTTLS/,
    "It offers no STARTTLS: set security to tls, or to none within your own network",
  ],
  [/wrong version number/, "It does not begin with TLS: set security to starttls, or another port"],
  [/^Invalid login/, "Check user and password"],
];

/** An address, with or without a name before it. */
const addressField = z.string().max(320).regex(
  /^(?:[^<>@,;"\r\n\t]+ <[^\s<>@,;"]+@[^\s<>@,;"]+>|[^\s<>@,;"]+@[^\s<>@,;"]+)$/,
  { error: "Expected an address such as ops@example.com, or Ops <ops@example.com>" },
);

const schema = z.strictObject({
  type: z.literal("email"),
  host: z.string().max(253).regex(/^[A-Za-z0-9.:_-]+$/, {
    error: "Expected the name of a mail server, without a port",
  }),
  port: z.int().min(1).max(65_535).exactOptional().describe(
    "587 for starttls, 465 for tls and 25 for none when absent",
  ),
  security: z.enum(["starttls", "tls", "none"]).default("starttls").describe(
    "starttls: encrypted after the greeting, or not at all sent; tls: from the first byte; none: never",
  ),
  user: z.string().min(1).max(320).exactOptional(),
  password: secretField.exactOptional(),
  from: addressField,
  to: z.array(addressField).min(1).max(RECIPIENTS_MAX),
  private_networks: privateNetworks,
}).refine(({ user, password }) => (user === undefined) === (password === undefined), {
  error: "Expected both user and password, or neither",
});

/** The kind `email`. */
export const email = {
  type: "email",
  schema,
  async send(
    notification: Notification,
    settings: z.infer<typeof schema>,
    parts: SendParts,
  ): Promise<Sent> {
    const address = await addressOf(settings, parts.network);
    const { createTransport } = await import("nodemailer");
    const { host, security, user, password } = settings;
    const timeout_ms = parts.timeout_ms;
    const { caCerts } = parts.network;
    const transport = createTransport({
      host: address,
      port: settings.port ?? PORTS[security],
      secure: security === "tls",
      requireTLS: security === "starttls",
      ignoreTLS: security === "none",
      name: "hooklaunch",
      connectionTimeout: timeout_ms,
      greetingTimeout: timeout_ms,
      socketTimeout: timeout_ms,
      disableFileAccess: true,
      disableUrlAccess: true,
      tls: {
        minVersion: "TLSv1.2",
        ...(isIP(host) === 0 && { servername: host }),
        ...(caCerts.length > 0 && { ca: caCerts }),
      },
      ...(user !== undefined && {
        auth: { user, pass: revealed(password ?? "", "to/password", parts.reveal) },
      }),
    });
    const stop = () => transport.close();
    parts.signal.addEventListener("abort", stop);
    try {
      const sending: Promise<Sent> = transport.sendMail(mailOf(notification, settings)).then(
        endOf,
        (error: unknown): Sent => ({
          isSent: false,
          reason: `It cannot be sent: ${withAdvice(messageOf(error))}`,
        }),
      );
      const sent = await within(parts.clock, timeout_ms, sending);
      return sent ?? { isSent: false, reason: `no answer within ${timeout_ms / 1_000} s` };
    } finally {
      parts.signal.removeEventListener("abort", stop);
      stop();
    }
  },
} satisfies OtherTargetKind;

/** Returns the end of a mail that the server has taken: for all of its recipients, or for some. */
function endOf(info: unknown): Sent {
  const { rejected, rejectedErrors } = Object(info);
  if (!Array.isArray(rejected) || rejected.length === 0) return { isSent: true };
  const [error] = Array.isArray(rejectedErrors) ? rejectedErrors : [];
  const said = String(Object(error).response ?? "the server refuses it");
  // Another attempt would reach the others once more.
  return {
    isSent: false,
    isFinal: true,
    reason: `It has not reached ${rejected.join(", ")}: ${said}`,
  };
}

/** Returns what is said of a failure, and what to do about it. */
function withAdvice(message: string): string {
  const [, advice] = ADVICE.find(([said]) => said.test(message)) ?? [];
  return advice === undefined ? message : `${message.replace(/\.$/, "")}. ${advice}`;
}

/** Returns the mail of a notification. Its id stays the same in each attempt. */
function mailOf(
  { id, title, text, created_at }: Notification,
  { from, to }: z.infer<typeof schema>,
): object {
  const domain = /@([^\s<>@]+?)>?$/.exec(from)?.[1] ?? "localhost";
  return {
    from,
    to,
    subject: title,
    text,
    date: created_at,
    messageId: `<${id}@${domain}>`,
    headers: { "Auto-Submitted": "auto-generated" },
  };
}

/**
 * Returns an address of the mail server that may be reached.
 *
 * @throws {FetchError} when there is none
 */
async function addressOf(
  { host, private_networks }: z.infer<typeof schema>,
  network: Network,
): Promise<string> {
  const all = isIP(host) === 0 ? await network.resolve(host) : [host];
  const found = all.find((address) => private_networks === true || network.isPublic(address));
  if (found !== undefined) return found;
  throw new FetchError(
    all.length === 0
      ? "its host has no address"
      : "its host has no public address: to allow others, set to.private_networks of the notifier to true",
  );
}
