/**
 * The providers by kind, each kind in a file of its own.
 *
 * @module
 */
import type {
  HandshakePreset,
  Preset,
  PresetGroup,
  SigningPreset,
  TokenPreset,
} from "../preset.ts";
import { chat } from "./chat.ts";
import { cloud } from "./cloud.ts";
import { code } from "./code.ts";
import { commerce } from "./commerce.ts";
import { content } from "./content.ts";
import { delivery } from "./delivery.ts";
import { development } from "./development.ts";
import { documents } from "./documents.ts";
import { email } from "./email.ts";
import { handshakesAlone } from "./handshakes.ts";
import { identity } from "./identity.ts";
import { labelling } from "./labelling.ts";
import { machineLearning } from "./machine_learning.ts";
import { messaging } from "./messaging.ts";
import { monitoring } from "./monitoring.ts";
import { payments } from "./payments.ts";
import { planning } from "./planning.ts";
import { publicKeys } from "./public_keys.ts";
import { shops } from "./shops.ts";
import { standardKeys, standardSecrets } from "./standard.ts";
import { tokens } from "./tokens.ts";

/** Every kind, in the order of the documentation. */
export const presetGroups: readonly PresetGroup[] = [
  { title: "Standards", hmac: standardSecrets, signature: standardKeys },
  { title: "Development", hmac: development },
  code,
  delivery,
  { title: "Labelled data", hmac: labelling },
  machineLearning,
  monitoring,
  cloud,
  { title: "Payments and shops", hmac: commerce },
  payments,
  shops,
  { title: "Messages", hmac: messaging },
  chat,
  email,
  identity,
  planning,
  content,
  { title: "Files, forms and documents", hmac: documents },
  { title: "Public keys", signature: publicKeys },
  { title: "Tokens", static_token: tokens },
  { title: "Handshakes of any trigger", handshakes: handshakesAlone },
];

/** Merges the rows of all kinds for one type of condition. */
export function signingRows(type: "hmac" | "signature"): Readonly<Record<string, SigningPreset>> {
  return Object.fromEntries(presetGroups.flatMap((group) => Object.entries(group[type] ?? {})));
}

/** Merges the rows of all kinds that send a token. */
export function tokenRows(): Readonly<Record<string, TokenPreset>> {
  return Object.fromEntries(
    presetGroups.flatMap((group) => Object.entries(group.static_token ?? {})),
  );
}

/** Merges the rows of all kinds that have handshakes. */
export function handshakeRows(): Readonly<Record<string, HandshakePreset>> {
  const rows: [name: string, preset: Preset][] = presetGroups.flatMap((group) =>
    [group.hmac, group.signature, group.static_token, group.handshakes]
      .flatMap((presets) => Object.entries<Preset>(presets ?? {}))
  );
  return Object.fromEntries(
    rows.flatMap(([name, preset]) =>
      preset.handshakes ? [[name, { ...preset, handshakes: preset.handshakes }]] : []
    ),
  );
}
