/**
 * Merging of pod templates: parts of a pod that a project's settings add to those that Hooklaunch makes.
 *
 * @module
 */
import type { z } from "zod";
import { isObject } from "../../platform/objects.ts";

/** The container of a step's command. */
export const MAIN = "main";
/** The container of the agent, and the volume that both share. */
export const AGENT = "hooklaunch";

/** A value in JSON. */
export type Json = z.core.util.JSONType;
/** An object in JSON. */
export type JsonObject = { [name: string]: Json };

/** The key by which the items of a list in a pod belong together. A list of another name is appended to. */
const LIST_KEYS: Readonly<Record<string, string>> = {
  containers: "name",
  initContainers: "name",
  volumes: "name",
  env: "name",
  imagePullSecrets: "name",
  volumeMounts: "mountPath",
  volumeDevices: "devicePath",
  ports: "containerPort",
  hostAliases: "ip",
};

/** Merges an object into another: objects field by field, lists by the names of their items. The second wins. */
export function merge(base: JsonObject, over: JsonObject): JsonObject {
  const merged: JsonObject = { ...base };
  for (const [name, value] of Object.entries(over)) {
    merged[name] = mergeValue(name, base[name], value);
  }
  return merged;
}

function mergeValue(name: string, base: Json | undefined, over: Json): Json {
  if (Array.isArray(base) && Array.isArray(over)) return mergeList(LIST_KEYS[name], base, over);
  return isObject(base) && isObject(over) ? merge(base, over) : over;
}

function mergeList(key: string | undefined, base: Json[], over: Json[]): Json[] {
  const merged = [...base];
  for (const item of over) {
    const at = key !== undefined && isObject(item)
      ? merged.findIndex((each) => isObject(each) && each[key] === item[key])
      : -1;
    const known = merged[at];
    if (isObject(known) && isObject(item)) merged[at] = merge(known, item);
    else merged.push(item);
  }
  return merged;
}
