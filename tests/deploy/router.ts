/**
 * The front of a platform: it starts a process when a request or a cron comes and none runs, starts more of them
 * under load, and stops those that were sent nothing for a while.
 *
 * @module
 */
import { type HostedProcess, KILL_MS, memoryMib, type Timeline } from "./platform.ts";

/** Options of {@linkcode Router}. */
export interface RouterOptions {
  timeline: Timeline;
  /** The processes that run at once, at most. */
  most: number;
  /** The time without a request after which a process is stopped. */
  idle_ms: number;
}

interface Running {
  process: Promise<HostedProcess>;
  used_ms: number;
  /** The requests and crons under way. */
  busy: number;
  isEnding: boolean;
}

/** Passes requests to processes. */
export class Router implements AsyncDisposable {
  readonly #options: RouterOptions;
  readonly #running = new Set<Running>();
  readonly #ending = new Set<Promise<unknown>>();
  #timer: ReturnType<typeof setInterval>;
  #turn = 0;
  /** Numbers of what was done. */
  readonly counts = { starts: 0, idleStops: 0, stops: 0, kills: 0 };
  /** The most memory that a process has had, in MiB. */
  memory_mib = 0;

  constructor(options: RouterOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.#stopIdle(), Math.min(250, options.idle_ms / 4));
  }

  /** Sends a request to one of the processes. Fails as a connection does when that one is stopped. */
  async fetch(path: string, init?: RequestInit): Promise<Response> {
    return await this.#by(async (process) => await process.fetch(path, init));
  }

  /** Runs a cron in one of the processes. */
  async tick(name: string): Promise<boolean> {
    return await this.#by((process) => process.tick(name));
  }

  /** The processes that take requests. */
  get size(): number {
    return this.#open.length;
  }

  /** Starts one more process. */
  start(): void {
    const running: Running = {
      process: this.#options.timeline.start(),
      used_ms: performance.now(),
      busy: 0,
      isEnding: false,
    };
    this.counts.starts++;
    this.#running.add(running);
  }

  /** Stops one of the processes by SIGINT, and by SIGKILL after some time. */
  stopOne(kill_ms = KILL_MS): void {
    const [running] = this.#open;
    if (running === undefined) return;
    this.counts.stops++;
    this.#end(running, kill_ms);
  }

  /** Stops all processes. Resolves when they have ended. */
  async stopAll(kill_ms = KILL_MS): Promise<void> {
    for (const running of this.#open) this.#end(running, kill_ms);
    await Promise.all(this.#ending);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    await this.stopAll(0);
  }

  get #open(): Running[] {
    return [...this.#running].filter(({ isEnding }) => !isEnding);
  }

  async #by<T>(act: (process: HostedProcess) => Promise<T>): Promise<T> {
    const running = this.#one();
    running.busy++;
    try {
      return await act(await running.process);
    } finally {
      running.busy--;
      running.used_ms = performance.now();
    }
  }

  #one(): Running {
    if (this.#open.length === 0) this.start();
    const open = this.#open;
    const one = open[this.#turn++ % open.length];
    if (one === undefined) throw new RangeError("There is no process");
    return one;
  }

  #stopIdle(): void {
    const now_ms = performance.now();
    for (const running of this.#open) {
      if (running.busy > 0 || now_ms - running.used_ms < this.#options.idle_ms) continue;
      this.counts.idleStops++;
      this.#end(running, KILL_MS);
    }
  }

  #end(running: Running, kill_ms: number): void {
    running.isEnding = true;
    const ending: Promise<unknown> = running.process.then(async (process) => {
      await this.#noteMemory(process);
      process.kill("SIGINT");
      const timer = setTimeout(() => {
        this.counts.kills++;
        process.kill("SIGKILL");
      }, kill_ms);
      await process.ended;
      clearTimeout(timer);
    }).finally(() => {
      this.#running.delete(running);
      this.#ending.delete(ending);
    });
    this.#ending.add(ending);
  }

  async #noteMemory({ pid }: HostedProcess): Promise<void> {
    this.memory_mib = Math.max(this.memory_mib, await memoryMib(pid));
  }
}
