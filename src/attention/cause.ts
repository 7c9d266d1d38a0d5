/**
 * The causes for attention: the one list of their codes, and what to do about each.
 *
 * @module
 */
import { hash } from "node:crypto";
import type { Dismissal } from "../store/records/dismissals.ts";

/** A failure needs somebody now. A weakness of a set-up may be meant; that of a trigger can be dismissed. */
export const CAUSE_GROUPS = ["failure", "setup"] as const;

/** The group of a cause. */
type CauseGroup = typeof CAUSE_GROUPS[number];

/** The kind of thing that a cause is about. */
export const SUBJECT_KINDS = [
  "service",
  "instance",
  "engine",
  "project",
  "trigger",
  "notifier",
] as const;

/** The thing that a cause is about. */
export interface Subject {
  kind: typeof SUBJECT_KINDS[number];
  /** The name of the trigger, project or notifier, the type of the engine, or the address of the instance. */
  name: string;
  /** The id of a trigger. */
  id?: string;
  /** The project of a trigger. */
  project?: string;
}

/** The codes, each with its group and what to do. */
export const CAUSES = {
  disk_full: {
    group: "failure",
    advice: "Free space on the disk of the data folder, or move the folder to a larger one",
  },
  files_disk_full: {
    group: "failure",
    advice: "Free space on the disk of executions, in the data folder, or move it to a larger one",
  },
  artifact_store_failed: {
    group: "failure",
    advice:
      "Look at the store, its address and its credentials: what waits goes on when it answers",
  },
  backup_failed: {
    group: "failure",
    advice: "Do what the text says: it tries again by itself. hooklaunch backup now tries at once",
  },
  certificate_failed: {
    group: "failure",
    advice: "Do what the text says: it orders again by itself, and at once after a restart",
  },
  instance_gone: {
    group: "failure",
    advice: "Look at its machine and the end of its log, and start it again: the others go on",
  },
  instance_not_serving: {
    group: "failure",
    advice: "Mend what the text says: it accepts launches again by itself",
  },
  instance_differs: {
    group: "failure",
    advice:
      "Give all instances the same version and the same settings, and restart those that differ",
  },
  engine_unreachable: {
    group: "failure",
    advice: "Start the engine, or mend the way to it: its executions go on when it answers",
  },
  project_fetch_failed: {
    group: "failure",
    advice: "Mend the repository's address, its credentials or its server, then fetch the project",
  },
  project_file_invalid: {
    group: "failure",
    advice: "Mend the project configuration file, then fetch the project",
  },
  run_error: {
    group: "failure",
    advice: "The trigger log says why. Mend that, then replay the deliveries",
  },
  execution_error: {
    group: "failure",
    advice: "The logs of the executions say why. Mend that, then replay the deliveries",
  },
  pipeline_error: {
    group: "failure",
    advice: "The pipeline says which node failed and why. Mend that, then start it again",
  },
  schedule_failed: {
    group: "failure",
    advice: "Mend what the text says: the occurrence is tried again until it is stored",
  },
  silent: {
    group: "failure",
    advice: "Look whether the sender still sends, to this address, and with the right secret",
  },
  notifier_failed: {
    group: "failure",
    advice: "Mend the notifier's address, its secret or its server, then test it",
  },
  refused: {
    group: "failure",
    advice:
      "Each delivery says which condition refused it, and diagnose says why a signature is wrong",
  },
  setting_missing: {
    group: "setup",
    advice: "Change the variables of the app where you need it: launches are taken all the same",
  },
  trigger_setup: {
    group: "setup",
    advice: "Change the trigger, or dismiss the warning with a reason",
  },
} as const satisfies Record<string, { group: CauseGroup; advice: string }>;

/** The code of a cause. */
export type CauseCode = keyof typeof CAUSES;

/** All codes. */
export const CAUSE_CODES = Object.keys(CAUSES) as [CauseCode, ...CauseCode[]];

/** The codes of failures, of which notifiers tell. */
export const FAILURE_CODES = CAUSE_CODES.filter((code) => CAUSES[code].group === "failure");

/** A reason to look at something. */
export interface Cause {
  /** Stays the same as long as it lasts; that of a warning is another one when what it says changes. */
  id: string;
  code: CauseCode;
  group: CauseGroup;
  subject: Subject;
  /** The time since which it lasts, RFC 3339. */
  since: string;
  text: string;
  /** The next step for who looks at it. */
  advice: string;
  /** JSON Pointers into the trigger, of a warning. */
  pointers?: string[];
  /** Of a warning that was dismissed. */
  dismissed?: Omit<Dismissal, "id" | "text">;
}

/** A part of the service that knows causes of its own. */
export interface CauseSource {
  causes(): Cause[];
}

const ID_LENGTH = 12;

/**
 * Makes a cause.
 *
 * @param since_ms milliseconds since the epoch
 */
export function newCause(
  code: CauseCode,
  subject: Subject,
  { text, since_ms, isSaid = false, part }: {
    text: string;
    since_ms: number;
    /** Tells causes of a subject and a code apart, such as a step. */
    part?: string | undefined;
    /** True where the text tells causes of a subject and a code apart. */
    isSaid?: boolean;
  },
): Cause {
  const { group, advice } = CAUSES[code];
  const { kind, name, id = name } = subject;
  const told = JSON.stringify([code, kind, id, ...isSaid ? [text] : [], ...part ? [part] : []]);
  return {
    id: hash("sha256", told).slice(0, ID_LENGTH),
    code,
    group,
    subject,
    since: new Date(since_ms).toISOString(),
    text,
    advice,
  };
}
