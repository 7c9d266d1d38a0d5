/**
 * Reading triggers for pages, by name or id.
 *
 * @module
 */
import { STATUS_CODE } from "@std/http/status";
import { isId } from "../../platform/ids.ts";
import { presetsByType, type PresetType } from "../../conditions/signing/presets/mod.ts";
import type { Preset } from "../../conditions/signing/preset.ts";
import { NAME } from "../../projects/name.ts";
import type { ShownTrigger } from "../api/triggers.ts";
import { ApiCallError } from "./client.ts";
import type { View } from "./route.ts";

/** The last segment of the page that makes triggers. */
const NEW = "new";

/** One condition or action of a trigger, of any kind. */
export type Settings = Readonly<Record<string, unknown>> & { readonly type: string };

/** A secret as the API shows it. */
export interface ShownSecret {
  name?: string;
  fingerprint?: string;
  value?: string;
  until?: string;
}

/**
 * Reads a trigger.
 *
 * @throws {ApiCallError} when there is none of this name or id
 */
export async function readTrigger({ api }: View, nameOrId: string): Promise<ShownTrigger> {
  if (isId(nameOrId)) {
    const found = await ifThere(api.get<ShownTrigger>(`triggers/${nameOrId}/`));
    if (found !== undefined) return found;
  }
  // An earlier version took names like ids.
  const { results: [trigger] } = await api.list<ShownTrigger>("triggers/", { name: nameOrId });
  if (trigger !== undefined) return trigger;
  throw new ApiCallError(404, `There is no trigger "${nameOrId}"`, []);
}

async function ifThere<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof ApiCallError && error.status === STATUS_CODE.NotFound) return undefined;
    throw error;
  }
}

/** Returns the address of a trigger's page: its name where that is one plain segment, else its id. */
export function pageOf({ id, name }: Pick<ShownTrigger, "id" | "name">): string {
  return `triggers/${NAME.test(name) && name !== NEW ? name : id}`;
}

/** The secrets of a condition, in the form of objects. */
export function secretsOf(condition: object): ShownSecret[] {
  if (!("secrets" in condition) || !Array.isArray(condition.secrets)) return [];
  return condition.secrets.map((each) => typeof each === "string" ? { value: each } : { ...each });
}

/** Returns the provider that a condition names. */
export function presetOf({ type, preset }: Settings): Preset | undefined {
  const presets: Readonly<Record<string, Preset>> = presetsByType[type as PresetType] ?? {};
  return typeof preset === "string" ? presets[preset] : undefined;
}

/** Returns the preset of the provider that sends to a trigger. */
export function presetNameOf({ conditions }: Pick<ShownTrigger, "conditions">): string | undefined {
  const named: Settings | undefined = conditions.find((each) => presetOf(each) !== undefined);
  return typeof named?.preset === "string" ? named.preset : undefined;
}

/** Providers that sign with a secret that both sides know, or send it: `<type>/<preset>` and the title. */
export function providers(): { id: string; title: string }[] {
  return (["hmac", "static_token"] as const).flatMap((type) =>
    Object.entries<Preset>(presetsByType[type]).map(([preset, { title }]) => ({
      id: `${type}/${preset}`,
      title,
    }))
  ).toSorted((one, other) => one.title.localeCompare(other.title));
}
