/**
 * The desk of one remote engine.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { timingSafeEqual } from "node:crypto";
import {
  ActionError,
  ConflictError,
  isShortage,
  messageOf,
  UnavailableError,
} from "../../platform/errors.ts";
import { deadline } from "@std/async/deadline";
import { ignoreTimeout } from "../../platform/waiting/promises.ts";
import { type Execution, getExecution, hasEnded } from "../../store/records/executions.ts";
import { getJob, hashOfToken, isJobOver, type Job, jobOutputs } from "../../store/records/jobs.ts";
import { failure } from "../shared/execution_end.ts";
import { writeMetadata } from "../shared/results.ts";
import type { RemoteContext } from "./context.ts";
import {
  type BeatAnswer,
  type BegunUpload,
  holder,
  type JobBeat,
  type JobClaim,
  type JobDesk,
  type JobEnd,
  JobEndedError,
  type JobManifest,
  type JobOutput,
  type JobPass,
} from "./desk.ts";
import { decidedEnding, decideEnding, end, endAsReported, isUnexplained } from "./ends.ts";
import type { FilesOf, JobFiles } from "./job_files.ts";
import type { OpenFile } from "./job_stage.ts";
import { eventWrites, type TakenOutput, takeOutput } from "./job_log.ts";
import type { JobMetadata } from "./job_metadata.ts";
import { JobOutputs } from "./job_outputs.ts";

/** The interval of storing that an agent was heard. */
const HEARD_MS = 5_000;
/** The interval of storing metadata while it changes. */
const METADATA_MS = 5_000;
/** The time that a request for a manifest waits for it. */
const MANIFEST_MS = 5_000;
/** The most paths of files that are no outputs in a record, and their length there. */
const LEFT_OUT_MAX = 20;
const PATH_LENGTH_MAX = 256;
const REASON_LENGTH_MAX = 1_024;

/** The parts of a desk. */
interface DeskParts {
  context: RemoteContext;
  files: JobFiles;
  metadata: JobMetadata;
  /** Called when something is to be done for an execution. */
  wake(): void;
}

/** Acts for the agents of one engine's jobs. */
export class EngineDesk implements JobDesk {
  readonly #parts: DeskParts;
  readonly #context: RemoteContext;
  readonly #outputs: JobOutputs;
  #isClosed = false;

  constructor(parts: DeskParts) {
    this.#parts = parts;
    this.#context = parts.context;
    this.#outputs = new JobOutputs(parts.context, (pass, work) => this.#turn(pass, work));
  }

  /** Refuses all requests from now on. */
  close(): void {
    this.#isClosed = true;
  }

  async admit(
    executionId: string,
    token: string,
    claimId: string | undefined,
  ): Promise<JobPass | undefined> {
    this.#expectOpen();
    const job = await getJob(this.#context.store, executionId);
    const tokenHash = hashOfToken(token);
    if (!job?.tokens.some((known) => isSame(known, tokenHash))) {
      if (job?.is_own) await this.#noteStranger(executionId);
      return undefined;
    }
    if (job.claim !== undefined && claimId !== job.claim.id) return undefined;
    const hasEnded = isJobOver(job);
    if (hasEnded && job.end === undefined) return undefined;
    this.#context.hear(executionId);
    return { executionId, tokenHash, claimId, hasEnded };
  }

  /** Notes that an agent came whose token is not known: the cluster's job may be another one than was launched. */
  async #noteStranger(executionId: string): Promise<void> {
    const { store, turns } = this.#context;
    await turns.run(executionId, async () => {
      const job = await getJob(store, executionId);
      if (job === undefined || job.state === "closed" || !job.is_own) return;
      delete job.is_own;
      await this.#context.save({ job });
    });
  }

