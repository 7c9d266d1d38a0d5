/**
 * The limit of what a project may take on disk: an execution of it, and the mirror of its repository.
 *
 * @module
 */
import type { EngineSettings } from "../store/records/projects.ts";

/** The limit of a project that does not set one. */
const DISK_MB = 20 * 1_024;

/** Returns the limit of a project in MiB, from `disk_mb` of its engine's settings. */
export function diskLimit_mb({ disk_mb }: EngineSettings): number {
  return typeof disk_mb === "number" ? disk_mb : DISK_MB;
}
