/**
 * Asking before something is changed for good.
 *
 * @module
 */
import { ConflictError, InvalidInputError } from "../../platform/errors.ts";
import { harmless } from "./table.ts";

/**
 * Asks a question at a terminal.
 *
 * @throws {ConflictError} when the answer is not yes
 * @throws {InvalidInputError} when nobody is there to answer
 */
export function confirm(question: string): void {
  if (!Deno.stdin.isTerminal()) {
    throw new InvalidInputError(
      "the command",
      "Expected --yes, as there is no terminal to ask at, found none",
    );
  }
  const answer = globalThis.prompt(`${harmless(question)} [y/N]`);
  if (!/^y(es)?$/i.test(answer?.trim() ?? "")) throw new ConflictError("Nothing was changed");
}
