/**
 * Programs of the system, such as `rm`: the service may start `sh`, which may start them.
 *
 * @module
 */

/**
 * Runs a script with arguments, `$1` and on. The script gets no environment but the path.
 * Everything that it prints is held in memory.
 */
export function shell(
  script: string,
  args: readonly string[],
  options: { signal?: AbortSignal } = {},
): Promise<Deno.CommandOutput> {
  return new Deno.Command("sh", {
    args: ["-c", script, "sh", ...args],
    clearEnv: true,
    env: { PATH: Deno.env.get("PATH") ?? "/usr/local/bin:/usr/bin:/bin" },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
    ...options,
  }).output();
}
