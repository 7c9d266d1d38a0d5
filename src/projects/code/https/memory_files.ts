/**
 * A file system in memory, of a limited size: where isomorphic-git keeps a repository that is read once.
 *
 * @module
 */
import { FetchError } from "../../../platform/network/fetch_errors.ts";

/** The size that the bookkeeping of an entry counts for. */
const ENTRY_BYTES = 128;

type Entry = { kind: "folder" } | { kind: "file"; bytes: Uint8Array };

interface Stat {
  type: "file" | "dir";
  mode: number;
  size: number;
  ino: number;
  mtimeMs: number;
  ctimeMs: number;
  isFile(): boolean;
  isDirectory(): boolean;
  isSymbolicLink(): boolean;
}

/** Files in memory, with the functions that isomorphic-git calls. */
export class MemoryFiles {
  readonly #entries = new Map<string, Entry>([["", { kind: "folder" }]]);
  readonly #bytesMax: number;
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** The functions of `fs.promises`. isomorphic-git finds out by a call without a path that they give promises. */
  readonly promises = {
    readFile: (path?: string, options?: string | { encoding?: string }) => {
      const entry = path === undefined ? undefined : this.#entries.get(nameOf(path));
      if (entry?.kind !== "file") return fail(path);
      const encoding = typeof options === "string" ? options : options?.encoding;
      const isText = encoding === "utf8";
      return Promise.resolve(isText ? new TextDecoder().decode(entry.bytes) : entry.bytes);
    },
    writeFile: (path: string, content: string | Uint8Array) => {
      const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
      return this.#put(path, { kind: "file", bytes });
    },
    unlink: (path: string) => this.#remove(path),
    rmdir: (path: string) => this.#remove(path),
    mkdir: (path: string) => this.#put(path, { kind: "folder" }),
    readdir: (path: string) => {
      const start = `${nameOf(path)}/`;
      const names = new Set<string>();
      for (const name of this.#entries.keys()) {
        if (!name.startsWith(start)) continue;
        const [first = ""] = name.slice(start.length).split("/");
        names.add(first);
      }
      return Promise.resolve([...names]);
    },
    stat: (path: string) => this.#stat(path),
    lstat: (path: string) => this.#stat(path),
    readlink: (path: string) => fail(path),
    symlink: (_target: string, path: string) => fail(path),
  };

  #put(path: string, entry: Entry): Promise<void> {
    const name = nameOf(path);
    const bytes = this.#bytes + sizeOf(entry) - sizeOf(this.#entries.get(name));
    if (bytes > this.#bytesMax) return Promise.reject(tooLarge(this.#bytesMax));
    this.#bytes = bytes;
    this.#entries.set(name, entry);
    return Promise.resolve();
  }

  #remove(path: string): Promise<void> {
    const name = nameOf(path);
    this.#bytes -= sizeOf(this.#entries.get(name));
    this.#entries.delete(name);
    return Promise.resolve();
  }

  #stat(path: string): Promise<Stat> {
    const entry = this.#entries.get(nameOf(path));
    if (entry === undefined) return fail(path);
    const isFile = entry.kind === "file";
    return Promise.resolve({
      type: isFile ? "file" : "dir",
      mode: isFile ? 0o100644 : 0o40000,
      size: isFile ? entry.bytes.length : 0,
      ino: 0,
      mtimeMs: 0,
      ctimeMs: 0,
      isFile: () => isFile,
      isDirectory: () => !isFile,
      isSymbolicLink: () => false,
    });
  }
}

/** Returns the error for a repository that needs too much memory. */
export function tooLarge(bytesMax: number): FetchError {
  return new FetchError(
    `one commit of it has more than ${
      bytesMax / 1024 ** 2
    } MiB, which is too much to read without git: ` +
      "set source to github, gitlab or gitea where that is its host, or write config into the project",
  );
}

function fail(path = "file"): Promise<never> {
  // isomorphic-git knows it by its code.
  return Promise.reject(Object.assign(new Deno.errors.NotFound(path), { code: "ENOENT" }));
}

function sizeOf(entry: Entry | undefined): number {
  if (entry === undefined) return 0;
  return ENTRY_BYTES + (entry.kind === "file" ? entry.bytes.length : 0);
}

/** Returns a path without the slashes around it and the points in it. */
function nameOf(path: string): string {
  return path.split("/").filter((part) => part !== "" && part !== ".").map((part) => `/${part}`)
    .join("");
}
