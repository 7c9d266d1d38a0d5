/**
 * Finding an execution again that an earlier service has started.
 *
 * @module
 */
import type { Execution } from "../../store/executions.ts";
import { endedLeader, followLeader, type Leader, readExitCode, readMark } from "./leader.ts";
import type { Machine } from "./processes.ts";
import type { WorkFolder } from "./work_folder.ts";

/** How long a wrapper may take from taking its mark to writing into it. */
const MARK_WAIT_MS = 1_000;
const MARK_POLL_MS = 20;

/** What became of it. */
export type Found =
  /** It did not start; it may now. A wrapper that is just starting finds the mark taken, or this one does. */
  | { kind: "not_started" }
  /** It has ended, or may have, in a way that nobody can tell. */
  | { kind: "lost"; reason: string }
  /** It has started, and may have ended. */
  | { kind: "started"; leader: Leader; lostReason?: string };

/** Finds out what became of an execution whose record says that it was started. */
export async function findAgain(
  execution: Execution,
  folder: WorkFolder,
  machine: Machine,
): Promise<Found> {
  const isSameBoot = machine.bootId !== "" && execution.engine_state?.boot_id === machine.bootId;
  const mark = await writtenMark(folder);
  if (mark === undefined && await readExitCode(folder) === undefined) {
    if (isSameBoot) return { kind: "not_started" };
    // The mark may have been lost with the power, after the command had begun.
    return {
      kind: "lost",
      reason: "The machine was restarted when the command was about to start: it may have run, " +
        "so it is not started again",
    };
  }
  if (isSameBoot && mark !== undefined) return { kind: "started", leader: followLeader(mark) };
  return {
    kind: "started",
    leader: endedLeader(mark?.pid ?? 0),
    lostReason: "The machine was restarted while the command ran",
  };
}

async function writtenMark(folder: WorkFolder) {
  for (let waited_ms = 0;; waited_ms += MARK_POLL_MS) {
    const mark = await readMark(folder);
    if (mark === undefined || mark.pid > 0 || waited_ms >= MARK_WAIT_MS) return mark;
    await new Promise((resolve) => setTimeout(resolve, MARK_POLL_MS));
  }
}
