/**
 * One execution, from its start, or from when it is found again, to its end.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import { deadline } from "@std/async/deadline";
import { ignoreTimeout } from "../../platform/waiting/promises.ts";
import { isShortage, messageOf } from "../../platform/errors.ts";
import type { Execution } from "../../store/records/executions.ts";
import { Capture } from "./capture.ts";
import { readExitCode } from "./control_files.ts";
import { type DiskUse, diskUseOf } from "./disk_use.ts";
import { type End, type Ending, endingByExitCode, failure } from "../shared/execution_end.ts";
import { Limits, startedBefore_ms, withTimeLimit } from "../shared/limits.ts";
import type { StoredLine } from "../shared/log_format.ts";
import { appendToLog } from "../shared/log_writer.ts";
import { maskerOf } from "../shared/step_secrets.ts";
import { retryOnShortage } from "./retry_on_shortage.ts";
import { Preparation } from "./preparation.ts";
import { writeResults } from "./results.ts";
import { doubtOf, NOT_RENEWED } from "./recovery.ts";
import type { RunContext } from "./run_context.ts";
import type { CommandHandle, Job, Runner } from "./runners/runner.ts";
import { writeMetadata } from "../shared/results.ts";
import { StopCondition } from "../shared/stop_condition.ts";
import { RunnerOutage } from "./runner_outage.ts";
import { Watch, type WatchParts } from "./watch.ts";
import { WorkFolder } from "./work_folder.ts";

/** Limit of the runs of an execution whose end is unknown. */
const RERUNS_MAX = 3;
/** Time limit for the runner to take up a stop. */
const TELL_MS = 5_000;

const logger = getLogger(["hooklaunch", "engine"]);

/** The life of one execution. */
export class ExecutionRun {
  readonly #execution: Execution;
  readonly #context: RunContext;
  readonly #runner: Runner;
  readonly #folder: WorkFolder;
  readonly #preparation: Preparation;
  readonly #detaching = new AbortController();
  /** When its time began, by the steady clock: setting the other one changes nothing of it. */
  #started_ms: number;
  readonly #outage: RunnerOutage;
  #watch: Watch | undefined;
  /** The end that is decided. */
  #ending: Ending | undefined;
  /** The save of its stop. Until it has ended, what is written into the record would be stored with it. */
  #stopping: Promise<boolean> | undefined;
  /** True once its end is stored, or is not to be stored any more: until then its files tell that it has run. */
  isSettled = false;
  /** True once its command has ended for good, so that nothing is left to stop. */
  #isOver = false;
  /** True once the log says that it waits. */
  #hasLoggedWait = false;

  constructor(execution: Execution, context: RunContext) {
    this.#execution = execution;
    this.#context = context;
    this.#started_ms = startedBefore_ms(execution, context.clock);
    this.#runner = context.runnerOf(execution);
    this.#folder = new WorkFolder(context.root, execution.id, this.#runner.layout);
    this.#preparation = new Preparation(execution, { context, folder: this.#folder });
    this.#outage = new RunnerOutage(execution, context);
  }

