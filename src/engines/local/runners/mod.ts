/**
 * The runners, by the names that projects call them.
 *
 * @module
 */
import { ConflictError } from "../../../platform/errors.ts";
import type { Execution } from "../../../store/records/executions.ts";
import type { OnSessionOver } from "../process_group.ts";
import { PROCESS_LAYOUT } from "../layout.ts";
import { localSettingsSchema } from "../settings.ts";
import { ContainerRunner, type ContainerRunnerParts } from "./container.ts";
import { CONTAINER_PROGRAMS } from "./container_program.ts";
import { ProcessRunner } from "./process.ts";
import type { Runner } from "./runner.ts";

interface RunnerParts extends Omit<ContainerRunnerParts, "program" | "settings"> {
  onSessionOver: OnSessionOver;
}

/** The runner of an execution, as its engine's settings say. */
export function runnerOf({ engine }: Execution, parts: RunnerParts): Runner {
  const { data: settings, error } = localSettingsSchema.safeParse(engine);
  // Settings are checked when they are stored, so these are a later version's.
  if (settings === undefined) return unusable(`The engine's settings are not valid: ${error}`);
  const program = CONTAINER_PROGRAMS.find(({ name }) => name === settings.runner);
  return program ? new ContainerRunner({ ...parts, program, settings }) : new ProcessRunner(parts);
}

/** A runner that starts nothing. */
function unusable(reason: string): Runner {
  return {
    layout: PROCESS_LAYOUT,
    start: () => Promise.reject(new ConflictError(reason)),
    find: () => Promise.resolve({ kind: "lost", reason }),
    clear: () => Promise.resolve(),
    diskUse_mb: () => Promise.resolve(0),
  };
}
