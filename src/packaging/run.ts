/**
 * Programs that a release needs: Deno, git, npm and those that make packages of systems.
 *
 * @module
 */

/** Thrown when a release cannot be made; the message says what to do, or what a program printed. */
export class ReleaseError extends Error {}

/**
 * Runs a program in the checkout, and returns what it prints.
 *
 * @throws {ReleaseError} if it is not there, or ends with another code than 0
 */
export async function run(
  program: string,
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<string> {
  const path = program === "deno" ? Deno.execPath() : program;
  const command = new Deno.Command(path, {
    args: [...args],
    cwd: new URL("../../", import.meta.url),
    env: { NO_COLOR: "1", ...env },
    stdin: "null",
  });
  const ended = await ending(command, program);
  const [printed, told] = [ended.stdout, ended.stderr].map((bytes) =>
    new TextDecoder().decode(bytes)
  );
  if (ended.success) return printed ?? "";
  throw new ReleaseError(
    `${program} ${args[0]} ended with ${ended.code}: ${(told || printed || "").trim()}`,
  );
}

async function ending(command: Deno.Command, program: string): Promise<Deno.CommandOutput> {
  try {
    return await command.output();
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    throw new ReleaseError(`${program} is not installed`);
  }
}
