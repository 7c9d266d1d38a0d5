/**
 * What there is too little of for a while: files that the process may open, processes, memory. What fails
 * for want of it says nothing of what was to be done, which goes well as soon as others let go of theirs.
 *
 * @module
 */

/** How the system calls it. */
const CODES: readonly unknown[] = ["EMFILE", "ENFILE", "EAGAIN", "ENOMEM"];

/** Whether something failed for want of what there will be again, itself or what caused it. */
export function isShortage(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return "code" in error && CODES.includes(error.code) || isShortage(error.cause);
}
