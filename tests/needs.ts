/**
 * What some tests need of the machine beside Deno, git and a shell. A test that needs what is not
 * there is left out, and `deno task test` says so.
 *
 * @module
 */

/** The commands, and what is left out without them. */
export const OPTIONAL_COMMANDS = {
  curl: "pasting the demo's curl line into a shell",
  openssl: "pasting the demo's curl line into a shell",
} as const;

/** Whether the shell finds a command. */
export function has(command: keyof typeof OPTIONAL_COMMANDS | "git"): boolean {
  return new Deno.Command("sh", { args: ["-c", `command -v ${command}`], stdout: "null" })
    .outputSync().success;
}
