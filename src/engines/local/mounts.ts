/**
 * Mounts: folders of this machine that containers see. The owner of a project's engine names the folders that
 * they may lie in.
 *
 * @module
 */
import { join, normalize, sep } from "node:path";
import { ActionError } from "../../platform/errors.ts";
import type { Mount } from "../../store/records/executions.ts";
import type { EngineSettings } from "../../store/records/projects.ts";
import type { StepNeeds } from "../engine.ts";
import type { LocalSettings } from "./settings.ts";

const FOLDER_TYPES: readonly unknown[] = [undefined, "bind", "none"];
const SETTING = "the setting mounts.folders of the project's engine";

/** Returns the reasons for which the mounts of a step cannot be had, each as the rest of a sentence. */
export function refusedMounts(settings: EngineSettings, { mounts = [] }: StepNeeds): string[] {
  // The schema checked them when the project was stored.
  const { runner, mounts: { folders = [] } = {} } = settings as LocalSettings;
  if (mounts.length > 0 && runner === "process") {
    return [
      'it has mounts, which the runner "process" does not support: expected docker or podman',
    ];
  }
  return mounts.flatMap(({ source, type }) => {
    if (!FOLDER_TYPES.includes(type)) {
      return [`it has a mount of the type "${type}", expected a folder`];
    }
    return isIn(normalize(source), folders)
      ? []
      : [`its mount ${source} is in none of the folders that ${SETTING} names`];
  });
}

/**
 * Returns the mounts of an execution with their sources as they are on disk.
 *
 * @throws {ActionError} when a source is missing, or leads out of the folders that are allowed
 */
export async function resolveMounts(
  mounts: readonly Mount[],
  { mounts: { folders = [] } = {} }: Pick<LocalSettings, "mounts">,
): Promise<Mount[]> {
  const allowed = await Promise.all(
    folders.map((folder) => Deno.realPath(folder).catch(() => folder)),
  );
  return await Promise.all(mounts.map(async (mount) => {
    const source = await Deno.realPath(mount.source).catch(() => undefined);
    if (source !== undefined && isIn(source, allowed)) return { ...mount, source };
    const found = source === undefined ? "nothing is there" : `it leads to ${source}`;
    throw new ActionError(
      `Cannot mount ${mount.source}: ${found}, expected something in the folders that ${SETTING} names`,
    );
  }));
}

function isIn(path: string, folders: readonly string[]): boolean {
  return folders.some((folder) => `${path}${sep}`.startsWith(join(folder, sep)));
}
