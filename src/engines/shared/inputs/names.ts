/**
 * The names of input files: checks that they stay inside the input's folder, and makes them unique.
 *
 * @module
 */
import { parseMediaType } from "@std/media-types";
import { Buffer } from "node:buffer";
import { basename, extname } from "node:path";
import type { Execution } from "../../../store/records/executions.ts";
import { StagingError } from "./errors.ts";

/** The most files that the inputs of an execution may have together. */
export const FILES_MAX = 1_000;
/** The name of a file whose URL gives it none. */
export const NO_NAME = "file";
/** The limit of Linux for one part of a path. */
const PART_BYTES_MAX = 255;
/** Leaves room for the parent folders in a path of 4,096 bytes. */
const NAME_BYTES_MAX = 1_024;
/** Characters of up to four bytes. */
const SUGGESTED_LENGTH_MAX = 60;
/** A longer text behind the last dot is not an extension. */
const EXTENSION_LENGTH_MAX = 32;

/**
 * Refuses names that lead out of the inputs folder, and too many files. The name of a file may be a path
 * with folders.
 *
 * @throws {StagingError} when one is refused
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
    throw new StagingError(
      `The inputs have too many files: expected at most ${FILES_MAX}, found ${count}`,
    );
  }
}

/**
 * Refuses a name that is no path inside its folder.
 *
 * @throws {StagingError} when it is refused
 */
export function checkName(name: string): void {
  // On disk a lone surrogate becomes U+FFFD, so different names would become equal.
  if (name.includes("\0") || !name.isWellFormed()) refuse(name);
  if (Buffer.byteLength(name) > NAME_BYTES_MAX) refuse(name);
  for (const part of name.split("/")) {
    if (part === "" || part === "." || part === "..") refuse(name);
    if (Buffer.byteLength(part) > PART_BYTES_MAX) refuse(name);
  }
}

/** The names in use in the folder of one input. */
export class Names {
  readonly #files = new Set<string>();
  readonly #folders = new Set<string>();

  /**
   * Takes a name. If it is in use, takes the first free one of `name-2.ext`, `name-3.ext` and so on. Folders
   * in the name are renamed likewise.
   *
   * @param name a name that {@linkcode checkName} accepts
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
 * Returns the file name in a `Content-Disposition` header (RFC 6266), without folders and control
 * characters; undefined when there is none.
 *
 * @param header one character a byte, as HTTP clients return it
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
    // deno-lint-ignore no-control-regex -- the expression removes them
    .replace(/[\x00-\x1f\x7f]/g, "").trim();
  if (name === "" || name === "." || name === "..") return undefined;
  // Keep the end: it has the extension.
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

/** Decodes a header as UTF-8, as browsers do; other bytes stay as they are. */
function utf8(header: string): string {
  const bytes = Uint8Array.from(header, (char) => char.charCodeAt(0));
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return header;
  }
}

function refuse(name: string): never {
  throw new StagingError(`The input or file name ${JSON.stringify(name)} cannot be used in a path`);
}
