/**
 * The kinds of engines. A kind is one folder here and one line in {@linkcode ENGINE_KINDS}.
 *
 * @module
 */
import type { z } from "zod";
import { HooklaunchError } from "../platform/errors.ts";
import type { EngineSettings } from "../store/records/projects.ts";
import type { EngineKind, StepNeeds } from "./engine.ts";
import { refusedMounts } from "./local/mounts.ts";
import { RemoteEngine } from "./remote/mod.ts";

/** An execution, or a project, names an engine that this version does not have. */
export class UnknownEngineError extends HooklaunchError {
  override readonly code = "unknown_engine";
}

const SLURM_MOUNTS =
  'it has mounts, which the engine "slurm" does not support: name folders in its wrap';
const KUBERNETES_MOUNTS =
  'it has mounts, which the engine "kubernetes" does not support: name volumes in its pod_template';

/** All kinds, by the `type` in a project's settings. */
const ENGINE_KINDS: Readonly<Record<string, EngineKind>> = {
  local: {
    settings: async () => (await import("./local/settings.ts")).localSettingsSchema,
    async maker() {
      const { LocalEngine } = await import("./local/mod.ts");
      return (parts) => new LocalEngine(parts);
    },
    refuses: refusedMounts,
    leavesOut: ({ runner = "process" }) =>
      runner === "process"
        ? [`The "image" of steps is not used: the engine's runner is "process"`]
        : [],
    keepsFiles: true,
  },
  slurm: {
    settings: async () => (await import("./slurm/settings.ts")).slurmSettingsSchema,
    maker: () =>
      Promise.resolve((parts) =>
        new RemoteEngine({
          ...parts,
          type: "slurm",
          loadBackend: async () => {
            const { SlurmBackend } = await import("./slurm/mod.ts");
            return (settings) => new SlurmBackend(settings);
          },
          wrapOf: ({ engine }) => engine.wrap === undefined ? undefined : String(engine.wrap),
        })
      ),
    refuses: (_settings, { mounts = [] }) => mounts.length > 0 ? [SLURM_MOUNTS] : [],
    leavesOut: ({ wrap = "" }) =>
      String(wrap).includes("{image}")
        ? []
        : [`The "image" of steps is not used: the engine's wrap does not name {image}`],
    keepsFiles: false,
  },
  kubernetes: {
    settings: async () => (await import("./kubernetes/settings.ts")).kubernetesSettingsSchema,
    maker: () =>
      Promise.resolve((parts) =>
        new RemoteEngine({
          ...parts,
          type: "kubernetes",
          loadBackend: async () => {
            const { KubernetesBackend } = await import("./kubernetes/mod.ts");
            return (settings) => new KubernetesBackend(settings);
          },
        })
      ),
    refuses: (_settings, { mounts = [] }) => mounts.length > 0 ? [KUBERNETES_MOUNTS] : [],
    keepsFiles: false,
  },
};

/** The reasons why this process cannot run engines, by type, each as the rest of a sentence. */
const unusable = new Map<string, string>();

/** Notes that this process cannot run an engine. */
export function noteUnusable(type: string, reason: string): void {
  unusable.set(type, reason);
}

/** Returns the reason why this process cannot run an engine; undefined when it can. */
export function unusableReason(type: string): string | undefined {
  return unusable.get(type);
}

/** The types of all engines. */
export const ENGINE_TYPES: readonly string[] = Object.keys(ENGINE_KINDS);

/** Loads the schemas of the settings of all engines. */
export function engineSettingsSchemas(): Promise<z.ZodObject[]> {
  return Promise.all(Object.values(ENGINE_KINDS).map(({ settings }) => settings()));
}

/**
 * Returns a kind of engine.
 *
 * @throws {UnknownEngineError} when there is none of this type
 */
export function engineKind(type: string): EngineKind {
  const kind = Object.hasOwn(ENGINE_KINDS, type) ? ENGINE_KINDS[type] : undefined;
  if (kind === undefined) {
    const known = ENGINE_TYPES.join(", ");
    throw new UnknownEngineError(`Cannot find the engine "${type}": expected one of ${known}`);
  }
  return kind;
}

/**
 * Returns every reason for which a step cannot run on a project's engine, each as the rest of a sentence.
 *
 * @throws {UnknownEngineError} when there is no such engine
 */
export function engineRefusals(engine: EngineSettings, step: StepNeeds): string[] {
  const reason = unusable.get(engine.type);
  if (reason !== undefined) return [reason];
  return engineKind(engine.type).refuses?.(engine, step) ?? [];
}

/**
 * Returns what an engine leaves out of the steps of a project, each as a sentence without a full stop.
 *
 * @throws {UnknownEngineError} when there is no such engine
 */
export function engineLeavesOut(engine: EngineSettings): string[] {
  return engineKind(engine.type).leavesOut?.(engine) ?? [];
}
