/**
 * The operator or the sender who has launched something.
 *
 * @module
 */
import type { Author } from "./audit.ts";

/**
 * The kinds of launches: a sender's request, a delivery that an operator launched again, work that an operator
 * started, such as the copy of a pipeline, and an occurrence of a schedule.
 */
export const LAUNCHER_KINDS = ["sender", "replay", "operator", "schedule"] as const;

/** The operator or the sender of a run, and of all that it made. */
export interface Launcher extends Partial<Author> {
  kind: typeof LAUNCHER_KINDS[number];
}

/** A record that may tell who has launched it. Of senders nothing is stored. */
export interface Launched {
  /** Absent for a sender. */
  launched_by?: Launcher;
}

/** Returns the fields by which a record that is made tells who has launched it: those of what made it. */
export function launcherFields({ launched_by }: Launched): Launched {
  return launched_by === undefined ? {} : { launched_by };
}

/** Returns who has launched something. Of replays of earlier versions it is not known who. */
export function launcherOf(
  { launched_by, replay_of }: Launched & { replay_of?: string | undefined },
): Launcher {
  return launched_by ?? { kind: replay_of === undefined ? "sender" : "replay" };
}
