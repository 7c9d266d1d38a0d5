/**
 * The runners that cannot be asked. Nothing is concluded about their executions: those wait, and hold up no others.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import type { Clock } from "../../../platform/clock.ts";
import { pause } from "../../../platform/waiting/timers.ts";
import type { Outage } from "../../engine.ts";
import { callContainers, ContainersUnreachableError } from "./container_cli.ts";
import { CONTAINER_PROGRAMS, type ContainerProgram } from "./container_program.ts";

/** The interval of asking a runner that did not answer, and the time it has for that. */
const PROBE_MS = 1_000;
const PROBE_TIMEOUT_MS = 10_000;

const log = getLogger(["hooklaunch", "engine"]);

interface ReachabilityParts {
  clock: Clock;
  /** The folder of all executions. */
  root: string;
  /** Aborted when the service stops. */
  signal: AbortSignal;
  /** Called when a runner is lost, and when it answers again. */
  onChange(runner: string, isDown: boolean): void;
}

/** An execution that asks a runner. */
interface Asker {
  program: ContainerProgram;
  project: string;
  signal: AbortSignal;
  /** Called with the reason when the runner does not answer, and without one when it does again. */
  onOutage(reason?: string): Promise<void>;
}

interface Down {
  since: string;
  detail: string;
  projects: Set<string>;
  /** Resolves when it answers. */
  back: Promise<void>;
  /** Resolves when it is not asked any more. */
  probing: Promise<void>;
}

/** Knows which runners answer. */
export class Reachability {
  readonly #parts: ReachabilityParts;
  readonly #down = new Map<string, Down>();

  constructor(parts: ReachabilityParts) {
    this.#parts = parts;
  }

  get outages(): Outage[] {
    return Array.from(this.#down.values(), ({ since, detail, projects }) => ({
      since,
      detail,
      projects: [...projects],
    }));
  }

  /** Asks a runner whether it answers. */
  async answers(runner: string): Promise<boolean> {
    const program = CONTAINER_PROGRAMS.find(({ name }) => name === runner);
    return program === undefined || await this.#answers(program);
  }

  /** Returns why a runner did not answer when it was asked last; undefined when it did. */
  whyDown(runner: string): string | undefined {
    return this.#down.get(runner)?.detail;
  }

  /**
   * Does work with a runner: while that does not answer, waits and then does it again.
   *
   * @throws {ContainersUnreachableError} when the signal is aborted meanwhile
   */
  async reaching<T>(asker: Asker, work: () => Promise<T>): Promise<T> {
    const { signal, onOutage } = asker;
    for (let isOut = false;;) {
      try {
        const result = await work();
        if (isOut) await onOutage();
        return result;
      } catch (error) {
        if (!(error instanceof ContainersUnreachableError) || signal.aborted) throw error;
        const back = this.lost(asker, error);
        await onOutage(error.message);
        isOut = true;
        await untilAborted(back, signal);
        if (signal.aborted) throw error;
      }
    }
  }

  /**
   * Takes in that a runner did not answer.
   *
   * @returns resolves when it does
   */
  lost(
    { program, project }: Pick<Asker, "program" | "project">,
    { message }: ContainersUnreachableError,
  ): Promise<void> {
    const { name } = program;
    const known = this.#down.get(name);
    if (known) {
      known.detail = message;
      known.projects.add(project);
      return known.back;
    }
    log.warn("The runner {runner} cannot be asked, its executions wait: {error}", {
      runner: name,
      error: message,
    });
    const since = new Date(this.#parts.clock.now()).toISOString();
    const { promise: back, resolve } = Promise.withResolvers<void>();
    const probing = this.#probe(program, resolve);
    this.#down.set(name, { since, detail: message, projects: new Set([project]), back, probing });
    this.#parts.onChange(name, true);
    return back;
  }

  /** Resolves when nothing is asked any more. The signal was aborted before. */
  async close(): Promise<void> {
    await Promise.all(Array.from(this.#down.values(), ({ probing }) => probing));
  }

  async #probe(program: ContainerProgram, onBack: () => void): Promise<void> {
    const { clock, root, signal } = this.#parts;
    do await pause(clock, PROBE_MS, signal); while (
      !signal.aborted && !await this.#answers(program)
    );
    if (signal.aborted) return;
    const { name } = program;
    log.info("The runner {runner} can be asked again", { runner: name, folder: root });
    this.#down.delete(name);
    onBack();
    this.#parts.onChange(name, false);
  }

  async #answers(program: ContainerProgram): Promise<boolean> {
    const { root: cwd, signal } = this.#parts;
    const options = { cwd, signal, timeout_ms: PROBE_TIMEOUT_MS };
    // What else it may say is for those who ask it.
    return await callContainers(program, ["ps", "--quiet", "--last=1"], options)
      .then(() => true, () => false);
  }
}

async function untilAborted(work: Promise<void>, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  signal.addEventListener("abort", () => resolve(), { once: true });
  if (signal.aborted) return;
  await Promise.race([work, promise]);
}
