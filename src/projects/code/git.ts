/**
 * Running git: without prompts, with no more of the service's environment than it needs, and with a
 * time limit.
 *
 * @module
 */
import { deadline } from "@std/async/deadline";
import { ignoreTimeout } from "../../platform/waiting/promises.ts";
import { HooklaunchError } from "../../platform/errors.ts";
import { readFirstBytes } from "../../platform/files/bytes.ts";
import { shell } from "../../platform/run_script.ts";

const STDERR_BYTES_MAX = 16 * 1024;
const KILL_GRACE_MS = 2_000;
/** The variables that git gets: they tell where its settings are, and how it reaches a network. */
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
 * Settings for every command: a repository can run no program, and git drops no objects and does no
 * background work.
 */
const SETTINGS = [
  "core.hooksPath=/dev/null",
  "core.fsmonitor=false",
  "gc.auto=0",
  "maintenance.auto=false",
  "advice.detachedHead=false",
  // A fetch may outlive a killed service: it must not wait for a silent server forever.
  "http.lowSpeedLimit=1",
  "http.lowSpeedTime=600",
].flatMap((setting) => ["-c", setting]);

/** A git command that failed. The message ends with what git said. */
export class GitError extends HooklaunchError {
  override readonly code = "git_failed";
  /** Hooklaunch ended the command before it was done. */
  readonly wasEnded: boolean;
  readonly exitCode: number | undefined;

  constructor(
    message: string,
    { wasEnded = false, exitCode }: { wasEnded?: boolean; exitCode?: number } = {},
  ) {
    super(message);
    this.wasEnded = wasEnded;
    this.exitCode = exitCode;
  }
}

/** Options of {@linkcode git}. */
export interface GitOptions {
  /** Variables in addition to those that git always gets. */
  env?: Record<string, string>;
  cwd?: string;
  stdin?: string;
  /** The limit of its output. Default 1 MiB. */
  stdoutBytesMax?: number;
  /** Text on stderr that is a failure, also with exit code 0. */
  failsOn?: RegExp;
  /** Ends git when it aborts. */
  signal?: AbortSignal;
  /**
   * Runs git in its own session, for the price of a fork. It has no terminal there, so ssh cannot
   * ask for a password, and everything that it starts ends with it.
   */
  ownSession?: boolean;
  /**
   * Lets git read the configuration of the machine and the service's user. It is for commands that
   * talk to a remote, for which it may have a `safe.directory`, for instance.
   */
  usesConfiguration?: boolean;
}

/**
 * Without configuration, the files of a repository can select nothing, such as the filters of
 * `.gitattributes`.
 */
const NO_CONFIGURATION = { GIT_CONFIG_NOSYSTEM: "1", GIT_CONFIG_GLOBAL: "/dev/null" };

/**
 * Runs one git command, and returns its output.
 *
 * @throws {GitError} when its exit code is not 0, it writes too much or the signal ends it
 */
export async function git(args: readonly string[], options: GitOptions): Promise<Uint8Array> {
  const { env = {}, cwd, stdin, stdoutBytesMax = 1024 * 1024, failsOn, signal } = options;
  const { ownSession = false, usesConfiguration = false } = options;
  if (signal?.aborted) {
    throw new GitError("git was not started: the work was aborted", { wasEnded: true });
  }
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
  // Ends the reading of its output, which a process that left its session may hold open.
  const unread = new AbortController();
  let ended: Promise<void> | undefined;
  const end = () => {
    ended ??= endProcess(child, ownSession, output).finally(() => unread.abort());
  };
  const output = Promise.all([
    // A command that writes without end would run without end.
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
      throw new GitError(`git ${command} was ended before it was done`, { wasEnded: true });
    }
    if (stdout.isCut) {
      throw new GitError(`git ${command} wrote more than ${stdoutBytesMax} bytes`, {
        wasEnded: true,
      });
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
    // An empty value also hides the one of the user's settings.
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
 * Ends a process, or its session, first by SIGTERM and then by SIGKILL.
 *
 * @param output settles when no process is left that could write
 */
async function endProcess(
  child: Deno.ChildProcess,
  isSession: boolean,
  output: Promise<unknown>,
): Promise<void> {
  const kill = (name: "TERM" | "KILL") => isSession ? killGroup(child, name) : killOne(child, name);
  await kill("TERM");
  await deadline(child.status, KILL_GRACE_MS).catch(ignoreTimeout);
  // Helpers of git do not end with it: one waits as long as its server is silent.
  await kill("KILL");
  // A killed process may write until it is gone. Only its parent can wait for that, so this waits
  // for its output.
  await deadline(output, KILL_GRACE_MS).catch(ignoreTimeout);
}

function killOne(child: Deno.ChildProcess, name: "TERM" | "KILL"): void {
  try {
    child.kill(`SIG${name}`);
  } catch {
    // It has ended.
  }
}

async function killGroup(leader: Deno.ChildProcess, name: "TERM" | "KILL"): Promise<void> {
  try {
    await shell('kill -s "$1" -- "-$2"', [name, String(leader.pid)]);
  } catch {
    // Files or processes are short, so a shell cannot start. git itself needs no shell to be
    // killed. Its helpers end with their server's answer, or when it was silent for too long.
    killOne(leader, name);
  }
}

async function feed(stream: WritableStream<Uint8Array>, text: string): Promise<void> {
  const writer = stream.getWriter();
  try {
    await writer.write(new TextEncoder().encode(text));
    await writer.close();
  } catch {
    // It ended without reading everything. Its exit code tells if that matters.
  }
}
