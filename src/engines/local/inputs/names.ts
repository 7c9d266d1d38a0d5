/**
 * The names of input files: which of them are paths inside an input's folder, and what becomes of those
 * that two files have.
 *
 * @module
 */
import { parseMediaType } from "@std/media-types";
import { Buffer } from "node:buffer";
import { basename, extname } from "node:path";
import type { Execution } from "../../../store/records/executions.ts";

/** How many files an execution's inputs may have together. */
export const FILES_MAX = 1_000;
/** What a file has whose URL gives it no name. */
export const NO_NAME = "file";
/** What Linux allows for one part of a path. */
const PART_BYTES_MAX = 255;
/** Leaves room, in a path of 4,096 bytes, for the folders that an input is in. */
const NAME_BYTES_MAX = 1_024;
/** Characters of up to four bytes. */
const SUGGESTED_LENGTH_MAX = 60;
/** What follows the last dot of a name is more than an extension when it is longer. */
const EXTENSION_LENGTH_MAX = 32;

/**
 * Refuses names that would lead out of the inputs folder, and more files than there may be. Names were
 * declared, or come from URLs, but not for paths. Those of files may have folders in them.
 *
 * @throws when there is one
 */
export function checkNames({ inputs }: Pick<Execution, "inputs">): void {
  let count = 0;
  for (const [input, files] of Object.entries(inputs)) {
    if (input.includes("/")) refuse(input);
    checkName(input);
    for (const { name } of files) checkName(name);
    count += files.length;
  }
  if (count > FILES_MAX) {
    throw new Error(
      `The inputs have too many files: expected at most ${FILES_MAX}, found ${count}`,
    );
  }
}

/**
 * Refuses a name that is no path inside the folder that it is put into.
 *
 * @throws when it is not
 */
export function checkName(name: string): void {
  // Half a character would become another one on disk, the same for all such names.
  if (name.includes("\0") || !name.isWellFormed()) refuse(name);
  if (Buffer.byteLength(name) > NAME_BYTES_MAX) refuse(name);
  for (const part of name.split("/")) {
    if (part === "" || part === "." || part === "..") refuse(name);
    if (Buffer.byteLength(part) > PART_BYTES_MAX) refuse(name);
  }
}

/** The names that are taken in the folder of one input. */
export class Names {
  readonly #files = new Set<string>();
  readonly #folders = new Set<string>();

  /**
   * Takes a name, or when a file has it, the first that is free of `name-2.ext`, `name-3.ext`, and so on.
   * A folder in it whose name a file has gives way likewise.
   *
   * @param name that {@linkcode checkName} lets pass
   */
  take(name: string): string {
    const parts = name.split("/");
    const file = parts.pop() ?? "";
    let path = "";
    for (const part of parts) {
      path = freeName(path, part, (candidate) => this.#files.has(candidate));
      this.#folders.add(path);
      path += "/";
    }
    const taken = (candidate: string) => this.#files.has(candidate) || this.#folders.has(candidate);
    const found = freeName(path, file, taken);
    this.#files.add(found);
    return found;
  }
}

/**
 * The file name that a `Content-Disposition` header suggests (RFC 6266), without folders and what would
 * be odd in a name; undefined when there is none.
 *
 * @param header one character a byte, as HTTP clients give it
 */
export function suggestedName(header: string | undefined): string | undefined {
  if (header === undefined) return undefined;
  let given: string | undefined;
  try {
    given = parseMediaType(utf8(header))[1]?.filename;
  } catch {
    return undefined;
  }
  const name = basename((given ?? "").toWellFormed().replaceAll("\\", "/"))
    // deno-lint-ignore no-control-regex -- they are what is taken out
    .replace(/[\x00-\x1f\x7f]/g, "").trim();
  if (name === "" || name === "." || name === "..") return undefined;
  // The end is kept, as the extension is there.
  return Array.from(name).slice(-SUGGESTED_LENGTH_MAX).join("");
}

function freeName(folder: string, part: string, isTaken: (path: string) => boolean): string {
  const extension = extname(part).length > EXTENSION_LENGTH_MAX ? "" : extname(part);
  let stem = part.slice(0, part.length - extension.length);
  let path = folder + part;
  for (let number = 2; isTaken(path); number++) {
    const ending = `-${number}${extension}`;
    while (Buffer.byteLength(stem + ending) > PART_BYTES_MAX && stem !== "") {
      stem = Array.from(stem).slice(0, -1).join("");
    }
    path = `${folder}${stem}${ending}`;
  }
  return path;
}

/** Header bytes are UTF-8 when a server sends more than ASCII, as browsers expect it. */
function utf8(header: string): string {
  const bytes = Uint8Array.from(header, (char) => char.charCodeAt(0));
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return header;
  }
}

function refuse(name: string): never {
  throw new Error(`The input or file name ${JSON.stringify(name)} cannot be used in a path`);
}
