/**
 * Running many commands in one process, which is faster than a process for each. What Deno reads once, as it
 * starts, needs a process of its own: certificates and proxies in variables, the streams themselves.
 *
 * @module
 */
import type { HostedCommand, HostedEnd } from "./command_host.ts";
import { PATIENCE_MS } from "../surroundings.ts";
import { FLAGS } from "./process.ts";

const HOST = new URL("./command_host.ts", import.meta.url).href;

/** A process of commands. */
export interface CommandHost {
  child: Deno.ChildProcess;
  port: number;
}

/** Starts a process of commands. It ends with the module that starts it. */
export async function startHost(): Promise<CommandHost> {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", ...FLAGS, HOST, String(listener.addr.port)],
    env: { NO_COLOR: "1", XDG_CONFIG_HOME: "/nonexistent" },
    stdin: "null",
    stdout: "null",
    stderr: "inherit",
  }).spawn();
  child.unref();
  const ended = child.status.then(({ code }): never => {
    throw new Error(`The process of the commands ended with code ${code}`);
  });
  const connection = await Promise.race([listener.accept(), ended]);
  // Later its end shows by the requests that fail.
  ended.catch(() => {});
  const bytes = new Uint8Array(16);
  const length = await connection.read(bytes) ?? 0;
  return { child, port: Number(new TextDecoder().decode(bytes.subarray(0, length))) };
}

// It begins before any test does, and is left when all of them have ended.
const host = await startHost();

/** Runs `hooklaunch` to its end. A second command begins when the first has ended. */
export function runHosted(
  args: string[],
  env: Record<string, string> = {},
  folder?: string,
): Promise<HostedEnd> {
  const command = { args, env, ...folder === undefined ? {} : { folder } };
  return runIn(host, command, AbortSignal.timeout(PATIENCE_MS));
}

/** Runs a command in a process of commands. */
export async function runIn(
  { port }: CommandHost,
  command: HostedCommand,
  signal?: AbortSignal,
): Promise<HostedEnd> {
  const answer = await fetch(`http://127.0.0.1:${port}/`, {
    method: "POST",
    body: JSON.stringify(command),
    ...signal && { signal },
  });
  return await answer.json();
}
