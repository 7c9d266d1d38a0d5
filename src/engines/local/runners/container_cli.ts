/**
 * Calling a program that runs containers. Each call has a time limit, so that an engine that does not
 * answer is an error and not a wait.
 *
 * @module
 */
import { HooklaunchError } from "../../../platform/errors.ts";
import { readFirstBytes } from "../../../platform/files/bytes.ts";
import { passedOn } from "../../shared/environment.ts";

const CALL_MS = 60_000;
/** Time that a call gets to end after it is given up. */
const KILL_MS = 5_000;
/**
 * Limit of its stdout, and of its stderr: more than a list of containers needs. A registry's answer and the
 * output of a program in a container may have no end.
 */
const OUTPUT_BYTES_MAX = 1024 * 1024;
const MESSAGE_LENGTH_MAX = 500;
const UNREACHABLE =
  /(cannot|failed to|unable to) connect to (the docker|podman)|error during connect|permission denied while trying to connect/i;
/** Of the service's environment, what says where the engine is and how images are fetched. */
const PASSED_ON = [
  "HOME",
  "PATH",
  "DBUS_SESSION_BUS_ADDRESS",
  "XDG_CONFIG_HOME",
  "XDG_DATA_HOME",
  "XDG_RUNTIME_DIR",
  "DOCKER_CERT_PATH",
  "DOCKER_CONFIG",
  "DOCKER_CONTEXT",
  "DOCKER_HOST",
  "DOCKER_TLS_VERIFY",
  "CONTAINERS_CONF",
  "CONTAINERS_REGISTRIES_CONF",
  "CONTAINERS_STORAGE_CONF",
  "CONTAINER_CONNECTION",
  "CONTAINER_HOST",
  "CONTAINER_SSHKEY",
  "REGISTRY_AUTH_FILE",
  "HTTPS_PROXY",
  "HTTP_PROXY",
  "NO_PROXY",
  "https_proxy",
  "http_proxy",
  "no_proxy",
];

/** The program is there, but not the engine that it speaks to. */
export class ContainersUnreachableError extends HooklaunchError {
  override readonly code = "containers_unreachable";
}

/** The program did not do what it was asked for. */
export class ContainersError extends HooklaunchError {
  override readonly code = "containers_failed";
}

export interface CallOptions {
  /** Default: one minute. Who takes longer then counts as not reachable. */
  timeout_ms?: number;
  signal?: AbortSignal;
  /** Podman's monitor of a container leaves a file in the folder that it is started in. */
  cwd?: string;
}

/** The result of a call. */
export interface Answer {
  isOk: boolean;
  stdout: string;
  /** Its error, in a form for an owner. */
  message: string;
}

/**
 * Calls the program.
 *
 * @throws {ContainersUnreachableError} when it cannot reach its engine
 * @throws {ContainersError} when there is no such program, or it does not answer in time
 */
export async function callContainers(
  { name, advice }: { name: string; advice: string },
  args: readonly string[],
  { timeout_ms, signal, cwd }: CallOptions = {},
): Promise<Answer> {
  const child = new Deno.Command("sh", {
    args: ["-c", 'exec "$0" "$@"', name, ...args],
    clearEnv: true,
    env: passedOn(PASSED_ON),
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
    // Ctrl-C in a terminal is sent to the service's process group. A call that it ended would fail an
    // execution, or pass it on to the container.
    detached: true,
    ...(cwd === undefined ? {} : { cwd }),
  }).spawn();
  const timers: ReturnType<typeof setTimeout>[] = [];
  let isLate = false;
  let isEnding = false;
  const end = () => {
    if (isEnding) return;
    isEnding = true;
    kill(child, "SIGTERM");
    timers.push(setTimeout(() => kill(child, "SIGKILL"), KILL_MS));
  };
  const beLate = () => {
    isLate = true;
    end();
  };
  timers.push(setTimeout(beLate, timeout_ms ?? CALL_MS));
  signal?.addEventListener("abort", end);
  if (signal?.aborted) end();
  const [status, stdout, stderr] = await Promise.all([
    child.status,
    readFirstBytes(child.stdout, OUTPUT_BYTES_MAX, { onCut: end }),
    readFirstBytes(child.stderr, OUTPUT_BYTES_MAX, { onCut: end }),
  ]).finally(() => {
    for (const timer of timers) clearTimeout(timer);
    signal?.removeEventListener("abort", end);
  });
  signal?.throwIfAborted();
  if (isLate) {
    const message = `${name} did not answer within ${(timeout_ms ?? CALL_MS) / 1_000} s`;
    // What takes long by itself says nothing of the engine.
    throw timeout_ms ? new ContainersError(message) : new ContainersUnreachableError(message);
  }
  if (stdout.isCut) throw new ContainersError(`${name} wrote more than ${OUTPUT_BYTES_MAX} bytes`);
  const said = decoder.decode(stderr.bytes);
  const message = messageFor(said);
  if (!status.success && UNREACHABLE.test(said)) {
    throw new ContainersUnreachableError(`Cannot reach ${name}: ${message}; ${advice}`);
  }
  // As every shell says it.
  if (status.code === 127 && said.trimEnd().endsWith(`${name}: not found`)) {
    throw new ContainersError(
      `${name} is not installed: install it, or see that it is in the PATH of the service`,
    );
  }
  return { isOk: status.success, stdout: decoder.decode(stdout.bytes).trim(), message };
}

const decoder = new TextDecoder();

function kill(child: Deno.ChildProcess, signal: "SIGTERM" | "SIGKILL"): void {
  try {
    child.kill(signal);
  } catch {
    // It has just ended.
  }
}

/** Extracts the error from the program's output, without warnings, usage and possible credentials. */
export function messageFor(stderr: string): string {
  const lines = stderr.split("\n").map((line) => line.trim()).filter((line) =>
    line !== "" && !/^(time=|WARN|Run ')|^See '/.test(line)
  );
  return lines.join("; ")
    .replace(/^((docker|Error|Error response from daemon): )+/, "")
    .replace(/\/\/[^/@\s"']+@/g, "//…@")
    .replace(/[^\s"']+/g, withoutQuery)
    .slice(0, MESSAGE_LENGTH_MAX);
}

/** A word without the query of the URL in it. By a single expression, long words would take for ever. */
function withoutQuery(word: string): string {
  const start = word.indexOf("//");
  const query = start === -1 ? -1 : word.indexOf("?", start + 3);
  return query === -1 || query === word.length - 1 ? word : `${word.slice(0, query)}?…`;
}
