/**
 * A cluster for tests: its jobs are processes of this machine. What it knows lies in a folder, so that it
 * outlives the service. It can be told to misbehave, as clusters do.
 *
 * @module
 */
import { join } from "node:path";
import { exists } from "../../../src/platform/files/missing_file.ts";
import type {
  Backend,
  JobRef,
  JobSpec,
  Launched,
  Seen,
} from "../../../src/engines/remote/backend.ts";

/** What a cluster does wrong. All of it can be changed at any time. */
export interface Faults {
  /** Nothing can be asked, and nothing is launched. */
  isAway?: boolean;
  /** The next launches that start a job, and say that they failed. */
  unanswered?: number;
  /** The next launches that say that they worked, and start nothing. */
  dropped?: number;
  /** The next launches that start another job a moment later. */
  doubled?: number;
  /** The next launches whose jobs appear with the job of a launch that comes behind them. */
  late?: number;
  /** Jobs are not shown, though they run. */
  isForgetful?: boolean;
  /** A name that was taken stands for its first job until that is removed, as in Kubernetes. */
  keepsNames?: boolean;
  /** Why jobs wait, and do not start. */
  pending?: string | undefined;
}

/** The time after which a job that is started twice starts again: the command runs then. */
const DOUBLE_MS = 700;
/** The longest time from the folder of a job to its process. */
const START_MS_MAX = 10_000;
const QUICK_AGENT = { HOOKLAUNCH_TICK: "0.25", HOOKLAUNCH_SILENCE: "0.3" };
/** Runs the agent, and leaves its own process id, the agent's, and the agent's exit code. */
const RUN = "echo $$ >runner; PATH=${AGENT_PATH:-$PATH}; unset AGENT_PATH; " +
  "sh ./script >agent.out 2>&1 & echo $! >pid; wait $!; echo $? >exit";
/** Kills all processes that work in the folder $1. One `find` reads all links, and not a process for each. */
const KILL_ALL = `
find /proc/[0-9]*/cwd -maxdepth 0 -lname "$1*" 2>/dev/null | while IFS=/ read -r root proc pid cwd; do
  kill -KILL "$pid"
done`;

/** Tells of each process id that it reads whether that process lives. */
const TELL = `while read -r process; do kill -0 "$process" && echo yes || echo no; done`;

/** A shell that tells which processes live: one for all jobs, each of which is looked at ten times a second. */
class Lives implements AsyncDisposable {
  #child: Deno.ChildProcess | undefined;
  #input: WritableStreamDefaultWriter<Uint8Array> | undefined;
  #output: ReadableStreamDefaultReader<string> | undefined;
  #told = "";
  #last: Promise<unknown> = Promise.resolve();

  /** Returns true when a process lives, or has ended and its parent does not know yet. */
  of(pid: string): Promise<boolean> {
    const answer = this.#last.then(() => this.#ask(pid));
    this.#last = answer.catch(() => {});
    return answer;
  }

  async #ask(pid: string): Promise<boolean> {
    this.#begin();
    await this.#input?.write(new TextEncoder().encode(`${pid}\n`));
    while (!this.#told.includes("\n")) {
      const { value, done } = await this.#output?.read() ?? { done: true };
      if (done) throw new Error("The shell that looks at processes has ended");
      this.#told += value;
    }
    const [line, ...rest] = this.#told.split("\n");
    this.#told = rest.join("\n");
    return line === "yes";
  }

  #begin(): void {
    if (this.#child) return;
    const options = { stdin: "piped", stdout: "piped", stderr: "null" } as const;
    this.#child = new Deno.Command("sh", { args: ["-c", TELL], ...options }).spawn();
    this.#input = this.#child.stdin.getWriter();
    this.#output = this.#child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#last;
    await this.#input?.close();
    await this.#child?.status;
    await this.#output?.cancel();
    this.#child = undefined;
  }
}

/** Runs jobs as processes. */
export class TestCluster implements Backend {
  readonly faults: Faults = {};
  /** The folders in which agents find programs; those of this machine when absent. */
  path: string | undefined;
  readonly #folder: string;
  readonly #delays = new Set<ReturnType<typeof setTimeout>>();
  readonly #lives = new Lives();
  /** The functions that start the launched jobs, in order. */
  readonly #starts: (() => Promise<void>)[] = [];
  /** Each resolves when the process of a job has begun. */
  readonly #begins = new Set<Promise<void>>();
  /** Each resolves when the process of a job has ended. */
  readonly #ends = new Set<Promise<unknown>>();
  /** The number of requests to look at jobs. */
  looks = 0;

  /** @param folder the folder of its jobs */
  constructor(folder: string) {
    this.#folder = folder;
  }

