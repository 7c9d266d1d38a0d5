/**
 * Stages of jobs where there is no disk: texts are in memory, and inputs come from where they are stored. What was
 * fetched is in the artifact store.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { createTarPacker, type TarPackController } from "modern-tar";
import { artifactKeys } from "../../artifacts/keys.ts";
import type { ArtifactStore } from "../../artifacts/store.ts";
import type { Clock } from "../../platform/clock.ts";
import type { HashedFile } from "../shared/file_hash.ts";
import type { Held } from "../shared/inputs/cache_files.ts";
import type { CopyOptions } from "../shared/inputs/checked_copy.ts";
import { StagingError } from "../shared/inputs/errors.ts";
import type { InputKeeper, StoredFile } from "../shared/inputs/input_folder.ts";
import { type FetchCache, RemoteFiles } from "../shared/inputs/remote_files.ts";
import { type JobStage, type JobStages, modeOf, type OpenFile } from "./job_stage.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** Keeps the files of jobs that are being prepared or run. */
export class StoredStages implements JobStages {
  readonly #parts: StageParts;
  readonly #stages = new Map<string, StoredStage>();

  constructor(parts: StageParts) {
    this.#parts = parts;
  }

  of(executionId: string): JobStage {
    const known = this.#stages.get(executionId);
    if (known !== undefined) return known;
    const forget = () => this.#stages.delete(executionId);
    const made = new StoredStage(executionId, this.#parts, forget);
    this.#stages.set(executionId, made);
    return made;
  }

  async close(): Promise<void> {
    await Promise.all(Array.from(this.#stages.values(), ({ remote }) => remote.close()));
  }
}

interface StageParts {
  artifacts: ArtifactStore;
  clock: Clock;
}

class StoredStage implements JobStage {
  readonly inputs: StoredInputs;
  readonly remote: RemoteFiles;
  readonly #parts: StageParts;
  readonly #prefix: string;
  readonly #texts = new Map<string, string>();
  readonly #folders = new Set<string>();
  readonly #forget: () => void;

  constructor(executionId: string, parts: StageParts, forget: () => void) {
    this.#parts = parts;
    this.#prefix = artifactKeys.staged(executionId, "");
    this.#forget = forget;
    const store = new StagedArtifacts(this.#prefix, parts.artifacts);
    this.inputs = new StoredInputs(store);
    this.remote = new RemoteFiles({ cache: cacheOf(store), clock: parts.clock });
  }

  async clear(): Promise<void> {
    this.#forget();
    await this.#parts.artifacts.remove(this.#prefix);
  }

  begin(): Promise<void> {
    return Promise.resolve();
  }

  write(folder: string, files: ReadonlyMap<string, string>): Promise<void> {
    this.#folders.add(folder);
    for (const [name, text] of files) this.#texts.set(`${folder}/${name}`, text);
    return Promise.resolve();
  }

  async checkOut(write: (destination: string) => Promise<void>): Promise<void> {
    this.#folders.add("repository");
    // A project without a repository has no files.
    await write("");
  }

  base(): Promise<ReadableStream<Uint8Array>> {
    const { readable, controller } = createTarPacker();
    // Whoever reads it is told. One who has gone has ended it already.
    addTexts(controller, this.#folders, this.#texts).then(
      () => controller.finalize(),
      (error) => controller.error(error),
    );
    return Promise.resolve(readable);
  }

  input(path: string): Promise<OpenFile> {
    return this.inputs.open(path);
  }
}

async function addTexts(
  tar: TarPackController,
  folders: ReadonlySet<string>,
  texts: ReadonlyMap<string, string>,
): Promise<void> {
  for (const name of [...folders].sort()) {
    await tar.add({ name: `${name}/`, type: "directory", size: 0, mode: 0o700 }).close();
  }
  for (const [name, text] of texts) {
    const bytes = new TextEncoder().encode(text);
    const mode = modeOf(name.slice(name.lastIndexOf("/") + 1));
    const writer = tar.add({ name, type: "file", size: bytes.length, mode }).getWriter();
    await writer.write(bytes);
    await writer.close();
  }
}

/** Keeps the inputs of one job, by opening them where they are stored. */
class StoredInputs implements InputKeeper {
  readonly #store: StagedArtifacts;
  readonly #files = new Map<string, Pick<StoredFile, "open">>();

  constructor(store: StagedArtifacts) {
    this.#store = store;
  }

  makeFolder(): void {
    // Agents make folders.
  }

  /** Looks whether it is there. The agent compares it with its hash. */
  async take(path: string, file: StoredFile, { signal }: CopyOptions): Promise<HashedFile> {
    const { size, sha256, isChecked, open } = file;
    this.#files.set(path, { open });
    const hash = createHash("sha256");
    for await (const chunk of await open()) {
      signal.throwIfAborted();
      if (!isChecked) break;
      hash.update(chunk);
    }
    return { size, sha256: sha256 ?? hash.digest("hex") };
  }

  async write(
    path: string,
    chunks: AsyncIterable<Uint8Array>,
    options: CopyOptions,
  ): Promise<HashedFile> {
    return await this.copy(path, await this.#store.add(chunks, options));
  }

  copy(
    path: string,
    { size, sha256, path: key }: HashedFile & { path: string },
  ): Promise<HashedFile> {
    this.#files.set(path, { open: () => this.#store.open(key) });
    return Promise.resolve({ size, sha256 });
  }

  async open(path: string): Promise<OpenFile> {
    const file = this.#files.get(path);
    if (file === undefined) throw new StagingError(`There is no input at ${JSON.stringify(path)}`);
    return { stream: ReadableStream.from(await file.open()) };
  }
}

/** Artifacts of one job that end with it. */
class StagedArtifacts {
  readonly #prefix: string;
  readonly #artifacts: ArtifactStore;

  constructor(prefix: string, artifacts: ArtifactStore) {
    this.#prefix = prefix;
    this.#artifacts = artifacts;
  }

  async add(
    chunks: AsyncIterable<Uint8Array>,
    { signal, onBytes }: CopyOptions,
  ): Promise<Held> {
    const key = this.#prefix + crypto.randomUUID();
    let total = 0;
    const counted = async function* (): AsyncGenerator<Bytes> {
      for await (const chunk of chunks) {
        total += chunk.length;
        onBytes(total);
        // The sender may use its buffer again.
        yield chunk.slice();
      }
    };
    const { size, sha256 } = await this.#artifacts.add(key, ReadableStream.from(counted()), {
      signal,
    });
    return { size, sha256, path: key, artifact: key, [Symbol.dispose]() {} };
  }

  async open(key: string): Promise<ReadableStream<Bytes>> {
    const found = await this.#artifacts.open(key);
    if (found === undefined) throw new StagingError("A fetched file is not there any more");
    return found.stream;
  }
}

/** Returns a cache that has nothing: a file is fetched for each job, and removed with it. */
function cacheOf(store: StagedArtifacts): FetchCache {
  const nothing = () => Promise.resolve(undefined);
  const open = () => Promise.resolve();
  return {
    files: {
      open,
      find: nothing,
      add: (chunks, options) => store.add(chunks, options),
      prune: () => Promise.resolve(false),
    },
    urls: { open, get: nothing, put: open, prune: open },
  };
}
