/**
 * Reading what a wrapper leaves for the engine.
 *
 * @module
 */
import { existsSync } from "node:fs";
import { ignoreMissing } from "../../missing_file.ts";
import { openRegularFile } from "../../regular_file.ts";
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
export async function readMark(folder: WorkFolder): Promise<Mark | undefined> {
  const text = await readSmall(folder, "started");
  if (text === undefined) return undefined;
  const [, pid = "0", identity = "", begun] = text.match(/^(\d+) (.*)\n(begun\n)?/) ?? [];
  return { pid: Number(pid), identity, hasBegun: begun !== undefined };
}

/** Reads the exit code that a wrapper has left; undefined when there is none. */
export async function readExitCode(
  folder: WorkFolder,
): Promise<{ code: number; at_ms: number } | undefined> {
  const code = (await readSmall(folder, "exit_code"))?.match(/^(\d+)\n$/)?.[1];
  if (code === undefined) return undefined;
  const { mtime } = Deno.lstatSync(folder.control("exit_code"));
  return { code: Number(code), at_ms: mtime?.getTime() ?? 0 };
}

/** What the command keeps from the service's user is given to it when the command has ended. */
function ignoreForbidden(error: unknown): undefined {
  if (!(error instanceof Deno.errors.PermissionDenied)) throw error;
}

async function readSmall(
  folder: WorkFolder,
  name: "exit_code" | "started",
): Promise<string | undefined> {
  using file = await openWritten(folder, name);
  if (file === undefined) return undefined;
  const buffer = new Uint8Array(SMALL_BYTES);
  return new TextDecoder().decode(buffer.subarray(0, file.readSync(buffer) ?? 0));
}

/** Opens what a wrapper has written; undefined when it has not come so far. */
export async function openWritten(
  folder: WorkFolder,
  name: ControlFile,
): Promise<Deno.FsFile | undefined> {
  const path = folder.control(name);
  if (folder.isForeign) return await openRegularFile(path).catch(ignoreForbidden);
  try {
    // Not awaited, because that takes several times as long, as does an error where there is nothing yet.
    // And to open a pipe would wait for its writer.
    const isFile = existsSync(path) && Deno.lstatSync(path).isFile;
    return isFile ? Deno.openSync(path, { read: true }) : undefined;
  } catch (error) {
    // The command may have removed it just now.
    return ignoreMissing(error);
  }
}
