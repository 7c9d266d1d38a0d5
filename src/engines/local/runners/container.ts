/**
 * Runs a command in a container of its step's image, with docker or podman. The container is started
 * detached and the wrapper within it does all that must not be missed, so it needs neither the service
 * nor any process of it.
 *
 * Exactly once: the container's name lets the engine make one container only, and the mark that the wrapper
 * takes lets one wrapper only run the command, if a container is started twice.
 *
 * Files that root has made in the container belong to root on the machine too, unless the engine runs
 * without root. The wrapper gives them to the service's user at its end; where it did not come to that, a
 * second container does.
 *
 * @module
 */
import { delay } from "@std/async/delay";
import { dirname, join } from "node:path";
import { exists } from "../../../platform/files/missing_file.ts";
import { hasShebang } from "../../../projects/format/command/command.ts";
import type { Execution } from "../../../store/records/executions.ts";
import { readExitCode } from "../control_files.ts";
import { resolveMounts } from "../mounts.ts";
import { CONTAINER_FOLDER, CONTAINER_MOUNTS, containerLayout, type Layout } from "../layout.ts";
import { folderUse, type Machine } from "../processes.ts";
import { isSameBoot, MAY_HAVE_RUN, OUT_OF_SIGHT } from "../recovery.ts";
import type { LocalSettings } from "../settings.ts";
import {
  containerName,
  type ContainerOptions,
  handOverArguments,
  isImageName,
  runArguments,
} from "./container_arguments.ts";
import {
  type Answer,
  callContainers,
  type CallOptions,
  ContainersError,
  ContainersUnreachableError,
} from "./container_cli.ts";
import { countImage } from "./container_images.ts";
import type { Reachability } from "./reachability.ts";
import { markAsUsed } from "./orphan_containers.ts";
import type { ContainerProgram } from "./container_program.ts";
import { containerWrapperArguments, handOverScript } from "./container_wrapper.ts";
import type { CommandHandle, Found, Job, Runner, Settled } from "./runner.ts";

/** Interval of the checks that a container still runs, and that one has ended. */
const LIFE_CHECK_MS = 5_000;
const END_CHECK_MS = 500;
/** Starting may mean to copy an image, and giving files to another user takes a while for many. */
const LONG_CALL_MS = 5 * 60_000;
const NAME_POLL_MS = 200;

/** The error of a container engine that has no control of processors, such as one without root. */
const NO_PRIORITY = /cpu.?(shares|weight)|controller.*\bcpu\b|\bcpu\b.*controller/i;
const GONE =
  "The command's container ended without leaving an exit code: something else has ended it";

export interface ContainerRunnerParts {
  program: ContainerProgram;
  settings: Pick<LocalSettings, "network" | "mounts">;
  machine: Machine;
  /** The folder of all executions. */
  root: string;
  /** Time limit to pull an image. */
  pull_ms: number;
  /** Time for which an unreachable engine is tried again to remove what is left of an execution. */
  reach_ms: number;
  reachability: Reachability;
}

type ContainerState = {
  status: "absent" | "created" | "running" | "ended";
  isOutOfMemory: boolean;
};

/** Runs commands in containers. */
export class ContainerRunner implements Runner {
  readonly layout: Layout;
  readonly #parts: ContainerRunnerParts;

  constructor(parts: ContainerRunnerParts) {
    this.#parts = parts;
    this.layout = containerLayout(parts.program.name);
  }

