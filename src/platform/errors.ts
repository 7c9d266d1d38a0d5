/**
 * The errors that callers tell apart. Each class stands for one cause and has a stable `code`, on
 * which logs, API answers and tests rely. The message is for people and may change.
 *
 * @module
 */

/** The base class of every error that Hooklaunch throws on purpose. */
export abstract class HooklaunchError extends Error {
  /** The stable, machine-readable name of the cause. */
  abstract readonly code: string;

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** One thing that is wrong with a document that an operator wrote. */
export interface Problem {
  /** A JSON Pointer (RFC 6901) to the wrong value; empty for the document itself. */
  pointer: string;
  /** One sentence without a full stop that says what was expected and what was found. */
  detail: string;
}

/** An operator's input (a trigger, a project, a file) is not what it must be. */
export class InvalidInputError extends HooklaunchError {
  override readonly code = "invalid_input";

  /** Everything that is wrong, at least one thing. */
  readonly problems: readonly Problem[];

  /**
   * @param what what was being read, for the first words of the message
   * @param wrong everything that is wrong with it, or one sentence about the whole
   */
  constructor(what: string, wrong: readonly Problem[] | string) {
    const problems = typeof wrong === "string" ? [{ pointer: "", detail: wrong }] : wrong;
    super(`Cannot accept ${what}: ${problems.map(problemText).join("; ")}`);
    this.problems = problems;
  }
}

/** Formats a problem for an operator. */
export function problemText({ pointer, detail }: Problem): string {
  return pointer === "" ? detail : `${pointer}: ${detail}`;
}

/** Moves the problems of a part to the whole: puts the pointer of the part before theirs. */
export function prefixed(at: string, problems: readonly Problem[]): Problem[] {
  return problems.map((problem) => ({ ...problem, pointer: at + problem.pointer }));
}

/** An operator sent more than is allowed. */
export class TooLargeError extends HooklaunchError {
  override readonly code = "too_large";
}

/** A request of an operator did not arrive completely. */
export class IncompleteError extends HooklaunchError {
  override readonly code = "incomplete";

  /** @param isLate true if it took too long, false if it broke off */
  constructor(message: string, readonly isLate: boolean) {
    super(message);
  }
}

/** Something that was requested by name or id does not exist. */
export class NotFoundError extends HooklaunchError {
  override readonly code = "not_found";
}

/** Something that was requested was removed, as the owner has set it. */
export class RemovedError extends HooklaunchError {
  override readonly code = "removed";
}

/** The operator's token does not allow the request. */
export class ForbiddenError extends HooklaunchError {
  override readonly code = "forbidden";
}

/** A request cannot be fulfilled in the present state of things. */
export class ConflictError extends HooklaunchError {
  override readonly code = "conflict";
}

/** A record has changed since the client read it: `If-Match` names another revision. */
export class ChangedError extends HooklaunchError {
  override readonly code = "changed";

  /** @param differences the fields in which the stored and the sent record differ */
  constructor(message: string, readonly differences: readonly Problem[]) {
    super(message);
  }
}

/** The service cannot do this now; the same request may succeed later. */
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

/** An action of a run failed. The message goes to the trigger log. */
export class ActionError extends HooklaunchError {
  override readonly code = "action_failed";
}

/**
 * Returns the message of anything that was thrown. Below /dev, /proc and similar folders Deno
 * suggests a flag, which neither the tasks nor the binary have: that part is left out.
 */
export function messageOf(error: unknown): string {
  if (error instanceof Deno.errors.NotCapable && error.message.startsWith("Requires all access")) {
    return "Deno does not allow it";
  }
  return error instanceof Error ? error.message : String(error);
}

/** The error codes of resources that are short for a while: open files, processes and memory. */
const SHORTAGES: readonly unknown[] = ["EMFILE", "ENFILE", "EAGAIN", "ENOMEM"];

/**
 * Returns true for an error, or one with a cause, that goes away by itself: when others release resources, or
 * when what could not be used can be again, such as an artifact store.
 */
export function isShortage(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof UnavailableError) return true;
  return "code" in error && SHORTAGES.includes(error.code) || isShortage(error.cause);
}
