/**
 * The outputs of jobs, as their agents bring them. What an output may be is checked in the turn of its execution:
 * when its bytes begin to come, and before they get their name.
 *
 * @module
 */
import { artifactKeys, checkKey } from "../../artifacts/keys.ts";
import { diskLimit_mb } from "../../projects/code/size_guard.ts";
import { getExecution } from "../../store/records/executions.ts";
import { type Job, jobOutputs, jobOutputWrite } from "../../store/records/jobs.ts";
import type { RemoteContext } from "./context.ts";
import { type BegunUpload, holder, type JobOutput, type JobPass } from "./desk.ts";

/** Does work in the turn of a pass's execution, with its job. */
type InTurn = <T>(pass: JobPass, work: (job: Job | undefined) => Promise<T>) => Promise<T>;

/** Takes the outputs of jobs. */
export class JobOutputs {
  readonly #context: RemoteContext;
  readonly #inTurn: InTurn;
  /** The checks of what was put at addresses that are under way, by claim and output. */
  readonly #checks = new Map<string, Promise<boolean>>();

  constructor(context: RemoteContext, inTurn: InTurn) {
    this.#context = context;
    this.#inTurn = inTurn;
  }

  /** See `JobDesk.beginUpload`. */
  begin(pass: JobPass, output: JobOutput): Promise<BegunUpload> {
    const { artifacts, uploads } = this.#context;
    return this.#inTurn(pass, async (job) => {
      holder(job, pass);
      if (isListed(output, await this.#expectRoom(pass, output))) return "stored";
      const put = await artifacts.presignPut(keyOf(pass, output), output);
      if (put === undefined) return "send";
      uploads.notePresigned(pass.executionId, output);
      return { put };
    });
  }

  /** See `JobDesk.upload`. */
  async store(
    pass: JobPass,
    output: JobOutput,
    stream: ReadableStream<Uint8Array>,
    signal: AbortSignal,
  ): Promise<void> {
    const { artifacts, uploads } = this.#context;
    using upload = await this.#inTurn(pass, async (job) => {
      holder(job, pass);
      await this.#expectRoom(pass, output);
      return uploads.begin(pass.executionId, output);
    });
    const content = stream as ReadableStream<Uint8Array<ArrayBuffer>>;
    // It breaks off also while it waits for bytes.
    const broken = content.pipeThrough(new TransformStream(), { signal: upload.signal });
    await artifacts.put(keyOf(pass, output), broken, output, {
      signal: AbortSignal.any([signal, upload.signal]),
      finish: (giveName) => this.#list(pass, output, giveName),
    });
  }

  /** See `JobDesk.finishUpload`. An agent that asks again, as the check of a long file takes long, begins no other. */
  async take(pass: JobPass, output: JobOutput): Promise<boolean> {
    const isKnown = await this.#inTurn(pass, async (job) => {
      holder(job, pass);
      return isListed(output, await jobOutputs(this.#context.store, pass.executionId));
    });
    if (isKnown) return true;
    const { path, size, sha256 } = output;
    const name = JSON.stringify([pass.executionId, pass.claimId, path, size, sha256]);
    const known = this.#checks.get(name);
    if (known !== undefined) return await known;
    const check = this.#check(pass, output).finally(() => this.#checks.delete(name));
    this.#checks.set(name, check);
    return await check;
  }

  async #check(pass: JobPass, output: JobOutput): Promise<boolean> {
    if (!await this.#context.artifacts.verify(keyOf(pass, output), output)) return false;
    await this.#list(pass, output);
    return true;
  }

  /** Gives bytes their name and lists them, unless their agent has lost the job meanwhile. */
  async #list(
    pass: JobPass,
    output: JobOutput,
    giveName = () => Promise.resolve(),
  ): Promise<void> {
    const { path, size, sha256 } = output;
    await this.#inTurn(pass, async (job) => {
      holder(job, pass);
      await this.#expectRoom(pass, output);
      await giveName();
      await this.#context.store.committer.write([
        jobOutputWrite(pass.executionId, { path, size, sha256 }),
      ]);
    });
  }

  /** Checks that an output has a path that it can have, and room. Returns those that are listed. */
  async #expectRoom({ executionId }: JobPass, output: JobOutput): Promise<JobOutput[]> {
    const { store, uploads, settings: { outputsMax } } = this.#context;
    checkKey(artifactKeys.output(executionId, output.path));
    const [execution, listed] = await Promise.all([
      getExecution(store, executionId),
      jobOutputs(store, executionId),
    ]);
    const mb_max = execution === undefined ? 0 : diskLimit_mb(execution.engine);
    uploads.expectRoom(executionId, output, listed, { outputsMax, mb_max });
    return listed;
  }
}

function isListed(output: JobOutput, listed: readonly JobOutput[]): boolean {
  return listed.some(({ path, size, sha256 }) =>
    path === output.path && size === output.size && sha256 === output.sha256
  );
}

function keyOf({ executionId }: JobPass, { path }: JobOutput): string {
  return artifactKeys.output(executionId, path);
}
