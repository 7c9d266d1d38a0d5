/**
 * Runs git: never with a prompt, never with more of the service's environment than it needs, and never
 * for longer than it is given.
 *
 * @module
 */
import { deadline } from "@std/async/deadline";
import { ignoreTimeout } from "../../platform/waiting/promises.ts";
import { HooklaunchError } from "../../platform/errors.ts";
import { readFirstBytes } from "../../platform/files/bytes.ts";
import { shell } from "../../platform/shell.ts";

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
/**
 * Settings for every command: nothing that a repository could have run, and nothing that drops objects
 * or works in the background.
 */
const SETTINGS = [
  "core.hooksPath=/dev/null",
  "core.fsmonitor=false",
  "gc.auto=0",
  "maintenance.auto=false",
  "advice.detachedHead=false",
  // A fetch that outlives a service which was killed must not wait for a silent server for ever.
  "http.lowSpeedLimit=1",
  "http.lowSpeedTime=600",
].flatMap((setting) => ["-c", setting]);

/** A git command that failed. The message ends with what git said. */
export class GitError extends HooklaunchError {
  override readonly code = "git_failed";
  /** Hooklaunch ended the command before it was done. */
  readonly cut: boolean;
  readonly exitCode: number | undefined;

  constructor(
    message: string,
    { cut = false, exitCode }: { cut?: boolean; exitCode?: number } = {},
  ) {
    super(message);
    this.cut = cut;
    this.exitCode = exitCode;
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
  /** What it says on stderr that is a failure too, though it ends well. */
  failsOn?: RegExp;
  /** It is ended when this aborts. */
  signal?: AbortSignal;
  /**
   * Whether it gets a session of its own: it then has no terminal, so ssh has nowhere to ask for a
   * password, and what it started is ended with it. It costs a fork.
   */
  ownSession?: boolean;
  /**
   * Whether it reads the configuration of git that the machine and the service's user have: for what
   * talks to a remote alone, which their owner may have set up so, by a `safe.directory` for instance.
   */
  usesConfiguration?: boolean;
}

/**
 * Without configuration there is nothing that the files of a repository could choose from, such as the
 * programs of filters that `.gitattributes` names.
 */
const NO_CONFIGURATION = { GIT_CONFIG_NOSYSTEM: "1", GIT_CONFIG_GLOBAL: "/dev/null" };

/**
 * Runs one git command.
 *
 * @returns what it wrote to stdout
 * @throws {GitError} when it exits with another code than 0, writes too much or is ended by the signal
 */
export async function git(args: readonly string[], options: GitOptions): Promise<Uint8Array> {
  const { env = {}, cwd, stdin, stdoutBytesMax = 1024 * 1024, failsOn, signal } = options;
  const { ownSession = false, usesConfiguration = false } = options;
  if (signal?.aborted) throw new GitError("git was not started: it was given up", { cut: true });
  const child = new Deno.Command("git", {
    args: [...SETTINGS, ...args],
    clearEnv: true,
    env: { ...baseEnvironment(), ...usesConfiguration ? {} : NO_CONFIGURATION, ...env },
    ...(cwd === undefined ? {} : { cwd }),
    stdin: stdin === undefined ? "null" : "piped",
    stdout: "piped",
    stderr: "piped",
    detached: ownSession,
  }).spawn();
  // Aborted when what it writes is not waited for any more: what left its session may have that open.
  const unread = new AbortController();
  let ended: Promise<void> | undefined;
  const end = () => {
    ended ??= endProcess(child, ownSession, output).finally(() => unread.abort());
  };
  const output = Promise.all([
    // What writes without end would also run without end.
    readFirstBytes(child.stdout, stdoutBytesMax, { signal: unread.signal, onCut: end }),
    readFirstBytes(child.stderr, STDERR_BYTES_MAX, { signal: unread.signal }),
  ]);
  signal?.addEventListener("abort", end, { once: true });
  try {
    const [status, [stdout, stderr]] = await Promise.all([
      child.status,
      output,
      stdin === undefined ? undefined : feed(child.stdin, stdin),
    ]);
    const command = args.find((arg) => /^[a-z-]+$/.test(arg) && !arg.startsWith("-")) ?? "";
    if (signal?.aborted) {
      throw new GitError(`git ${command} was ended before it was done`, { cut: true });
    }
    if (stdout.isCut) {
      throw new GitError(`git ${command} wrote more than ${stdoutBytesMax} bytes`, { cut: true });
    }
    const said = new TextDecoder().decode(stderr.bytes).trim() || "nothing";
    if (status.success && !failsOn?.test(said)) return stdout.bytes;
    throw new GitError(`git ${command} failed with exit code ${status.code}: ${said}`, {
      exitCode: status.code,
    });
  } finally {
    signal?.removeEventListener("abort", end);
    await ended;
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

/**
 * Ends a process, by force when it does not end by itself; a session's with all that it started.
 *
 * @param output settles when nothing of it is left that could write
 */
async function endProcess(
  child: Deno.ChildProcess,
  isSession: boolean,
  output: Promise<unknown>,
): Promise<void> {
  const kill = (name: "TERM" | "KILL") => isSession ? killGroup(child, name) : killOne(child, name);
  await kill("TERM");
  await deadline(child.status, KILL_GRACE_MS).catch(ignoreTimeout);
  // Helpers of git do not end with it: one would wait for its server as long as that is silent.
  await kill("KILL");
  // What is killed goes on for a moment, and may write until it is gone. Nobody but its parent can wait
  // for that; what it writes to is closed then.
  await deadline(output, KILL_GRACE_MS).catch(ignoreTimeout);
}

function killOne(child: Deno.ChildProcess, name: "TERM" | "KILL"): void {
  try {
    child.kill(`SIG${name}`);
  } catch {
    // It has ended already.
  }
}

async function killGroup(leader: Deno.ChildProcess, name: "TERM" | "KILL"): Promise<void> {
  try {
    await shell('kill -s "$1" -- "-$2"', [name, String(leader.pid)]);
  } catch {
    // There may be no files or processes left for a shell. git itself can be told without one; its helpers
    // then end with what their server says, or when it was silent for too long.
    killOne(leader, name);
  }
}

async function feed(stream: WritableStream<Uint8Array>, text: string): Promise<void> {
  const writer = stream.getWriter();
  try {
    await writer.write(new TextEncoder().encode(text));
    await writer.close();
  } catch {
    // It ended without reading everything; its exit code says what of it matters.
  }
}