  async launch({ name, script }: JobSpec): Promise<Launched> {
    const { faults } = this;
    this.#expectReachable();
    if (faults.keepsNames && (await this.copies(name)).length > 0) {
      return { id: name, isNew: false };
    }
    const made = { id: name, isNew: true };
    if (take(faults, "dropped")) return made;
    const start = () => this.#start(name, script);
    this.#starts.push(start);
    if (take(faults, "late")) return made;
    await Promise.all(this.#starts.splice(0).map((each) => each()));
    if (take(faults, "doubled")) this.#delays.add(setTimeout(start, DOUBLE_MS));
    if (take(faults, "unanswered")) throw new TypeError("the connection was closed");
    return made;
  }

  async look(jobs: readonly JobRef[]): Promise<ReadonlyMap<string, Seen>> {
    this.#expectReachable();
    this.looks++;
    const seen = new Map<string, Seen>();
    for (const { name } of jobs) seen.set(name, await this.#seen(name));
    return seen;
  }

  async cancel({ name }: JobRef): Promise<void> {
    this.#expectReachable();
    await this.terminate(name);
  }

  async remove({ name }: JobRef): Promise<void> {
    this.#expectReachable();
    const folder = join(this.#folder, name);
    await Promise.all(this.#begins);
    // An agent that still works there would make the folder again.
    while (await exists(folder)) {
      await this.destroy(name);
      await Deno.remove(folder, { recursive: true }).catch(() => {});
    }
  }

  /** Tells the agents of a job to end. */
  async terminate(name: string): Promise<void> {
    for (const copy of await this.copies(name)) {
      const pid = textOf(join(copy, "pid")).trim();
      if (pid !== "") await sh('kill -TERM "$1"', pid);
    }
  }

  /** Ends a job with all that it has started, at once, as the loss of its machine does. */
  async destroy(name: string): Promise<void> {
    await sh(KILL_ALL, join(this.#folder, name));
  }

  /** The folders of a job's agents. */
  async copies(name: string): Promise<string[]> {
    const folder = join(this.#folder, name);
    try {
      return (await Array.fromAsync(Deno.readDir(folder))).map((each) => join(folder, each.name));
    } catch {
      return [];
    }
  }

  /** Ends everything. */
  async end(): Promise<void> {
    for (const timer of this.#delays) clearTimeout(timer);
    await Promise.all(this.#begins);
    await sh(KILL_ALL, this.#folder);
    await Promise.all(this.#ends);
    await this.#lives[Symbol.asyncDispose]();
  }

  /** Writes the program of a job into its folder. */
  protected async prepare(folder: string, script: string): Promise<void> {
    await Deno.writeTextFile(join(folder, "script"), script);
  }

  #expectReachable(): void {
    if (this.faults.isAway) throw new TypeError("the cluster is away");
  }

  async #seen(name: string): Promise<Seen> {
    if (this.faults.isForgetful) return { kind: "absent" };
    const copies = await this.copies(name);
    if (copies.length === 0) {
      const { pending } = this.faults;
      return pending === undefined ? { kind: "absent" } : { kind: "pending", detail: pending };
    }
    const states = await Promise.all(copies.map(async (copy) => {
      if (textOf(join(copy, "exit")) !== "") return "ended";
      const runner = textOf(join(copy, "runner")).trim();
      // Deno reads /proc only where everything is allowed. Without a runner it is about to start, or who was to
      // start it was killed.
      const isAlive = runner === "" ? isNew(copy) : await this.#lives.of(runner);
      // The runner writes it before it ends, which it may have done since.
      if (textOf(join(copy, "exit")) !== "") return "ended";
      if (isAlive) return "running";
      return runner === "" ? "absent" : "lost";
    }));
    if (states.includes("running")) return { kind: "running" };
    if (states.every((state) => state === "absent")) return { kind: "absent" };
    const exit = textOf(join(copies[0] ?? "", "exit")).trim();
    if (states.includes("lost")) return { kind: "ended", reason: "node failure", isLost: true };
    return { kind: "ended", reason: `exit code ${exit}`, isExit: true };
  }

  async #start(name: string, script: string): Promise<void> {
    if (this.faults.pending !== undefined) {
      this.#delays.add(setTimeout(() => this.#start(name, script), 50));
      return;
    }
    const begin = this.#begin(name, script).finally(() => this.#begins.delete(begin));
    this.#begins.add(begin);
    await begin;
  }

  async #begin(name: string, script: string): Promise<void> {
    const folder = join(this.#folder, name, crypto.randomUUID());
    await Deno.mkdir(folder, { recursive: true });
    await this.prepare(folder, script);
    const process = new Deno.Command("setsid", {
      args: ["sh", "-c", RUN],
      cwd: folder,
      env: { ...QUICK_AGENT, ...(this.path !== undefined && { AGENT_PATH: this.path }) },
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).spawn();
    process.unref();
    const end: Promise<unknown> = process.status.finally(() => this.#ends.delete(end));
    this.#ends.add(end);
  }
}

function take(faults: Faults, name: "unanswered" | "dropped" | "doubled" | "late"): boolean {
  const left = faults[name] ?? 0;
  if (left > 0) faults[name] = left - 1;
  return left > 0;
}

function textOf(path: string): string {
  try {
    return Deno.readTextFileSync(path);
  } catch {
    return "";
  }
}

/** Returns true for a folder that was made a moment ago. */
function isNew(folder: string): boolean {
  try {
    const { birthtime, mtime } = Deno.statSync(folder);
    return Date.now() - (birthtime ?? mtime ?? new Date(0)).getTime() < START_MS_MAX;
  } catch {
    return false;
  }
}

/** Returns true when a script succeeds. */
async function sh(script: string, ...args: string[]): Promise<boolean> {
  const { success } = await new Deno.Command("sh", {
    args: ["-c", script, "sh", ...args],
    stdout: "null",
    stderr: "null",
  }).output();
  return success;
}
