/**
 * The process group of an execution. Its leader is the wrapper, which this service or an earlier one started.
 *
 * @module
 */
import { delay } from "@std/async/delay";
import { type Mark, readMark } from "./control_files.ts";
import { FOR_COMMANDS, passedOn } from "../shared/environment.ts";
import { endRest, isAlive, type Machine, signalSession } from "./processes.ts";
import type { CommandHandle } from "./runners/runner.ts";
import type { WorkFolder } from "./work_folder.ts";
import { MARK_IS_TAKEN, wrapperArguments, type WrapperOptions } from "./wrapper.ts";

/** The interval of looking for a process that an earlier service started. */
const LIFE_CHECK_MS = 1_000;
/** The longest time that a wrapper takes to reach its command. */
const BEGIN_WAIT_MS = 2_000;
const BEGIN_POLL_MS = 10;

/** The reason for a missing exit code when nothing else is known. */
const KILLED =
  "The command's process ended without leaving an exit code: something else has killed it";

/** Gets the session of a leader that has ended. */
export type OnSessionOver = (session: number) => void;

/**
 * Starts the wrapper in a prepared work folder, with a low priority and in its own session: a signal to the
 * service's process group does not reach it.
 */
export function startProcessGroup(
  folder: WorkFolder,
  options: WrapperOptions,
  { machine, onSessionOver }: { machine: Machine; onSessionOver: OnSessionOver },
): CommandHandle {
  const { beginSession, lowPriority } = machine;
  // The service may start `sh`, which becomes any program.
  const before = beginSession.length > 0 ? beginSession : ["sh", "-c", 'exec "$@"', "sh"];
  const command = ["sh", ...wrapperArguments(options)];
  const [program = "sh", ...args] = [...before, ...lowPriority, ...command];
  const child = new Deno.Command(program, {
    args,
    // Makes Deno fork, which stops the service for longer the more memory it has.
    detached: beginSession.length === 0,
    cwd: folder.path,
    clearEnv: true,
    env: passedOn(FOR_COMMANDS),
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
  let code: number | undefined;
  const over = child.status.then((status) => void (code = status.code));
  return {
    ...sessionOf(child.pid, onSessionOver),
    over,
    isOver: () => Promise.resolve(code !== undefined),
    async signal(signal) {
      if (signal === "TERM") await untilBegun(folder, () => code !== undefined);
      await signalSession(child.pid, signal);
    },
    get cameSecond() {
      return code === MARK_IS_TAKEN;
    },
    release: () => child.unref(),
  };
}

/** Waits until a wrapper reaches its command: before that it ignores SIGTERM, or has no session. */
async function untilBegun(folder: WorkFolder, isOver: () => boolean): Promise<void> {
  for (let waited_ms = 0; waited_ms < BEGIN_WAIT_MS && !isOver(); waited_ms += BEGIN_POLL_MS) {
    if (readMark(folder)?.hasBegun) return;
    await delay(BEGIN_POLL_MS);
  }
}

/** Follows a wrapper that an earlier service has started. */
export function followProcessGroup(
  { pid, identity }: Mark,
  onSessionOver: OnSessionOver,
): CommandHandle {
  let asked_ms = -Infinity;
  return {
    ...sessionOf(pid, onSessionOver),
    over: new Promise(() => {}),
    async isOver(isDue) {
      const now_ms = performance.now();
      if (!isDue && now_ms - asked_ms < LIFE_CHECK_MS) return false;
      asked_ms = now_ms;
      return !await isAlive(pid, identity);
    },
  };
}

/**
 * Returns the handle of a wrapper that ended with an earlier start of the machine. Its process id may belong
 * to another process now.
 *
 * @param lost the reason for a missing exit code
 */
export function endedProcessGroup(lost: string): CommandHandle {
  return {
    cameSecond: false,
    signal: () => Promise.resolve(),
    endRest: () => Promise.resolve(),
    settle: () => Promise.resolve({ lost }),
    release: () => {},
    over: Promise.resolve(),
    isOver: () => Promise.resolve(true),
  };
}

/** The common part of the handles. The id of the wrapper is also that of its session. */
function sessionOf(pid: number, onSessionOver: OnSessionOver) {
  return {
    cameSecond: false,
    signal: (signal: "TERM" | "KILL") => signalSession(pid, signal),
    endRest: () => endRest(pid),
    settle() {
      onSessionOver(pid);
      return Promise.resolve({ lost: KILLED });
    },
    release: () => {},
  };
}
