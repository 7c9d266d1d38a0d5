/**
 * Runs git: never with a prompt, never with more of the service's environment than it needs, and never
 * for longer than it is given.
 *
 * @module
 */

const STDERR_BYTES_MAX = 16 * 1024;
const KILL_GRACE_MS = 2_000;
/** What of the service's environment git gets: where its settings are, and how it reaches a network. */
const PASSED_ON = [
  "HOME",
  "PATH",
  "SSH_AUTH_SOCK",
  "GIT_SSH_COMMAND",
  "SSL_CERT_FILE",
  "SSL_CERT_DIR",
  "GIT_SSL_CAINFO",
  ...["http_proxy", "https_proxy", "all_proxy", "no_proxy"].flatMap((name) => [
    name,
    name.toUpperCase(),
  ]),
];
/** Settings for every command: nothing in the background, nothing that a repository could have run. */
const SETTINGS = [
  "core.hooksPath=/dev/null",
  "core.fsmonitor=false",
  "gc.autoDetach=false",
  "maintenance.autoDetach=false",
  "advice.detachedHead=false",
].flatMap((setting) => ["-c", setting]);

/** A git command did not do its work. The message ends with what git said. */
export class GitError extends Error {
  override readonly name = "GitError";

  /** @param cut whether it was ended, rather than failed */
  constructor(message: string, readonly cut = false) {
    super(message);
  }
}

/** How git is run. */
export interface GitOptions {
  /** Variables beside those that git always gets. */
  env?: Record<string, string>;
  cwd?: string;
  /** What git reads. */
  stdin?: string;
  /** It fails when it writes more. Default 1 MiB. */
  stdoutBytesMax?: number;
  /** It is ended when this aborts. */
  signal?: AbortSignal;
  /** Whether it speaks with a remote. */
  isRemote?: boolean;
}

/**
 * Runs one git command.
 *
 * @returns what it wrote to stdout
 * @throws {GitError} when it exits with another code than 0, writes too much or is ended by the signal
 */
export async function git(args: readonly string[], options: GitOptions = {}): Promise<Uint8Array> {
  const { env = {}, cwd, stdin, stdoutBytesMax = 1024 * 1024, signal, isRemote = false } = options;
  if (signal?.aborted) throw new GitError("git was not started: it was given up", true);
  const child = new Deno.Command("git", {
    args: [...SETTINGS, ...args],
    clearEnv: true,
    env: { ...baseEnvironment(), ...env },
    ...(cwd === undefined ? {} : { cwd }),
    stdin: stdin === undefined ? "null" : "piped",
    stdout: "piped",
    stderr: "piped",
    // A session of its own has no terminal, so ssh has nowhere to ask for a password. It costs a fork.
    detached: isRemote,
  }).spawn();
  const ending = new AbortController();
  const end = () => ending.abort();
  signal?.addEventListener("abort", end, { once: true });
  const kill = killWhen(ending.signal, child);
  try {
    const [status, stdout, stderr] = await Promise.all([
      child.status,
      read(child.stdout, stdoutBytesMax, ending.signal),
      read(child.stderr, STDERR_BYTES_MAX, ending.signal),
      stdin === undefined ? undefined : writeAll(child.stdin, stdin),
    ]);
    const command = args.find((arg) => /^[a-z]/.test(arg)) ?? "";
    if (signal?.aborted) throw new GitError(`git ${command} was ended before it was done`, true);
    if (stdout.isCut) {
      throw new GitError(`git ${command} wrote more than ${stdoutBytesMax} bytes`, true);
    }
    if (status.success) return stdout.bytes;
    const said = new TextDecoder().decode(stderr.bytes).trim() || "nothing";
    throw new GitError(`git ${command} failed with exit code ${status.code}: ${said}`);
  } finally {
    kill.cancel();
    signal?.removeEventListener("abort", end);
  }
}

function baseEnvironment(): Record<string, string> {
  const env: Record<string, string> = {
    LC_ALL: "C",
    GIT_TERMINAL_PROMPT: "0",
    // Empty, not absent: it then also hides what the person's own settings name.
    GIT_ASKPASS: "",
    SSH_ASKPASS: "",
    GIT_ALLOW_PROTOCOL: "file:git:http:https:ssh",
  };
  for (const name of PASSED_ON) {
    const value = Deno.env.get(name);
    if (value !== undefined) env[name] = value;
  }
  return env;
}

/** Ends a process when told to, by force when it does not end by itself. */
function killWhen(signal: AbortSignal, child: Deno.ChildProcess): { cancel(): void } {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const kill = (name: Deno.Signal) => {
    try {
      child.kill(name);
    } catch {
      // It has ended already.
    }
  };
  const begin = () => {
    kill("SIGTERM");
    timer = setTimeout(() => kill("SIGKILL"), KILL_GRACE_MS);
  };
  signal.addEventListener("abort", begin, { once: true });
  return {
    cancel: () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", begin);
    },
  };
}

/** Reads a stream to its end and keeps the first bytes of it. */
async function read(
  stream: ReadableStream<Uint8Array>,
  bytesMax: number,
  signal: AbortSignal,
): Promise<{ bytes: Uint8Array; isCut: boolean }> {
  const bytes = new Uint8Array(bytesMax);
  let length = 0;
  const reader = stream.getReader();
  // What git started may outlive it and hold the stream open.
  const cancel = () => void reader.cancel().catch(() => {});
  signal.addEventListener("abort", cancel, { once: true });
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) break;
      bytes.set(value.subarray(0, Math.max(0, bytesMax - length)), Math.min(length, bytesMax));
      length += value.length;
    }
  } finally {
    signal.removeEventListener("abort", cancel);
  }
  return { bytes: bytes.subarray(0, Math.min(length, bytesMax)), isCut: length > bytesMax };
}

async function writeAll(stream: WritableStream<Uint8Array>, text: string): Promise<void> {
  const writer = stream.getWriter();
  try {
    await writer.write(new TextEncoder().encode(text));
    await writer.close();
  } catch {
    // It ended without reading everything; its exit code says what of it matters.
  }
}