  claim(pass: JobPass, { claimId, host, folder }: JobClaim): Promise<"claimed" | "taken"> {
    return this.#turn(pass, async (job) => {
      const execution = await getExecution(this.#context.store, pass.executionId);
      // The token was withdrawn meanwhile.
      if (
        job === undefined || isJobOver(job) || execution === undefined ||
        !job.tokens.includes(pass.tokenHash)
      ) throw new JobEndedError(pass.executionId);
      if (job.claim !== undefined) return job.claim.id === claimId ? "claimed" : "taken";
      const { time } = this.#context;
      job.claim = { id: claimId, host, folder, at: time };
      job.tokens = [pass.tokenHash];
      job.state = "submitted";
      delete job.launch_error;
      delete job.is_own;
      delete execution.waiting;
      execution.machine = host;
      execution.started_at = time;
      if (execution.status === "queued") execution.status = "started";
      const writes = execution.note === undefined || job.attempt > 0
        ? []
        : eventWrites(job, { time, message: execution.note });
      await this.#context.save({ execution, job, writes });
      return "claimed";
    });
  }

  async manifest(pass: JobPass): Promise<JobManifest | "preparing"> {
    const of = await this.#filesOf(pass);
    try {
      const manifest = this.#parts.files.manifest(of);
      return await deadline(manifest, MANIFEST_MS).catch(ignoreTimeout) ?? "preparing";
    } catch (error) {
      // It is fetched again when the agent asks again.
      if (isShortage(error)) return "preparing";
      await this.#fail(pass, `Cannot run: ${messageOf(error)}`);
      throw new ActionError(messageOf(error), { cause: error });
    }
  }

  async file(
    pass: JobPass,
    index: number,
    { opens }: { opens: boolean },
  ): Promise<OpenFile | { url: string } | undefined> {
    const of = await this.#filesOf(pass);
    // An agent that brings many short files sends no message between them.
    if (decidedEnding(of.execution) !== undefined) throw new ActionError("The execution is to end");
    const { artifact } = opens ? {} : await this.#parts.files.described(of, index) ?? {};
    const url = artifact === undefined
      ? undefined
      : await this.#context.artifacts.presignGet(artifact);
    return url === undefined ? await this.#parts.files.open(of, index) : { url };
  }

  beat(pass: JobPass, beat: JobBeat): Promise<BeatAnswer> {
    return this.#turn(pass, async (job) => {
      const held = holder(job, pass);
      const { stream } = beat;
      const before = { ...held.stored };
      const [execution, known] = beat.bytes.length > 0 && stream === "stdout"
        ? await this.#metadataOf(held)
        : [];
      const time = timeOf(beat, held, this.#context.clock.now());
      const masker = beat.bytes.length > 0 ? await this.#context.maskers.of(held) : undefined;
      const { logBytesMax: bytesMax } = this.#context.settings;
      const taken = takeOutput(held, { ...beat, time }, { bytesMax, masker });
      if (held.stored[stream] > before[stream] || this.#isDueToHear(held)) {
        held.heard_at = this.#context.time;
        await this.#context.save({ job: held, writes: taken.writes });
      }
      if (execution && known) {
        const { stdout } = held.stored;
        await this.#parts.metadata.take(known, { content: taken.content, stdout, time });
        await this.#lookAtMetadata(held, execution, taken);
      }
      return {
        acknowledged: held.stored[stream],
        stop: held.stop_at !== undefined,
        full: held.is_log_full === true,
      };
    });
  }

  beginUpload(pass: JobPass, output: JobOutput): Promise<BegunUpload> {
    return this.#outputs.begin(pass, output);
  }

  upload(
    pass: JobPass,
    output: JobOutput,
    stream: ReadableStream<Uint8Array>,
    signal: AbortSignal,
  ): Promise<void> {
    return this.#outputs.store(pass, output, stream, signal);
  }

  finishUpload(pass: JobPass, output: JobOutput): Promise<boolean> {
    return this.#outputs.take(pass, output);
  }

  end(pass: JobPass, reported: JobEnd): Promise<void> {
    const { digest, logEnds, outputs = 0, exitCode, cause, reason, notUploaded, passedOver = [] } =
      reported;
    return this.#turn(pass, async (job) => {
      if (job !== undefined && isRepeat(job, pass, reported)) return this.#parts.wake();
      const held = holder(job, pass);
      for (const stream of ["stdout", "stderr"] as const) {
        if (held.stored[stream] >= logEnds[stream]) continue;
        const found = `${held.stored[stream]} of ${logEnds[stream]} bytes of ${stream} are stored`;
        throw new ConflictError(`Cannot end the job: ${found}`);
      }
      const listed = await jobOutputs(this.#context.store, held.id);
      if (listed.length < outputs) {
        const found = `${listed.length} of ${outputs} outputs are stored`;
        throw new ConflictError(`Cannot end the job: ${found}`);
      }
      held.end = {
        at: this.#context.time,
        digest,
        ...(exitCode === undefined ? {} : { exit_code: exitCode }),
        ...(cause === undefined ? {} : { cause }),
        ...(reason === undefined ? {} : { reason: reason.slice(0, REASON_LENGTH_MAX) }),
        missing: notUploaded.length,
        left_out: [...notUploaded, ...passedOver].slice(0, LEFT_OUT_MAX)
          .map((path) => path.slice(0, PATH_LENGTH_MAX)),
      };
      await this.#context.save({ job: held });
      const execution = await getExecution(this.#context.store, pass.executionId);
      // Otherwise the next tick asks the cluster first.
      if (execution && !isUnexplained(execution, held)) {
        await endAsReported(execution, held, this.#parts);
      }
      this.#parts.wake();
    });
  }

  /** Does what an agent asks for in the turn of its execution. */
  #turn<T>(pass: JobPass, work: (job: Job | undefined) => Promise<T>): Promise<T> {
    const { turns, store } = this.#context;
    return turns.run(pass.executionId, async () => {
      this.#expectOpen();
      return await work(await getJob(store, pass.executionId));
    });
  }

  #expectOpen(): void {
    if (this.#isClosed) throw new UnavailableError("Cannot act for a job: the service stops", 1);
  }

  async #filesOf(pass: JobPass): Promise<FilesOf> {
    const job = holder(await getJob(this.#context.store, pass.executionId), pass);
    const execution = await getExecution(this.#context.store, pass.executionId);
    if (execution === undefined || job.claim === undefined || hasEnded(execution.status)) {
      throw new JobEndedError(pass.executionId);
    }
    const logEvent = (message: string) =>
      this.#turn(pass, async (job) => {
        if (job === undefined || job.state === "closed") return;
        const writes = eventWrites(job, { time: this.#context.time, message });
        await this.#context.save({ job, writes });
      });
    return { execution, attempt: job.attempt, folder: job.claim.folder, logEvent };
  }

  /** Ends an execution whose command cannot start. */
  async #fail(pass: JobPass, reason: string): Promise<void> {
    await this.#turn(pass, async (job) => {
      const held = holder(job, pass);
      const execution = await getExecution(this.#context.store, pass.executionId);
      if (execution === undefined || hasEnded(execution.status)) return;
      const ending = decidedEnding(execution) ?? failure(reason);
      await end(execution, held, { ending, at_ms: this.#context.clock.now() }, this.#parts);
    });
    this.#parts.wake();
  }

  #isDueToHear({ heard_at }: Job): boolean {
    const heard_ms = heard_at === undefined ? -Infinity : Date.parse(heard_at);
    return this.#context.clock.now() - heard_ms >= HEARD_MS;
  }

  async #metadataOf(job: Job) {
    const execution = await getExecution(this.#context.store, job.id);
    if (execution === undefined) return [] as const;
    return [execution, await this.#parts.metadata.of(job, execution)] as const;
  }

  /** Says what metadata was left out, stops the execution if its condition holds, and stores what is new. */
  async #lookAtMetadata(job: Job, execution: Execution, { content }: TakenOutput): Promise<void> {
    if (content.length === 0) return;
    const known = await this.#parts.metadata.of(job, execution);
    const { metadata, condition, saved, logged } = known;
    const left = [...metadata.leftOut].filter((reason) => !logged.has(reason));
    if (left.length > 0) {
      const { time } = this.#context;
      const writes = left.flatMap((message) => eventWrites(job, { time, message }));
      await this.#context.save({ job, writes });
      for (const reason of left) logged.add(reason);
    }
    const reached = condition.reached();
    const now_ms = this.#context.clock.steady();
    const isDue = metadata.changes !== saved.changes && now_ms - saved.at_ms >= METADATA_MS;
    if (reached !== undefined && decidedEnding(execution) === undefined) {
      decideEnding(execution, { status: "stopped", reason: reached });
      job.stop_at = this.#context.time;
      await this.#context.save({ execution, job });
    } else if (isDue) {
      known.saved = { changes: metadata.changes, at_ms: now_ms };
      writeMetadata(execution, metadata);
      await this.#context.save({ execution });
    }
  }
}

/** Returns when output was printed, as far as its agent can be believed. */
function timeOf({ time_ms }: JobBeat, { claim }: Job, now_ms: number): string {
  const claimed_ms = Date.parse(claim?.at ?? "");
  const at_ms = Math.min(now_ms, Math.max(claimed_ms, time_ms ?? now_ms));
  return new Date(Number.isNaN(at_ms) ? now_ms : at_ms).toISOString();
}

/** Returns true for the report that has ended a job. Records of before know no digest, and take any. */
function isRepeat({ end, claim, tokens }: Job, pass: JobPass, { digest }: JobEnd): boolean {
  return end !== undefined && claim?.id === pass.claimId && tokens.includes(pass.tokenHash) &&
    (end.digest ?? digest) === digest;
}

function isSame(one: string, other: string): boolean {
  return one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other));
}