  async start(job: Job): Promise<CommandHandle> {
    const { execution, signal } = job;
    const { program } = this.#parts;
    if (!isImageName(execution.image)) {
      throw new ContainersError(`${JSON.stringify(execution.image)} is not the name of an image`);
    }
    await markAsUsed(this.#parts.root, program);
    try {
      await this.#reaching(job, signal, () => this.#startOrFind(job));
    } catch (error) {
      await this.#remove(execution).catch(() => {});
      throw error;
    }
    return this.#leaderOf(job, GONE);
  }

  async find(job: Job): Promise<Found> {
    const { execution, folder, signal } = job;
    const { machine } = this.#parts;
    const lost = isSameBoot(execution, machine) ? GONE : OUT_OF_SIGHT;
    const started: Found = { kind: "started", command: this.#leaderOf(job, lost) };
    if (readExitCode(folder) !== undefined) return started;
    const either = AbortSignal.any([signal, job.givenUp]);
    const { status } = await this.#reaching(job, either, () => this.#state(execution));
    if (status === "running" || await exists(folder.control("started"))) return started;
    if (lost === GONE) return { kind: "not_started" };
    // The mark may have been lost with the power, after the command had begun.
    return { kind: "lost", reason: MAY_HAVE_RUN };
  }

  async clear(job: Job): Promise<void> {
    const { reach_ms } = this.#parts;
    const signal = AbortSignal.any([job.signal, AbortSignal.timeout(reach_ms)]);
    await this.#reaching(job, signal, () => this.#remove(job.execution));
    await this.#handOver(job);
  }

  async diskUse_mb(job: Job): Promise<number> {
    const { folder, signal } = job;
    const [{ mb, isComplete }, layer_mb] = await Promise.all([
      folderUse(folder.path, signal),
      this.#layerUse_mb(job),
    ]);
    if (isComplete || await isRoots(folder.path)) return mb + layer_mb;
    // The command may have made folders that only root may look into.
    return Math.max(mb, await this.#innerUse_mb(job)) + layer_mb;
  }

  /** Makes and starts the container, or finds the one that an earlier service has made. */
  async #startOrFind(job: Job): Promise<void> {
    const { execution, streamBytesMax } = job;
    const { program } = this.#parts;
    const mounts = await resolveMounts(execution.mounts ?? [], this.#parts.settings);
    let hasLowPriority = true;
    const run = () =>
      this.#call([
        ...runArguments(program, { ...this.#options(job), mounts, hasLowPriority }),
        ...containerWrapperArguments({
          hasShebang: hasShebang(execution.command),
          streamBytesMax,
        }),
      ], { timeout_ms: LONG_CALL_MS, cwd: controlOf(job) });
    const end_ms = performance.now() + LONG_CALL_MS;
    for (let mayPull = true;;) {
      const answer = await run();
      if (answer.isOk) return;
      if (isNameTaken(answer) && performance.now() < end_ms) {
        if (await this.#startMade(job)) return;
        await delay(NAME_POLL_MS);
      } else if (hasLowPriority && NO_PRIORITY.test(answer.message)) {
        hasLowPriority = false;
        await this.#remove(execution);
      } else if (mayPull && !await this.#hasImage(execution)) {
        mayPull = false;
        await this.#pull(job);
      } else {
        throw new ContainersError(`${program.name} cannot start a container: ${answer.message}`);
      }
    }
  }

  /**
   * Starts the container that was made by an earlier service.
   *
   * @returns whether it is one to be followed; else there is none of this name soon
   */
  async #startMade(job: Job): Promise<boolean> {
    const { execution, folder } = job;
    const { status } = await this.#state(execution);
    if (status === "running" || await exists(folder.control("started"))) return true;
    const name = containerName(execution);
    if (status === "created") {
      const options = { timeout_ms: LONG_CALL_MS, cwd: controlOf(job) };
      if ((await this.#call(["start", name], options)).isOk) return true;
    }
    // Not by force: it may be running by now.
    if (status !== "absent") await this.#call(["rm", "--volumes", name]);
    // An absent one is just being made, by a call that has outlived its service.
    return false;
  }

  async #pull({ execution, signal, logEvent }: Job): Promise<void> {
    const { program, pull_ms, root } = this.#parts;
    const { image } = execution;
    await logEvent(`Pulling image ${image}`);
    const began_ms = performance.now();
    try {
      const options = { timeout_ms: pull_ms, signal };
      const { isOk, message } = await this.#call(["pull", "--quiet", image], options);
      if (!isOk) throw new ContainersError(message);
    } catch (error) {
      if (!(error instanceof ContainersError)) throw error;
      throw new ContainersError(
        `${program.name} cannot pull image ${image}: ${error.message}`,
        { cause: error },
      );
    }
    const took_s = Math.ceil((performance.now() - began_ms) / 1_000);
    await logEvent(`Pulled image ${image} in ${took_s} s`);
    await countImage(execution, { program, root, signal });
  }

  async #hasImage({ image }: Execution): Promise<boolean> {
    return (await this.#call(["image", "inspect", "--format", "{{.Id}}", image])).isOk;
  }

  async #state(execution: Execution, signal?: AbortSignal): Promise<ContainerState> {
    const { isOk, stdout, message } = await this.#call([
      "container",
      "inspect",
      "--format={{.State.Status}} {{.State.OOMKilled}}",
      containerName(execution),
    ], signal && { signal });
    const [status = "", oom] = stdout.split(" ");
    const isOutOfMemory = oom === "true";
    if (!isOk) {
      if (/no such (object|container)/i.test(message)) return { status: "absent", isOutOfMemory };
      throw new ContainersError(message);
    }
    // Podman calls one "configured" that was made before the machine was restarted.
    if (/^(created|configured|initialized)$/.test(status)) {
      return { status: "created", isOutOfMemory };
    }
    const isRunning = /^(running|paused|restarting|stopping)$/.test(status);
    return { status: isRunning ? "running" : "ended", isOutOfMemory };
  }

  #leaderOf(job: Job, lost: string): CommandHandle {
    const { execution, folder } = job;
    const { program, reachability } = this.#parts;
    let asked_ms = performance.now();
    let isOut = false;
    // That it has ended meanwhile, or cannot be reached, is seen when it is asked for next.
    const signal = async (name: "TERM" | "KILL"): Promise<void> => {
      const args = ["kill", `--signal=${name}`, containerName(execution)];
      await this.#call(args, { signal: job.givenUp }).catch(() => {});
    };
    return {
      over: new Promise(() => {}),
      cameSecond: false,
      isOver: async (isDue) => {
        // All else that was in the container has ended when it is there.
        if (readExitCode(folder) !== undefined || job.givenUp.aborted) return true;
        const why = reachability.whyDown(program.name);
        if (why !== undefined) {
          if (!isOut) await job.onOutage(why);
          isOut = true;
          return false;
        }
        const now_ms = performance.now();
        if (!isOut && now_ms - asked_ms < (isDue ? END_CHECK_MS : LIFE_CHECK_MS)) return false;
        asked_ms = now_ms;
        try {
          const { status } = await this.#state(execution, job.givenUp);
          if (isOut) await job.onOutage();
          isOut = false;
          return status !== "running";
        } catch (error) {
          // Its end is told by the exit code, so what the engine says can wait.
          if (!(error instanceof ContainersUnreachableError)) return false;
          reachability.lost({ program, project: execution.project }, error);
          isOut = true;
          await job.onOutage(error.message);
          return false;
        }
      },
      signal,
      // Nothing is left in a container whose command has left its exit code.
      endRest: () => signal("KILL"),
      settle: (exitCode) => this.#settle(job, { exitCode, lost }),
      release: () => {},
    };
  }

