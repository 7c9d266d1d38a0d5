/**
 * Reading what a wrapper leaves for the engine.
 *
 * @module
 */
import { existsSync } from "node:fs";
import { type GrowingFile, openGrowingFile } from "../../platform/files/regular_file.ts";
import type { ControlFile, WorkFolder } from "./work_folder.ts";

/** More than any of the files that are read whole may have. */
const SMALL_BYTES = 256;

/** The mark that a wrapper has taken. */
export interface Mark {
  pid: number;
  /** What tells the process from a later one of its id; empty when it did not come to write it. */
  identity: string;
  /** Whether the wrapper has come to its command. */
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
 * Opens what a wrapper has written; undefined when it has not come so far, or when the command keeps it
 * from the service's user, whom it is given to when the command has ended.
 */
export function openWritten(folder: WorkFolder, name: ControlFile): GrowingFile | undefined {
  const path = folder.control(name);
  // An error where there is nothing yet takes several times as long.
  return existsSync(path) ? openGrowingFile(path) : undefined;
}
