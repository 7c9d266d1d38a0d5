/**
 * The check for git on this machine.
 *
 * @module
 */

/** Finds out if git works on this machine. */
export async function hasGit(): Promise<boolean> {
  try {
    const child = new Deno.Command("git", { args: ["--version"], stdout: "null", stderr: "null" });
    return (await child.output()).success;
  } catch (error) {
    const { NotFound, NotCapable, PermissionDenied, NotSupported } = Deno.errors;
    const cannotRun = [NotFound, NotCapable, PermissionDenied, NotSupported];
    if (cannotRun.some((kind) => error instanceof kind)) return false;
    throw error;
  }
}
