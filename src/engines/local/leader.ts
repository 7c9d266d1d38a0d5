/**
 * The leader of an execution's session: the wrapper, started by this service or found again by it.
 *
 * @module
 */
import { baseEnvironment } from "./environment.ts";
import { isAlive } from "./processes.ts";
import type { WorkFolder } from "./work_folder.ts";
import { MARK_IS_TAKEN, wrapperArguments, type WrapperOptions } from "./wrapper.ts";

/** How often the system is asked whether a process that was found again still lives. */
const LIFE_CHECK_MS = 1_000;

/** A wrapper process. Its id is also that of its session. */
export interface Leader {
  readonly pid: number;
  /** Resolves when it has ended, where that can be known without asking. */
  readonly over: Promise<unknown>;
  /**
   * Whether it has ended.
   *
   * @param isDue whether it should have, so that asking is worth its while
   */
  isOver(isDue: boolean): Promise<boolean>;
  /** Whether it did nothing because another wrapper came first. */
  readonly cameSecond: boolean;
  /** Stops waiting for it, so that the service can end before it. */
  release(): void;
}

/**
 * Starts the wrapper in a prepared work folder, in a session of its own: what is sent to the service's
 * process group does not reach it.
 *
 * @param setsid the program that begins a session, where there is one
 */
export function startLeader(
  folder: WorkFolder,
  options: WrapperOptions,
  setsid: string | undefined,
): Leader {
  const wrapper = wrapperArguments(options);
  const child = new Deno.Command("sh", {
    // `detached` makes Deno fork, which stops the service the longer the more memory it has.
    args: setsid === undefined ? wrapper : ["-c", 'exec "$@"', "sh", setsid, "sh", ...wrapper],
    detached: setsid === undefined,
    cwd: folder.path,
    clearEnv: true,
    env: baseEnvironment(),
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
  let code: number | undefined;
  const over = child.status.then((status) => void (code = status.code));
  return {
    pid: child.pid,
    over,
    isOver: () => Promise.resolve(code !== undefined),
    get cameSecond() {
      return code === MARK_IS_TAKEN;
    },
    release: () => child.unref(),
  };
}

/** The mark that a wrapper has taken. */
export interface Mark {
  pid: number;
  /** What tells the process from a later one of its id; empty when it did not come to write it. */
  identity: string;
}

/** Reads the mark; undefined when no wrapper has taken it. */
export async function readMark(folder: WorkFolder): Promise<Mark | undefined> {
  try {
    const text = await Deno.readTextFile(folder.control("started"));
    const [, pid = "0", identity = ""] = text.match(/^(\d+) (.*)\n/) ?? [];
    return { pid: Number(pid), identity };
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/** Follows a wrapper that another service has started. */
export function followLeader({ pid, identity }: Mark): Leader {
  let asked_ms = -Infinity;
  return {
    ...endedLeader(pid),
    over: new Promise(() => {}),
    async isOver(isDue) {
      const now_ms = performance.now();
      if (!isDue && now_ms - asked_ms < LIFE_CHECK_MS) return false;
      asked_ms = now_ms;
      return !await isAlive(pid, identity);
    },
  };
}

/** A wrapper that is known to have ended. */
export function endedLeader(pid: number): Leader {
  return {
    pid,
    over: Promise.resolve(),
    isOver: () => Promise.resolve(true),
    cameSecond: false,
    release: () => {},
  };
}

/** Reads the exit code that a wrapper has left; undefined when there is none. */
export async function readExitCode(
  folder: WorkFolder,
): Promise<{ code: number; at_ms: number } | undefined> {
  const path = folder.control("exit_code");
  try {
    const code = (await Deno.readTextFile(path)).match(/^(\d+)\n$/)?.[1];
    if (code === undefined) return undefined;
    const { mtime } = await Deno.stat(path);
    return { code: Number(code), at_ms: mtime?.getTime() ?? 0 };
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}
