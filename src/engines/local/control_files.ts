/**
 * Reads the files that a wrapper leaves for the engine.
 *
 * @module
 */
import { existsSync } from "node:fs";
import { type GrowingFile, openGrowingFile } from "../../platform/files/regular_file.ts";
import type { ControlFile, WorkFolder } from "./work_folder.ts";

/** The most bytes of a file that is read whole. */
const SMALL_BYTES = 256;

/** The mark of a wrapper. */
export interface Mark {
  pid: number;
  /** Tells the process from a later one of the same id; empty when it was not written. */
  identity: string;
  /** True when the wrapper has reached its command. */
  hasBegun: boolean;
}

/** Reads the mark; undefined when no wrapper has taken it. */
export function readMark(folder: WorkFolder): Mark | undefined {
  const text = readSmall(folder, "started");
  if (text === undefined) return undefined;
  const [, pid = "0", identity = "", begun] = text.match(/^(\d+) (.*)\n(begun\n)?/) ?? [];
  return { pid: Number(pid), identity, hasBegun: begun !== undefined };
}

/** Reads the exit code that a wrapper has left; undefined when there is none. */
export function readExitCode(folder: WorkFolder): { code: number; at_ms: number } | undefined {
  const code = readSmall(folder, "exit_code")?.match(/^(\d+)\n$/)?.[1];
  if (code === undefined) return undefined;
  const { mtime } = Deno.lstatSync(folder.control("exit_code"));
  return { code: Number(code), at_ms: mtime?.getTime() ?? 0 };
}

function readSmall(folder: WorkFolder, name: "exit_code" | "started"): string | undefined {
  using file = openWritten(folder, name);
  if (file === undefined) return undefined;
  const buffer = new Uint8Array(SMALL_BYTES);
  return new TextDecoder().decode(buffer.subarray(0, file.readSync(buffer) ?? 0));
}

/**
 * Opens a file of the wrapper; undefined when it does not exist yet, or when the command has made it
 * unreadable for the service's user until the command ends.
 */
export function openWritten(folder: WorkFolder, name: ControlFile): GrowingFile | undefined {
  const path = folder.control(name);
  // An error for a missing file takes several times as long as this check.
  return existsSync(path) ? openGrowingFile(path) : undefined;
}
