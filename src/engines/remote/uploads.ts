/**
 * The uploads of outputs: those under way, and the addresses that were given for others. Both count for the limits
 * of an execution, and an end breaks them off.
 *
 * @module
 */
import { ConflictError, TooLargeError } from "../../platform/errors.ts";
import { JobEndedError, type JobOutput } from "./desk.ts";

const MIB = 1024 * 1024;

/** The limits of an execution's outputs. */
interface OutputLimits {
  /** The most outputs. */
  outputsMax: number;
  /** The most MiB that they have together. */
  mb_max: number;
}

/** An upload under way. Its end is its disposal. */
interface Upload extends Disposable {
  /** Aborted when the job ends, or another upload takes its place. */
  readonly signal: AbortSignal;
}

interface UnderWay {
  size: number;
  abort: AbortController;
}

interface OfExecution {
  underWay: Map<string, UnderWay>;
  /** The largest size that was put, or may be put at an address, by path. An address cannot be withdrawn. */
  presigned: Map<string, number>;
}

/** Keeps the uploads of all executions of an engine. */
export class Uploads {
  readonly #all = new Map<string, OfExecution>();

  /** Begins an upload. One of the same path that is under way breaks off: its agent has begun again. */
  begin(executionId: string, { path, size }: JobOutput): Upload {
    const { underWay } = this.#of(executionId);
    const abort = new AbortController();
    underWay.get(path)?.abort.abort(new ConflictError("Another upload of this output has begun"));
    underWay.set(path, { size, abort });
    return {
      signal: abort.signal,
      [Symbol.dispose]: () => {
        if (underWay.get(path)?.abort === abort) underWay.delete(path);
      },
    };
  }

  /** Notes that an address was given for an output. */
  notePresigned(executionId: string, { path, size }: JobOutput): void {
    const { presigned } = this.#of(executionId);
    presigned.set(path, Math.max(size, presigned.get(path) ?? 0));
  }

  /** Breaks off all uploads of an execution whose job has ended, and forgets its addresses. */
  end(executionId: string): void {
    const known = this.#all.get(executionId);
    this.#all.delete(executionId);
    for (const { abort } of known?.underWay.values() ?? []) {
      abort.abort(new JobEndedError(executionId));
    }
  }

  /**
   * Checks that an output has room beside those that are listed, under way, or promised an address, and that no
   * file would be a folder, too: S3 has both, and a disk has not.
   *
   * @throws {TooLargeError} when it has no room
   * @throws {ConflictError} when its path goes on behind that of another output, or the other way round
   */
  expectRoom(
    executionId: string,
    output: JobOutput,
    listed: readonly JobOutput[],
    { outputsMax, mb_max }: OutputLimits,
  ): void {
    const { underWay, presigned } = this.#of(executionId);
    const others = new Map<string, number>();
    const count = (path: string, size: number) => {
      if (path !== output.path) others.set(path, Math.max(size, others.get(path) ?? 0));
    };
    for (const { path, size } of listed) count(path, size);
    for (const [path, { size }] of underWay) count(path, size);
    for (const [path, size] of presigned) count(path, size);
    const what = `Cannot take the output ${JSON.stringify(output.path)}`;
    expectPlace(what, output.path, others);
    if (others.size >= outputsMax) {
      throw new TooLargeError(`${what}: expected at most ${outputsMax} outputs`);
    }
    const own = Math.max(output.size, presigned.get(output.path) ?? 0);
    if (others.values().reduce((sum, size) => sum + size, own) <= mb_max * MIB) return;
    throw new TooLargeError(`${what}: the outputs are longer than ${mb_max} MiB together`);
  }

  #of(executionId: string): OfExecution {
    const known = this.#all.get(executionId);
    if (known !== undefined) return known;
    const made = { underWay: new Map(), presigned: new Map() };
    this.#all.set(executionId, made);
    return made;
  }
}

function expectPlace(what: string, path: string, others: ReadonlyMap<string, number>): void {
  for (const other of others.keys()) {
    if (!path.startsWith(`${other}/`) && !other.startsWith(`${path}/`)) continue;
    const file = path.length < other.length ? path : other;
    const folder = path.length < other.length ? other : path;
    throw new ConflictError(
      `${what}: ${JSON.stringify(file)} would be a file, and a folder of ${JSON.stringify(folder)}`,
    );
  }
}
