/**
 * The actions that any instance can perform: they need neither the code of a project, which each machine has for
 * itself, nor an engine.
 *
 * @module
 */
import type { ActionSettings } from "../store/records/runs.ts";

const TYPES = ["http_request"];

/** Tells whether any instance can perform actions. */
export function canPerformAnywhere(actions: readonly ActionSettings[]): boolean {
  return actions.every(({ type }) => TYPES.includes(type));
}
