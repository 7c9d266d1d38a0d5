/**
 * The errors that callers tell apart. Each class is one cause and carries a stable `code` that logs,
 * API answers and tests match on; the message is for people and may change.
 *
 * @module
 */

/** The base of every error that Hooklaunch throws on purpose. */
export abstract class HooklaunchError extends Error {
  /** A stable, machine-readable name of the cause. */
  abstract readonly code: string;

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** One thing that is wrong with a document that an operator wrote. */
export interface Problem {
  /** JSON Pointer (RFC 6901) to the value that is wrong; empty for the document itself. */
  pointer: string;
  /** What was found and what was expected, as one sentence without a full stop. */
  detail: string;
}

/** An operator's input (a trigger, a project, a file) does not hold what it must. */
export class InvalidInputError extends HooklaunchError {
  override readonly code = "invalid_input";

  /** Everything that is wrong, at least one. */
  readonly problems: readonly Problem[];

  /**
   * @param what what was being read, for the first words of the message
   * @param wrong everything that is wrong with it; or one sentence of the whole
   */
  constructor(what: string, wrong: readonly Problem[] | string) {
    const problems = typeof wrong === "string" ? [{ pointer: "", detail: wrong }] : wrong;
    super(`Cannot accept ${what}: ${problems.map(problemText).join("; ")}`);
    this.problems = problems;
  }
}

/** A problem as an operator reads it. */
export function problemText({ pointer, detail }: Problem): string {
  return pointer === "" ? detail : `${pointer}: ${detail}`;
}

/** Problems of a part, with pointers relative to what it is a part of. */
export function prefixed(at: string, problems: readonly Problem[]): Problem[] {
  return problems.map((problem) => ({ ...problem, pointer: at + problem.pointer }));
}

/** What an operator sent is longer than it may be. */
export class TooLargeError extends HooklaunchError {
  override readonly code = "too_large";
}

/** What an operator sent did not arrive whole. */
export class IncompleteError extends HooklaunchError {
  override readonly code = "incomplete";

  /** @param isLate whether it took too long; else it broke off */
  constructor(message: string, readonly isLate: boolean) {
    super(message);
  }
}

/** Something that was asked for by name or id does not exist. */
export class NotFoundError extends HooklaunchError {
  override readonly code = "not_found";
}

/** What was asked for cannot be done in the state that things are in. */
export class ConflictError extends HooklaunchError {
  override readonly code = "conflict";
}

/** The service cannot take this on now; the same request may succeed later. */
export class UnavailableError extends HooklaunchError {
  override readonly code = "unavailable";

  /**
   * @param message what cannot be done and why
   * @param retryAfter_s when to try again, in seconds
   */
  constructor(message: string, readonly retryAfter_s: number, options?: ErrorOptions) {
    super(message, options);
  }
}

/** An action of a run could not do its work; the message goes to the trigger log. */
export class ActionError extends HooklaunchError {
  override readonly code = "action_failed";
}

/**
 * The message of anything that was thrown. What Deno advises where it lets nobody in who may not do
 * everything, below /dev, /proc and the like, is left out: the tasks and the binary are given no such flag.
 */
export function messageOf(error: unknown): string {
  if (error instanceof Deno.errors.NotCapable && error.message.startsWith("Requires all access")) {
    return "Deno does not allow it";
  }
  return error instanceof Error ? error.message : String(error);
}
