/**
 * One execution, from its start, or from when it is found again, to its end.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import type { Clock } from "../../clock.ts";
import { messageOf } from "../../errors.ts";
import { hasShebang } from "../../projects/command.ts";
import {
  type Execution,
  executionBytes,
  hasEnded,
  RECORD_BYTES_MAX,
} from "../../store/executions.ts";
import { Capture } from "./capture.ts";
import { type End, type Ending, writeEnd } from "./ending.ts";
import { type Leader, readExitCode, startLeader } from "./leader.ts";
import { Limits } from "./limits.ts";
import { listOutputs } from "./outputs.ts";
import { type Machine, signalSession } from "./processes.ts";
import { findAgain } from "./recovery.ts";
import { Watch } from "./watch.ts";
import { type PrepareContext, WorkFolder } from "./work_folder.ts";

const log = getLogger(["hooklaunch", "engine"]);

/** How much an execution may print and leave behind, and how it is looked after. */
export interface RunSettings {
  /** Of the log, and of each stream that goes into it. */
  logBytesMax: number;
  /** How many outputs are listed in the record. */
  outputsMax: number;
  /** How long a command may take to end after SIGTERM. */
  grace_ms: number;
  /** How often output and limits are looked at. */
  poll_ms: number;
}

/** What an execution runs with. */
export interface RunContext extends PrepareContext {
  clock: Clock;
  /** The folder of all executions. */
  root: string;
  machine: Machine;
  settings: RunSettings;
  /** Stores the record as it is. False when the service stops before that can be done. */
  save(execution: Execution): Promise<boolean>;
  /** Told of a session whose leader has ended. */
  leftBehind(session: number): void;
}

/** The life of one execution. */
export class ExecutionRun {
  readonly #execution: Execution;
  readonly #context: RunContext;
  readonly #folder: WorkFolder;
  #watch: Watch | undefined;
  /** How it is to end, once that is decided. */
  #ending: Ending | undefined;
  #isLetGo = false;
  /** Whether its command has ended, so that there is nothing to stop. */
  #isOver = false;

  constructor(execution: Execution, context: RunContext) {
    this.#execution = execution;
    this.#context = context;
    this.#folder = new WorkFolder(context.root, execution.id);
  }