  async #settle(
    job: Job,
    { exitCode, lost }: { exitCode: number | undefined; lost: string },
  ): Promise<Settled> {
    const { execution, folder } = job;
    // What is left is removed when it answers again.
    if (job.givenUp.aborted) return { lost };
    let isOutOfMemory = exitCode !== 0 && await exists(folder.control("oom"));
    if (exitCode === undefined) {
      const state = await this.#state(execution).catch(() => undefined);
      isOutOfMemory ||= state?.isOutOfMemory === true;
    }
    // What cannot be removed now is when the service starts the next time.
    await this.#remove(execution).catch(() => {});
    if (exitCode === undefined) await this.#handOver(job).catch(() => {});
    const memory = execution.resources?.memory;
    const allowed = memory === undefined ? "" : `: it may use ${memory} MiB`;
    const isInterrupted = Boolean(exitCode) && await exists(folder.control("told"));
    const { name } = this.#parts.program;
    return {
      lost: isInterrupted
        ? `Something has told the container to end, as a restart of ${name} does`
        : lost,
      isInterrupted,
      ...(isOutOfMemory && { cause: `The command ran out of memory${allowed}` }),
    };
  }

  async #remove(execution: Execution): Promise<void> {
    const name = containerName(execution);
    const { isOk, message } = await this.#call(["rm", "--force", "--volumes", name]);
    if (!isOk && !/no such container/i.test(message)) throw new ContainersError(message);
  }

  /** Gives the files of a command that was killed to the service's user. */
  async #handOver(job: Job): Promise<void> {
    const { path } = job.folder;
    // Root needs nothing to be given.
    if (await isRoots(path)) return;
    // What was removed already has to be there to be mounted.
    for (const part of Object.values(CONTAINER_MOUNTS)) {
      await Deno.mkdir(join(path, part), { recursive: true, mode: 0o700 });
    }
    await this.#call(
      [...handOverArguments(this.#parts.program, this.#options(job)), ...handOverScript],
      { timeout_ms: LONG_CALL_MS, cwd: controlOf(job) },
    );
  }

  /** Returns the size of what the container has written outside the work folder, in MiB. */
  async #layerUse_mb({ execution, signal }: Job): Promise<number> {
    const format = "--format={{.SizeRw}}";
    const args = ["container", "inspect", "--size", format, containerName(execution)];
    return (Number.parseInt((await this.#call(args, { signal })).stdout) || 0) / 2 ** 20;
  }

  /** Returns the size of the work folder as the container sees it, in MiB. */
  async #innerUse_mb(job: Job): Promise<number> {
    const folders = Object.keys(CONTAINER_MOUNTS).map((name) => `${CONTAINER_FOLDER}/${name}`);
    const args = ["exec", containerName(job.execution), "du", "-skx", ...folders];
    const { stdout } = await this.#call(args, { signal: job.signal, cwd: controlOf(job) });
    const sizes = stdout.split("\n").map((line) => Number.parseInt(line) || 0);
    return sizes.reduce((sum, size) => sum + size, 0) / 1_024;
  }

  #options({ execution, folder }: Job): ContainerOptions {
    const { settings, root } = this.#parts;
    const processors = navigator.hardwareConcurrency;
    return { execution, settings, path: folder.path, root, processors };
  }

  #call(args: readonly string[], options?: CallOptions): Promise<Answer> {
    return callContainers(this.#parts.program, args, { cwd: this.#parts.root, ...options });
  }

  /** Does something as soon as the engine can be reached. */
  #reaching<T>(job: Job, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const { program, reachability } = this.#parts;
    const { execution: { project } } = job;
    const onOutage = (reason?: string) => job.onOutage(reason);
    return reachability.reaching({ program, project, signal, onOutage }, work);
  }
}

/** The folder of the log, which is not the container's to write into. */
function controlOf({ folder }: Job): string {
  return dirname(folder.record("log"));
}

function isNameTaken({ message }: Answer): boolean {
  return /\bname\b.*\balready in use\b/.test(message);
}

async function isRoots(path: string): Promise<boolean> {
  return (await Deno.lstat(path)).uid === 0;
}
