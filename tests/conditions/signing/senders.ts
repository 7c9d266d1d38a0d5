/**
 * Senders of every preset: settings with keys of the right form, and a body such as the provider
 * sends.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { generateKeyPairSync } from "node:crypto";
import type { Refusal } from "../../../src/conditions/check.ts";
import type { CheckedKind, ConditionSettings } from "../../../src/conditions/condition.ts";
import { hmac, hmacScheme, type HmacSettings } from "../../../src/conditions/hmac.ts";
import { launchRequest } from "../../../src/conditions/request.ts";
import { signature, signatureScheme } from "../../../src/conditions/signature.ts";
import { signRequest } from "../../../src/conditions/sign_request.ts";
import type { KeySetting } from "../../../src/conditions/keys.ts";
import { hmacPresets, signaturePresets } from "../../../src/conditions/signing/presets/mod.ts";
import type { Scheme } from "../../../src/conditions/signing/scheme.ts";
import { rsaPairs } from "../../rsa_keys.ts";
import { context, NOW_MS } from "../fixture.ts";

export const URL_OF_TRIGGER =
  "https://hooks.example/api/v0/launch/0190fe82-c984-7f66-8302-69874914e1c9/?a=1%2C2";

/** A request as it travels. */
export interface Sent {
  method: string;
  url: string;
  headers: Record<string, string>;
  body: Uint8Array;
  receivedAt_ms: number;
}

/** A provider that sends, and a trigger that knows it, and others that know other keys. */
export interface Sender {
  name: string;
  scheme: Scheme;
  /** The settings of a condition with the key at this place; there are three. */
  settings(key: number, overrides?: Record<string, unknown>): ConditionSettings;
  /** Makes a request whose body has this value in it. */
  send(value: string, parts?: SendParts): Promise<Sent>;
  check(settings: ConditionSettings, sent: Sent): Promise<Refusal | undefined>;
}

/** What a test may change of what is sent. */
export interface SendParts {
  /** The keys that sign; the first by default. */
  keys?: number[];
  now_ms?: number;
  overrides?: Record<string, unknown>;
}

const KEYS = [0, 1, 2];

/** Bodies of providers that sign something inside. */
const BODIES: Record<string, (value: string) => unknown> = {
  adyen: (value) => ({
    notificationItems: [{
      NotificationRequestItem: {
        pspReference: value,
        amount: { value: 1130, currency: "EUR" },
        success: "true",
        additionalData: { hmacSignature: "" },
      },
    }],
  }),
  mailgun: (value) => ({
    signature: { token: Buffer.from(value).toString("hex").padEnd(50, "0"), timestamp: "" },
    "event-data": { value },
  }),
  linear: (value) => ({ action: "create", data: { value }, webhookTimestamp: 0 }),
};

/** A sender of every preset that signs. */
export const senders: Sender[] = [
  ...Object.keys(hmacPresets).map(macSender),
  // The key of a certificate is the provider's own.
  ...Object.keys(signaturePresets)
    .filter((name) => signaturePresets[name]?.scheme.certificate === undefined).map(keySender),
];

/** One sender of each way to sign: the others have other names of headers and fields, and sign alike. */
export const distinctSenders: Sender[] = [
  ...new Map(senders.toReversed().map((sender) => [wayOf(sender), sender])).values(),
].toReversed();

/** Returns what two senders have in common that sign alike. */
function wayOf({ scheme }: Sender): string {
  const { delivery_id: _delivery, tolerance: _tolerance, id, timestamp, header, ...own } = scheme;
  const content = JSON.stringify(scheme.signed_content).replaceAll(/:[\w-]+\}/g, "}");
  return JSON.stringify({
    ...own,
    content,
    signed_content: undefined,
    prefix: scheme.prefix === "",
    field: scheme.field === undefined,
    body_field: scheme.body_field === undefined,
    place: header === "Authorization" ? header : typeof header,
    timestamp: timestamp && [timestamp.in, timestamp.format],
    id: id?.in,
  });
}

function macSender(name: string): Sender {
  const scheme = hmacScheme({ type: "hmac", preset: name, secrets: ["x"] });
  const secrets = KEYS.map((key) => {
    const text = `s3cret number ${key} of ${name}, long enough`;
    if (scheme.key_encoding === "utf8") return text;
    return scheme.key_prefix + Buffer.from(text).toString(scheme.key_encoding);
  });
  const settings = (key: number, overrides = {}): HmacSettings =>
    hmac.schema.parse({ type: "hmac", preset: name, secrets: [secrets[key]], ...overrides });
  return sender(name, scheme, hmac, settings, (keys, overrides) => ({
    settings: { ...settings(0, overrides), secrets: keys.map((key) => secrets[key] ?? "") },
    privateKeys: [],
  }));
}

function keySender(name: string): Sender {
  const scheme = signatureScheme({ type: "signature", preset: name });
  const pairs = scheme.algorithm === "rsa_sha256"
    ? rsaPairs
    : KEYS.map(() =>
      scheme.algorithm === "ed25519"
        ? generateKeyPairSync("ed25519")
        : generateKeyPairSync("ec", { namedCurve: "P-256" })
    );
  const shown = pairs.map(({ publicKey }) => {
    const der = Buffer.from(publicKey.export({ format: "der", type: "spki" }));
    // The last 32 bytes of an Ed25519 key's DER are the key.
    const bytes = scheme.algorithm === "ed25519" ? der.subarray(-32) : der;
    return scheme.key_prefix + bytes.toString(scheme.key_encoding);
  });
  const settings = (key: number, overrides = {}) =>
    signature.schema.parse({
      type: "signature",
      preset: name,
      public_keys: [shown[key]],
      ...overrides,
    });
  return sender(name, scheme, signature, settings, (keys, overrides) => ({
    settings: settings(0, overrides),
    privateKeys: keys.map((key) =>
      String(pairs[key]?.privateKey.export({ format: "pem", type: "pkcs8" }))
    ),
  }));
}

/** Returns a body such as the provider sends. */
export function bodyOf(preset: string, value: string): unknown {
  return BODIES[preset]?.(value) ?? { value, id: "evt_1" };
}

function sender(
  name: string,
  scheme: Scheme,
  kind: CheckedKind,
  settings: Sender["settings"],
  keysOf: (
    keys: number[],
    overrides: Record<string, unknown>,
  ) => { settings: ConditionSettings; privateKeys: KeySetting[] },
): Sender {
  return {
    name: `${kind.type} ${name}`,
    scheme,
    settings,
    async send(value, { keys = [0], now_ms = NOW_MS, overrides = {} } = {}) {
      const own = keysOf(keys, overrides);
      const body = bodyOf(name, value);
      const { problems, ...signed } = await signRequest([own.settings], {
        url: URL_OF_TRIGGER,
        headers: { "content-type": "application/json" },
        body: new TextEncoder().encode(JSON.stringify(body)),
        now_ms,
        env: () => undefined,
        privateKeys: own.privateKeys,
      });
      if (problems[0]) throw new Error(problems[0].detail);
      return { method: "POST", receivedAt_ms: now_ms, ...signed };
    },
    async check(own, sent) {
      const { url, headers, ...others } = sent;
      const request = launchRequest({
        ...others,
        url,
        query: new URL(url).searchParams,
        headers: new Headers(headers),
        remoteIp: "192.0.2.7",
      });
      const check = await kind.prepare(own, context());
      return await check(request);
    },
  };
}
