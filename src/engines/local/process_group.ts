/**
 * The leader of an execution's session: the wrapper, started by this service or found again by it.
 *
 * @module
 */
import { delay } from "@std/async/delay";
import { type Mark, readMark } from "./control_files.ts";
import { FOR_COMMANDS, passedOn } from "../shared/environment.ts";
import { isAlive, signalSession } from "./processes.ts";
import type { CommandHandle } from "./runners/runner.ts";
import type { WorkFolder } from "./work_folder.ts";
import { MARK_IS_TAKEN, wrapperArguments, type WrapperOptions } from "./wrapper.ts";

/** How often the system is asked whether a process that was found again still lives. */
const LIFE_CHECK_MS = 1_000;
/** How long a wrapper may take until it comes to its command. */
const BEGIN_WAIT_MS = 2_000;
const BEGIN_POLL_MS = 10;

/** Why there is no exit code when nothing else is known. */
const KILLED =
  "The command's process ended without leaving an exit code: something else has killed it";

/** Told of a session whose leader has ended. */
export type OnSessionOver = (session: number) => void;

/**
 * Starts the wrapper in a prepared work folder, in a session of its own: what is sent to the service's
 * process group does not reach it.
 *
 * @param beginSession as the machine has it
 */
export function startProcessGroup(
  folder: WorkFolder,
  options: WrapperOptions,
  { beginSession, onSessionOver }: {
    beginSession: readonly string[];
    onSessionOver: OnSessionOver;
  },
): CommandHandle {
  const [program = "sh", ...args] = [...beginSession, "sh", ...wrapperArguments(options)];
  const child = new Deno.Command(program, {
    args,
    // It makes Deno fork, which stops the service the longer the more memory it has.
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

/** Waits until a wrapper comes to its command: before that it is deaf to SIGTERM, or has no session. */
async function untilBegun(folder: WorkFolder, isOver: () => boolean): Promise<void> {
  for (let waited_ms = 0; waited_ms < BEGIN_WAIT_MS && !isOver(); waited_ms += BEGIN_POLL_MS) {
    if (readMark(folder)?.hasBegun) return;
    await delay(BEGIN_POLL_MS);
  }
}

/** Follows a wrapper that another service has started. */
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
 * A wrapper that ended with an earlier start of the machine: its id is another process's now, or nobody's.
 *
 * @param lost why it may have left no exit code
 */
export function endedProcessGroup(lost: string): CommandHandle {
  return {
    cameSecond: false,
    signal: () => Promise.resolve(),
    settle: () => Promise.resolve({ lost }),
    release: () => {},
    over: Promise.resolve(),
    isOver: () => Promise.resolve(true),
  };
}

/** What leaders have in common. The wrapper's id is also that of its session. */
function sessionOf(pid: number, onSessionOver: OnSessionOver) {
  return {
    cameSecond: false,
    signal: (signal: "TERM" | "KILL") => signalSession(pid, signal),
    settle() {
      onSessionOver(pid);
      return Promise.resolve({ lost: KILLED });
    },
    release: () => {},
  };
}
