/**
 * Secrets that two triggers share. A handshake of one may sign words for anyone, and such a signature would pass an
 * `hmac` condition of the other. A trigger knows this of its own handshakes alone.
 *
 * @module
 */
import { SIGNS } from "../conditions/handshake/nodes.ts";
import { loadKinds } from "../conditions/prepare.ts";
import { resolveSecret, type SecretSetting, secretText } from "../conditions/secret.ts";
import { handshakePresets } from "../conditions/signing/presets/mod.ts";
import type { Problem } from "../platform/errors.ts";
import type { Store } from "../store/store.ts";
import {
  allStoredTriggers,
  getStoredTrigger,
  type StoredTrigger,
} from "../store/records/triggers.ts";
import { openWhatOpens, type SecretBox } from "./secrets.ts";
import { triggerOf } from "./stored_trigger.ts";
import type { TriggerSettings } from "./trigger.ts";

/** The parts of a service that secrets are compared with. */
interface SharedSecretsParts {
  store: Store;
  secrets: SecretBox;
  env(name: string): string | undefined;
}

/** The secrets of a trigger that make signatures, each with its pointer. */
interface Signing {
  /** Those that its handshakes sign words with. */
  handshakes: (readonly [secret: string, pointer: string])[];
  /** Those of its `hmac` conditions. */
  conditions: (readonly [secret: string, pointer: string])[];
}

/** Compares the secrets of triggers. */
export class SharedSecrets {
  readonly #parts: SharedSecretsParts;
  /** The triggers whose handshakes sign, which few do; undefined until all triggers have been read. */
  #signers: Set<string> | undefined;
  /** The triggers that have changed since. */
  readonly #changed = new Set<string>();

  constructor(parts: SharedSecretsParts) {
    this.#parts = parts;
  }

  /** Notes that a trigger has changed. */
  note(id: string): void {
    if (this.#signers !== undefined) this.#changed.add(id);
  }

  /** Notes that any trigger may have changed. */
  forget(): void {
    this.#signers = undefined;
    this.#changed.clear();
  }

  /**
   * Warns of secrets that other triggers have.
   *
   * @param id undefined for a new trigger
   */
  async warnings(settings: TriggerSettings, id: string | undefined): Promise<Problem[]> {
    const own = await this.#signingOf(settings);
    if (own.handshakes.length > 0) return await this.#warnOfHandshakes(own, id);
    const found: Problem[] = [];
    for (const signer of own.conditions.length === 0 ? [] : await this.#readSigners()) {
      const stored = signer === id ? undefined : await getStoredTrigger(this.#parts.store, signer);
      const { handshakes = [] } = stored ? await this.#signingOfStored(stored) : {};
      const secrets = new Set(handshakes.map(([secret]) => secret));
      const detail = `A handshake of trigger "${stored?.name}" signs words for anyone with this ` +
        "secret: a request whose signed content is a word passes here with it. Use another secret";
      found.push(
        ...own.conditions.filter(([secret]) => secrets.has(secret))
          .map(([, pointer]) => ({ pointer, detail })),
      );
    }
    return found;
  }

  async #warnOfHandshakes({ handshakes }: Signing, id: string | undefined): Promise<Problem[]> {
    const found: Problem[] = [];
    for await (const stored of allStoredTriggers(this.#parts.store)) {
      if (stored.id === id) continue;
      const other = await this.#signingOfStored(stored);
      // One that signs words itself takes no signature of one.
      if (other.handshakes.length > 0) continue;
      const secrets = new Set(other.conditions.map(([secret]) => secret));
      const detail =
        `The handshake signs words for anyone with this secret, and an hmac condition ` +
        `of trigger "${stored.name}" takes such a signature. Use another secret`;
      found.push(
        ...handshakes.filter(([secret]) => secrets.has(secret))
          .map(([, pointer]) => ({ pointer, detail })),
      );
    }
    return found;
  }

  async #readSigners(): Promise<ReadonlySet<string>> {
    const { store } = this.#parts;
    if (this.#signers === undefined) {
      const signers = this.#signers = new Set<string>();
      for await (const stored of allStoredTriggers(store)) {
        if (await isSigner(stored)) signers.add(stored.id);
      }
    }
    const signers = this.#signers ?? new Set<string>();
    for (const id of this.#changed) {
      this.#changed.delete(id);
      const stored = await getStoredTrigger(store, id);
      if (stored && await isSigner(stored)) signers.add(id);
      else signers.delete(id);
    }
    return signers;
  }

  async #signingOfStored(stored: StoredTrigger): Promise<Signing> {
    const sealed = triggerOf(stored);
    return await this.#signingOf(openWhatOpens(sealed, this.#parts.secrets, stored.id).value);
  }

  async #signingOf(settings: TriggerSettings): Promise<Signing> {
    const { handshakes, conditions } = await signingSettings(settings);
    const resolve = ([setting, pointer]: SettingAt) => {
      const secret = resolveSecret(secretText(setting), (name) => this.#parts.env(name));
      return secret ? [[secret, pointer] as const] : [];
    };
    return { handshakes: handshakes.flatMap(resolve), conditions: conditions.flatMap(resolve) };
  }
}

/** The setting of a secret, and its pointer. */
type SettingAt = readonly [setting: SecretSetting, pointer: string];

async function isSigner(stored: StoredTrigger): Promise<boolean> {
  return (await signingSettings(triggerOf(stored))).handshakes.length > 0;
}

async function signingSettings(
  { handshakes = [], conditions }: TriggerSettings,
): Promise<{ handshakes: SettingAt[]; conditions: SettingAt[] }> {
  const ofOwner = handshakes.flatMap(({ preset, secret, ...row }, index): SettingAt[] => {
    const rows = preset === undefined ? [row] : handshakePresets[preset]?.handshakes;
    return secret !== undefined && isSigning(rows) ? [[secret, `/handshakes/${index}/secret`]] : [];
  });
  // A later version may have stored a kind that this one does not know: it takes no request.
  const known = await loadKinds(conditions).catch(() => []);
  const macs = known.flatMap(({ kind, settings }, index) => {
    if (kind.handshakeKey === undefined || !("secrets" in settings)) return [];
    const secrets = [settings.secrets].flat().map((setting, at): SettingAt => [
      // The schema has checked them.
      setting as SecretSetting,
      `/conditions/${index}/secrets/${at}`,
    ]);
    return [{ secrets, signs: isSigning(kind.preset?.(settings)?.handshakes) }];
  });
  return {
    handshakes: [
      ...ofOwner,
      ...macs.filter(({ signs }) => signs).flatMap(({ secrets }) => secrets),
    ],
    conditions: macs.flatMap(({ secrets }) => secrets),
  };
}

/** Tells whether the expressions of handshakes name a function that signs. */
function isSigning(rows: unknown): boolean {
  const text = JSON.stringify(rows ?? []);
  return SIGNS.some((name) => text.includes(name));
}
