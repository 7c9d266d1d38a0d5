/**
 * Signatures as providers with a private key document them, made with node:crypto alone.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { type KeyObject, sign } from "node:crypto";
import { NOW_MS } from "../fixture.ts";

const TIME_S = String(NOW_MS / 1000);

/** A provider that signs with a private key. */
interface KeyRecipe {
  algorithm: "rsa" | "ed25519";
  /** Writes a public key as the provider shows it. */
  shown(spki: Buffer): string;
  send(body: string, key: KeyObject): Record<string, string>;
}

const standardKey = (name: string): KeyRecipe => ({
  algorithm: "ed25519",
  shown: (spki) => `whpk_${spki.subarray(-32).toString("base64")}`,
  send: (body, key) => ({
    [`${name}-id`]: "msg_1",
    [`${name}-timestamp`]: TIME_S,
    [`${name}-signature`]: `v1a,${
      sign(null, Buffer.from(`msg_1.${TIME_S}.${body}`), key).toString("base64")
    }`,
  }),
});

/** The recipes of providers that sign with a private key, by the names of presets. */
export const keyRecipes: Record<string, KeyRecipe> = {
  standard_webhooks: standardKey("webhook"),
  svix: standardKey("svix"),
  discord_events: {
    algorithm: "ed25519",
    shown: (spki) => spki.subarray(-32).toString("hex"),
    send: (body, key) => ({
      "X-Signature-Timestamp": TIME_S,
      "X-Signature-Ed25519": sign(null, Buffer.from(TIME_S + body), key).toString("hex"),
    }),
  },
  wise: {
    algorithm: "rsa",
    shown: (spki) => spki.toString("base64"),
    send: (body, key) => ({
      "X-Signature-SHA256": sign("sha256", Buffer.from(body), key).toString("base64"),
    }),
  },
};