  get #isDetached(): boolean {
    return this.#detaching.signal.aborted;
  }

  /** Starts it and stays with it until it has ended or is let go. Never rejects. */
  start(): Promise<void> {
    return this.#guard(async () => {
      this.#begin();
      const saving = this.#context.save(this.#execution);
      // Where machines share an artifact store, another one may have begun with it.
      if (this.#context.place && this.#context.artifacts && !await saving) return;
      const [saved, prepared] = await Promise.allSettled([
        saving,
        this.#withTimeLimit(() => this.#preparation.setUpFolder()),
      ]);
      if (saved.status === "rejected") throw saved.reason;
      if (!saved.value) return;
      if (prepared.status === "rejected") throw prepared.reason;
      await this.#launch();
    });
  }

  /** Takes over an execution that an earlier service has started, and stays with it likewise. */
  takeOver(): Promise<void> {
    // Only `stop` below writes it.
    this.#ending = this.#execution.engine_state?.ending as Ending | undefined;
    if (this.#ending) {
      this.#preparation.cancel();
      this.#outage.stopping();
    }
    return this.#guard(() => this.#find());
  }

  /**
   * Asks it to stop. Resolves when that is stored and its processes are told, or will be: an engine of
   * containers may take long to answer.
   *
   * @returns false when it is too late, or it is another machine's
   */
  async stop(ending: Ending): Promise<boolean> {
    if (this.#isOver) return false;
    if (this.#ending !== undefined) return await this.#stopping ?? true;
    this.#ending = ending;
    this.#execution.status = "stopping";
    this.#execution.engine_state = { ...this.#execution.engine_state, ending };
    const isSaved = await (this.#stopping = this.#context.save(this.#execution));
    this.#preparation.cancel();
    this.#outage.stopping();
    // One that was given up is not saved. It ends here all the same.
    if (!isSaved && this.#context.closing.aborted || this.#watch === undefined) return isSaved;
    await deadline(this.#watch.end(), TELL_MS).catch(ignoreTimeout).catch((error) => {
      // It is told when it is found again.
      if (!isShortage(error)) throw error;
    });
    return isSaved;
  }

  /** Removes what its runner has left of it when it has ended, so that its folder can be removed. */
  async clear(): Promise<void> {
    await this.#runner.clear(this.#job(this.#detaching.signal));
  }

  /** Leaves it to itself. */
  detach(): void {
    this.#detaching.abort();
    this.#preparation.cancel();
    this.#watch?.detach();
  }

  /** Leaves it to the next service when it is fetching its inputs, which may take long. */
  detachIfStaging(): void {
    if (this.#preparation.log?.isUsed) this.detach();
  }

  async #guard(work: () => Promise<void>): Promise<void> {
    try {
      await this.#retryOnShortage(work);
    } catch (error) {
      // One that was stopped or let go while it was being started fails for that.
      if (this.#ending === undefined && !this.#isDetached) {
        logger.warn("Cannot run execution {execution_id}: {error}", this.#logged(error));
      }
      const ending = this.#ending ?? failure(`Cannot run: ${messageOf(error)}`);
      const end = this.#end.bind(this, { ending, at_ms: this.#context.clock.now() });
      await this.#retryOnShortage(end, end).catch((error) => {
        logger.error("Cannot end execution {execution_id}: {error}", this.#logged(error));
      });
    } finally {
      this.#outage[Symbol.dispose]();
    }
  }

  /** An error of this execution, as the log has it. */
  #logged(error: unknown) {
    const { id: execution_id, run_id, project } = this.#execution;
    return { execution_id, run_id, project, error: messageOf(error) };
  }

  /** Repeats work that fails for lack of files or processes: the execution is found again, as by the next service. */
  #retryOnShortage(work: () => Promise<void>, again = () => this.#find()): Promise<void> {
    return retryOnShortage(work, {
      again: () => this.isSettled ? this.#folder.tidy() : again(),
      onShortage: (error) => {
        const details = this.#logged(error);
        if (!this.#hasLoggedWait) logger.warn("Execution {execution_id} waits: {error}", details);
        this.#hasLoggedWait = true;
        this.#watch = undefined;
      },
      signal: this.#detaching.signal,
    });
  }

  async #find(): Promise<void> {
    await this.#folder.restore();
    const found = await this.#runner.find(this.#job(this.#detaching.signal));
    if (found.kind === "started") return await this.#follow(found.command, { isFound: true });
    if (found.kind === "lost") return await this.#lose(found.reason);
    if (this.#folder.isHalfRenewed) return await this.#lose(NOT_RENEWED);
    // Nothing of it has run, and of one that is to end nothing will.
    if (this.#ending) return await this.#launch();
    this.#beginTime();
    if (!await this.#context.save(this.#execution)) return;
    if (!this.#folder.isReady) {
      await this.#withTimeLimit(() => this.#preparation.setUpFolder({ isAgain: true }));
    }
    await this.#launch();
  }

  #begin(state: { reruns?: number } = {}): void {
    this.#execution.status = "started";
    this.#beginTime();
    const { bootId: boot_id, place } = this.#context;
    // It tells this start from one by another service, which may have a copy of the same record.
    const start_id = crypto.randomUUID().slice(0, 8);
    this.#execution.engine_state = { boot_id, start_id, ...place?.marks, ...state };
    Object.assign(this.#execution, place?.shown);
  }

  /** Its time begins now. */
  #beginTime(): void {
    const { clock } = this.#context;
    this.#execution.started_at = new Date(clock.now()).toISOString();
    this.#started_ms = clock.steady();
  }

  /** Does what comes before the command, and stops that when the execution's time is up. */
  #withTimeLimit<T>(work: () => Promise<T>): Promise<T> {
    const parts = { clock: this.#context.clock, started_ms: this.#started_ms };
    return withTimeLimit(this.#execution, parts, work, (reason) => {
      this.stop(failure(reason)).catch((error) => {
        logger.error(
          "Cannot store that execution {execution_id} is out of time: {error}",
          this.#logged(error),
        );
      });
    });
  }

  /** Starts the command, unless it was asked to stop before. */
  async #launch(): Promise<void> {
    if (this.#ending) {
      return await this.#end({ ending: this.#ending, at_ms: this.#context.clock.now() });
    }
    if (this.#isDetached) return;
    const start = (signal: AbortSignal) => this.#runner.start(this.#job(signal));
    const command = await this.#withTimeLimit(() => this.#preparation.do(start));
    await this.#follow(command);
    // The wrapper of an earlier service was only slow to start: it is the one to follow.
    if (command.cameSecond) await this.#find();
  }

  #job(signal: AbortSignal): Job {
    const { logBytesMax } = this.#context.settings;
    return {
      execution: this.#execution,
      folder: this.#folder,
      streamBytesMax: logBytesMax,
      signal,
      onOutage: (reason) => this.#outage.show(reason),
      givenUp: this.#outage.signal,
      logEvent: async (message) => {
        await appendToLog(this.#folder.record("log"), logBytesMax, this.#event(message));
        this.#context.onLog(this.#execution.id);
      },
    };
  }

  #event(message: string): StoredLine {
    return { time: new Date(this.#context.clock.now()).toISOString(), stream: "event", message };
  }

  /** Stays with a command to its end. */
  async #follow(command: CommandHandle, { isFound = false } = {}): Promise<void> {
    const measure = (signal: AbortSignal) => this.#runner.diskUse_mb(this.#job(signal));
    const disk = diskUseOf(this.#execution, this.#context, measure);
    let lost: string | undefined;
    try {
      lost = await this.#stayWith(command, { isFound, disk });
    } catch (error) {
      // What fails here must not leave the command on its own.
      if (isShortage(error)) command.release();
      else if (!await command.isOver(true)) await command.signal("KILL");
      throw error;
    } finally {
      await disk.close();
    }
    if (lost !== undefined) await this.#lose(lost);
  }

  /** @returns the reason why its end is unknown, when it is to be run again for that */
  async #stayWith(
    command: CommandHandle,
    { isFound, disk }: { isFound: boolean; disk: DiskUse },
  ): Promise<string | undefined> {
    const { clock, settings, secrets, bootId } = this.#context;
    const masker = await maskerOf(this.#execution, secrets);
    await using capture = await Capture.open(this.#folder, {
      clock,
      logBytesMax: settings.logBytesMax,
      metadata: this.#execution.given_metadata,
      masker,
      onLog: () => this.#context.onLog(this.#execution.id),
    });
    if (!isFound && this.#execution.note) await capture.logEvent(this.#execution.note);
    const idle_ms = isFound ? await this.#folder.idle_ms(clock.now()) : 0;
    const limits = new Limits(this.#execution, { clock, started_ms: this.#started_ms, idle_ms });
    const watch = this.#watch = this.#newWatch({ command, capture, limits, disk, isFound });
    if (this.#ending) await watch.end();
    if (this.#isDetached) watch.detach();
    if (!await watch.untilOver() || command.cameSecond) return;
    // One that may be run again can be asked to stop until it is known that it is not.
    this.#isOver = !this.#mayRunAgain;
    await capture.finish({ isStopped: this.#ending !== undefined });
    const exit = readExitCode(this.#folder);
    const doubt = exit && doubtOf(exit.code, this.#execution, { folder: this.#folder, bootId });
    this.#isOver ||= exit?.code === 0 && doubt === undefined;
    // What is left of it may take long to be removed.
    const at_ms = isFound && exit ? exit.at_ms : clock.now();
    const { cause, lost, isInterrupted = false } = await command.settle(exit?.code);
    const isLost = exit === undefined || isInterrupted;
    const why = isLost ? lost : doubt;
    if (cause === undefined && why !== undefined && this.#mayRunAgain) return why;
    this.#context.onCommandOver?.();
    const found = cause !== undefined || isLost
      ? failure(cause ?? lost)
      : endingByExitCode(exit.code, doubt);
    await this.#end({ ending: this.#ending ?? found, exitCode: exit?.code, at_ms }, capture);
  }

  /** True when it is run again if its end is unknown. */
  get #mayRunAgain(): boolean {
    const isWanted = this.#execution.rerun === true && this.#ending === undefined;
    return isWanted && !this.#isDetached && this.#reruns < RERUNS_MAX;
  }

  /** Number of its reruns. One whose folder was not made completely has not begun. */
  get #reruns(): number {
    const begun = Number(this.#execution.engine_state?.reruns ?? 0);
    return this.#folder.isHalfRenewed ? Math.max(0, begun - 1) : begun;
  }

  /** Ends it as one whose end is unknown, or runs it again from the start. */
  async #lose(reason: string): Promise<void> {
    const { clock, save } = this.#context;
    if (!this.#mayRunAgain) {
      return await this.#end({ ending: this.#ending ?? failure(reason), at_ms: clock.now() });
    }
    this.#isOver = false;
    this.#watch = undefined;
    const reruns = this.#reruns + 1;
    await this.clear();
    if (this.#ending === undefined) {
      this.#begin({ reruns });
      this.#execution.metadata = this.#execution.given_metadata ?? {};
      if (!await save(this.#execution)) return;
      const message = `${reason}: it is run again from the start (${reruns} of ${RERUNS_MAX})`;
      const line: StoredLine = { ...this.#event(message), isRestart: true };
      await this.#withTimeLimit(() => this.#preparation.renewFolder(line));
    }
    await this.#launch();
  }

  #newWatch(parts: Pick<WatchParts, "command" | "isFound" | "capture" | "limits" | "disk">): Watch {
    const { clock, settings, save } = this.#context;
    return new Watch({
      ...parts,
      folder: this.#folder,
      clock,
      poll_ms: settings.poll_ms,
      grace_ms: settings.grace_ms,
      stopCondition: new StopCondition(this.#execution, parts.capture.metadata),
      onReached: async (ending) => void await this.stop(ending),
      onMetadata: async () => {
        writeMetadata(this.#execution, parts.capture.metadata);
        await save(this.#execution);
      },
    });
  }

  /** Stores its end, after its results are on disk. */
  async #end(end: End, capture?: Capture): Promise<void> {
    this.#isOver = true;
    await this.#stopping?.catch(() => {}); // its error goes to who stops it
    if (this.#isDetached) return;
    const { signal } = this.#detaching;
    const folder = this.#folder;
    const job = folder.exists() ? this.#job(signal) : undefined;
    const target = capture ?? this.#preparation.log ?? job;
    const ending = this.#outage.endingOf(end.ending);
    await writeResults(this.#execution, { ...end, ending }, {
      folder,
      context: this.#context,
      metadata: capture?.metadata,
      // An incomplete log must not keep the execution from its end.
      logEvent: async (message) => await target?.logEvent(message).catch(() => {}),
      signal,
    });
    if (!await this.#archive(signal)) return;
    this.isSettled = await this.#context.save(this.#execution) || !this.#context.closing.aborted;
    if (this.isSettled) await folder.tidy();
  }

  /** Copies the results to where other instances see them, if to anywhere. Returns false when it is let go. */
  async #archive(signal: AbortSignal): Promise<boolean> {
    const { artifacts } = this.#context;
    if (artifacts === undefined) return true;
    const { archiveResults } = await import("./archive.ts");
    return await archiveResults(this.#execution, { artifacts, folder: this.#folder, signal });
  }
}