  /** Whether its record says that it has ended. */
  get hasEnded(): boolean {
    return hasEnded(this.#execution.status);
  }

  /** Starts it and stays with it until it has ended or is let go. Never rejects. */
  start(): Promise<void> {
    return this.#guard(async () => {
      const { clock, machine, save } = this.#context;
      this.#execution.status = "started";
      this.#execution.started_at = new Date(clock.now()).toISOString();
      this.#execution.engine_state = { boot_id: machine.bootId };
      const [saved, prepared] = await Promise.allSettled([
        save(this.#execution),
        this.#folder.prepare(this.#execution, this.#context),
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
    return this.#guard(() => this.#find());
  }

  /**
   * Asks it to stop. Resolves when that is stored and its processes are told.
   *
   * @returns false when it is too late
   */
  async stop(ending: Ending): Promise<boolean> {
    if (this.#isOver) return false;
    if (this.#ending !== undefined) return true;
    this.#ending = ending;
    this.#execution.status = "stopping";
    this.#execution.engine_state = { ...this.#execution.engine_state, ending };
    await this.#context.save(this.#execution);
    await this.#watch?.end();
    return true;
  }

  /** Leaves it to itself. */
  letGo(): void {
    this.#isLetGo = true;
    this.#watch?.letGo();
  }

  async #guard(work: () => Promise<void>): Promise<void> {
    const { id } = this.#execution;
    try {
      await work();
    } catch (error) {
      log.warn("Cannot run execution {id}: {error}", { id, error: messageOf(error) });
      const ending: Ending = { status: "error", reason: `Cannot run: ${messageOf(error)}` };
      await this.#end({ ending, exitCode: undefined, at_ms: this.#context.clock.now() })
        .catch((error) => {
          log.error("Cannot end execution {id}: {error}", { id, error: messageOf(error) });
        });
    }
  }

  async #find(): Promise<void> {
    const found = await findAgain(this.#execution, this.#folder, this.#context.machine);
    if (found.kind === "started") {
      return await this.#follow(found.leader, { lostReason: found.lostReason });
    }
    if (found.kind === "lost") {
      const ending: Ending = this.#ending ?? { status: "error", reason: found.reason };
      const at_ms = this.#context.clock.now();
      return await this.#end({ ending, exitCode: undefined, at_ms });
    }
    // Its time begins now, as nothing of it has run.
    this.#execution.started_at = new Date(this.#context.clock.now()).toISOString();
    if (!await this.#context.save(this.#execution)) return;
    if (!await this.#folder.exists()) await this.#folder.prepare(this.#execution, this.#context);
    await this.#launch();
  }

  /** Starts the command, unless it was asked to stop before. */
  async #launch(): Promise<void> {
    const { machine, settings, clock } = this.#context;
    if (this.#ending) {
      const end = { ending: this.#ending, exitCode: undefined, at_ms: clock.now() };
      return await this.#end(end);
    }
    if (this.#isLetGo) return;
    const shell = hasShebang(this.#execution.command) ? "" : machine.shell;
    const options = { shell, streamBytesMax: settings.logBytesMax };
    const leader = startLeader(this.#folder, options, machine.setsid);
    await this.#follow(leader);
    // The wrapper of an earlier service was only slow to start: it is the one to follow.
    if (leader.cameSecond) await this.#find();
  }

  /** Stays with a command to its end. What fails in that must not leave the command on its own. */
  async #follow(leader: Leader, found?: { lostReason: string | undefined }): Promise<void> {
    let capture: Capture | undefined;
    try {
      const { clock, settings } = this.#context;
      capture = await Capture.open(this.#folder, clock, settings.logBytesMax);
      const silence_ms = found ? await this.#folder.silence_ms(clock.now()) : 0;
      const watch = this.#watch = this.#newWatch(leader, capture, silence_ms);
      if (this.#ending) await watch.end();
      if (this.#isLetGo) watch.letGo();
      if (!await watch.untilOver() || leader.cameSecond) return;
      this.#isOver = true;
      await capture.finish();
      this.#context.leftBehind(leader.pid);
      const exit = await readExitCode(this.#folder);
      const lost: Ending | undefined = exit === undefined && found?.lostReason !== undefined
        ? { status: "error", reason: found.lostReason }
        : undefined;
      await this.#end({
        ending: this.#ending ?? lost,
        exitCode: exit?.code,
        at_ms: found && exit ? exit.at_ms : clock.now(),
      }, capture);
    } catch (error) {
      if (!await leader.isOver(true)) await signalSession(leader.pid, "KILL");
      throw error;
    } finally {
      capture?.close();
    }
  }

  #newWatch(leader: Leader, capture: Capture, silence_ms: number): Watch {
    const { clock, settings, save } = this.#context;
    return new Watch({
      leader,
      capture,
      folder: this.#folder,
      limits: new Limits(this.#execution, clock, silence_ms),
      clock,
      poll_ms: settings.poll_ms,
      grace_ms: settings.grace_ms,
      onLimit: async (reason) => void await this.stop({ status: "error", reason }),
      onMetadata: async () => {
        this.#takeMetadata(capture);
        await save(this.#execution);
      },
    });
  }

  async #end(end: End, capture?: Capture): Promise<void> {
    this.#isOver = true;
    if (this.#isLetGo) return;
    const { settings, save } = this.#context;
    const execution = this.#execution;
    const outputs = await listOutputs(this.#folder.outputs, settings.outputsMax);
    writeEnd(execution, end);
    if (capture) this.#takeMetadata(capture);
    execution.outputs = outputs.files;
    while (executionBytes(execution) > RECORD_BYTES_MAX && execution.outputs.length > 0) {
      execution.outputs = execution.outputs.slice(0, execution.outputs.length / 2);
    }
    if (outputs.isCut || execution.outputs.length < outputs.files.length) {
      await capture?.tell("There are too many outputs: some of them are not listed");
    }
    if (execution.reason !== undefined) await capture?.tell(execution.reason);
    if (await save(execution)) await this.#folder.tidy();
  }

  #takeMetadata({ metadata }: Capture): void {
    this.#execution.metadata = metadata.latest;
    metadata.isChanged = false;
    if (executionBytes(this.#execution) > RECORD_BYTES_MAX) this.#execution.metadata = {};
  }
}
