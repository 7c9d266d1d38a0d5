/**
 * Finding an execution again that an earlier service has started.
 *
 * @module
 */
import { delay } from "@std/async/delay";
import type { Execution } from "../../store/records/executions.ts";
import { readExitCode, readMark } from "./control_files.ts";
import { endedProcessGroup, followProcessGroup, type OnSessionOver } from "./process_group.ts";
import type { Machine } from "./processes.ts";
import type { Found } from "./runners/runner.ts";
import type { WorkFolder } from "./work_folder.ts";

/** Time limit of a wrapper between taking its mark and writing into it. */
const MARK_WAIT_MS = 1_000;
const MARK_POLL_MS = 20;

/**
 * The reason for an execution that was about to start before this boot of the machine, as far as can be told.
 * A machine that was restarted, another machine and a backup look the same.
 */
export const MAY_HAVE_RUN =
  "The machine may have been restarted when the command was about to start, or its data came from a " +
  "backup or another machine: it may have run, so it is not started again";

/** The reason for a missing exit code of an execution that ran before this boot of the machine. */
export const OUT_OF_SIGHT =
  "The machine may have been restarted while the command ran, or its data came from a backup or " +
  "another machine: how it ended is not known";

/** The exit code of a command that SIGTERM has ended, as machines that shut down send it to all. */
const TOLD_TO_END = 128 + 15;

/** The reason why such an execution counts as lost. */
const SHUT_DOWN = "The command was told to end, and the machine may have been restarted since";

/**
 * The reason for not trusting the exit code 0 of an execution that ran before this boot of the machine. After a loss
 * of power it may be on the disk, and what the command printed and its outputs not, or in part.
 */
const NOT_ON_DISK =
  "The command had just ended with exit code 0 when the machine was restarted, and not all that it left was " +
  "known to be on the disk: its log and its outputs may be incomplete";

/** The reason of a rerun that an end of the service interrupted. */
export const NOT_RENEWED = "The service was stopped before the command ran again";

/** Returns true when the machine is known not to have been restarted since an execution was started. */
export function isSameBoot({ engine_state }: Execution, { bootId }: Machine): boolean {
  return bootId !== "" && engine_state?.boot_id === bootId;
}

/** Returns why an exit code of a command that ran before this boot of the machine may not be how it ended. */
export function doubtOf(
  exitCode: number,
  { engine_state }: Execution,
  { folder, bootId }: { folder: WorkFolder; bootId: string },
): string | undefined {
  const before = engine_state?.boot_id;
  if (before === bootId) return undefined;
  if (exitCode === TOLD_TO_END) return SHUT_DOWN;
  // A restored backup knows no boot. Its outputs are whole where it has an exit code.
  const isOnDisk = before === undefined || folder.isOnDisk;
  return exitCode === 0 && !isOnDisk ? NOT_ON_DISK : undefined;
}

/** Finds out what became of an execution whose record says that it was started. */
export async function findAgain(
  execution: Execution,
  folder: WorkFolder,
  { machine, onSessionOver }: { machine: Machine; onSessionOver: OnSessionOver },
): Promise<Found> {
  const isSame = isSameBoot(execution, machine);
  const mark = await writtenMark(folder);
  if (mark === undefined && readExitCode(folder) === undefined) {
    // The mark may have been lost with the power, after the command had begun.
    return isSame ? { kind: "not_started" } : { kind: "lost", reason: MAY_HAVE_RUN };
  }
  const command = isSame && mark !== undefined
    ? followProcessGroup(mark, onSessionOver)
    : endedProcessGroup(OUT_OF_SIGHT);
  return { kind: "started", command };
}

async function writtenMark(folder: WorkFolder) {
  for (let waited_ms = 0;; waited_ms += MARK_POLL_MS) {
    const mark = readMark(folder);
    if (mark === undefined || mark.pid > 0 || waited_ms >= MARK_WAIT_MS) return mark;
    await delay(MARK_POLL_MS);
  }
}
