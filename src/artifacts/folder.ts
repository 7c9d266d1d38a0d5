/**
 * An artifact store in a folder of this machine.
 *
 * @module
 */
import { dirname, join } from "node:path";
import { partWriter, syncFolder } from "../platform/files/durable.ts";
import { openRegularFile } from "../platform/files/regular_file.ts";
import { removeTree } from "../platform/files/remove_tree.ts";
import { messageOf, UnavailableError } from "../platform/errors.ts";
import { checkedChunks, matches, MeasuredChunks } from "./checked_content.ts";
import { checkKey } from "./keys.ts";
import {
  type ArtifactContent,
  type ArtifactInfo,
  type ArtifactStore,
  type OpenArtifact,
  type OpenOptions,
  type PutOptions,
} from "./store.ts";

/** The folder of files that are being written. No key begins with it. */
const TEMPORARY = ".tmp";
/** A file that was not written to for so long is of a process that has ended. */
const ABANDONED_MS = 24 * 60 * 60_000;
const RETRY_AFTER_S = 5;
/** Errors of a disk that may go away. */
const DISK_ERRORS = ["ENOSPC", "EDQUOT", "EIO", "EROFS", "EMFILE", "ENFILE", "ENOMEM"];

/** Keeps artifacts as files. A file gets its name after its bytes are checked and on disk. */
export class FolderStore implements ArtifactStore {
  readonly isShared: boolean;
  /** The disk of the data folder is watched elsewhere. */
  readonly failure = undefined;
  readonly name: string;
  readonly #root: string;
  #prepared: Promise<void> | undefined;
  /** The folders that were made, and whose names may not be on disk yet: another artifact may come into them. */
  readonly #unsynced = new Set<string>();

  /** @param root the folder, which is made for the first artifact */
  constructor(root: string, { isShared = false } = {}) {
    this.#root = root;
    this.isShared = isShared;
    this.name = root;
  }

  async put(
    key: string,
    content: ArtifactContent,
    info: ArtifactInfo,
    options: PutOptions = {},
  ): Promise<void> {
    checkKey(key);
    await this.#take(key, content, checkedChunks(key, content, info), options);
  }

  async add(
    key: string,
    content: ReadableStream<Uint8Array<ArrayBuffer>>,
    options: Pick<PutOptions, "signal"> = {},
  ): Promise<ArtifactInfo> {
    checkKey(key);
    const chunks = new MeasuredChunks(content);
    await this.#take(key, content, chunks, options);
    return chunks.info();
  }

  async open(key: string, { offset = 0 }: OpenOptions = {}): Promise<OpenArtifact | undefined> {
    checkKey(key);
    const file = await openRegularFile(join(this.#root, key)).catch((error) => {
      // A part of the path is a file.
      if (error instanceof Deno.errors.NotADirectory) return undefined;
      throw error;
    });
    if (file === undefined) return undefined;
    try {
      const { size } = await file.stat();
      if (offset > 0) await file.seek(offset, Deno.SeekMode.Start);
      return { size, stream: file.readable };
    } catch (error) {
      file.close();
      throw error;
    }
  }

  async verify(key: string, info: ArtifactInfo): Promise<boolean> {
    return await matches(key, await this.open(key), info);
  }

  async remove(prefix: string): Promise<void> {
    const path = prefix.replace(/\/$/, "");
    checkKey(path);
    await removeTree(join(this.#root, path)).catch((error) => {
      if (!(error instanceof Deno.errors.NotADirectory)) throw error;
    });
  }

  presignGet(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  presignPut(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  probe(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  [Symbol.dispose](): void {
    // No file stays open.
  }

  async #take(
    key: string,
    content: ArtifactContent,
    chunks: AsyncIterable<Uint8Array>,
    options: PutOptions,
  ): Promise<void> {
    try {
      await this.#write(key, chunks, options);
    } catch (error) {
      // Whoever sends the content is told to stop.
      if (content instanceof ReadableStream && !content.locked) {
        await content.cancel().catch(() => {});
      }
      throw isOfDisk(error) ? unavailable(key, error) : error;
    }
  }

  async #write(
    key: string,
    chunks: AsyncIterable<Uint8Array>,
    { signal, finish = (giveName) => giveName() }: PutOptions,
  ): Promise<void> {
    await this.#prepare();
    const temporary = join(this.#root, TEMPORARY, crypto.randomUUID());
    try {
      using file = await Deno.open(temporary, { write: true, createNew: true, mode: 0o600 });
      const write = partWriter(file);
      for await (const chunk of chunks) {
        signal?.throwIfAborted();
        await write(chunk);
      }
      await file.sync();
      await finish(() => this.#giveName(temporary, key));
    } catch (error) {
      await Deno.remove(temporary).catch(() => {});
      throw error;
    }
  }

  async #giveName(temporary: string, key: string): Promise<void> {
    const path = join(this.#root, key);
    const made = await this.#makeFolders(dirname(key));
    await Deno.rename(temporary, path);
    await syncFolder(dirname(path));
    for (const folder of made) await syncFolder(join(this.#root, dirname(folder)));
    for (const folder of made) this.#unsynced.delete(folder);
  }

  /** Makes the folders of a key. Returns those whose own names are to be written to disk, the innermost first. */
  async #makeFolders(folder: string): Promise<string[]> {
    const made: string[] = [];
    for (let at = folder; at !== "."; at = dirname(at)) {
      const isThere = await Deno.lstat(join(this.#root, at)).then(() => true, () => false);
      if (isThere && !this.#unsynced.has(at)) break;
      made.push(at);
    }
    for (const each of made) this.#unsynced.add(each);
    await Deno.mkdir(join(this.#root, folder), { recursive: true, mode: 0o700 });
    return made;
  }

  /** Makes the folder, and removes what was begun to be written long ago. */
  #prepare(): Promise<void> {
    return this.#prepared ??= this.#makeTemporary().catch((error) => {
      this.#prepared = undefined;
      throw error;
    });
  }

  async #makeTemporary(): Promise<void> {
    const temporary = join(this.#root, TEMPORARY);
    await Deno.mkdir(temporary, { recursive: true, mode: 0o700 });
    for await (const { name } of Deno.readDir(temporary)) {
      const path = join(temporary, name);
      // Another process may write it now.
      const written_ms = await Deno.lstat(path).then(
        ({ mtime }) => mtime?.getTime() ?? 0,
        () => Infinity,
      );
      if (written_ms < Date.now() - ABANDONED_MS) await Deno.remove(path).catch(() => {});
    }
    await syncFolder(dirname(this.#root));
  }
}

function isOfDisk(error: unknown): boolean {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  return DISK_ERRORS.includes(code);
}

function unavailable(key: string, cause: unknown): UnavailableError {
  return new UnavailableError(
    `Cannot store ${JSON.stringify(key)} in the artifact store: ${messageOf(cause)}`,
    RETRY_AFTER_S,
    { cause },
  );
}
