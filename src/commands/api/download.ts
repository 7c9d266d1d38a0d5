/**
 * Downloading what an execution left behind into a folder. What the service says of paths and contents
 * is checked: nothing is written outside of the folder, and nothing stays that is not what was announced.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { dirname, join, resolve, sep } from "node:path";
import { ConflictError, InvalidInputError, messageOf } from "../../platform/errors.ts";
import type { OutputFile } from "../../store/records/executions.ts";
import { writeAll } from "../../platform/files/bytes.ts";
import { type ApiClient, ApiError } from "./client.ts";

/** Where to put files. */
export interface DownloadOptions {
  folder: string;
  /** Whether files that are there already are replaced. */
  force: boolean;
}

/**
 * Downloads outputs, each under its own path. Nothing is downloaded when one of them cannot be written.
 *
 * @param onFile told of each file that is complete
 */
export async function downloadOutputs(
  api: ApiClient,
  { id, outputs }: { id: string; outputs: readonly OutputFile[] },
  { folder, force }: DownloadOptions,
  onFile: (output: OutputFile, target: string) => void,
): Promise<void> {
  await makeFolder(folder);
  const root = await Deno.realPath(folder);
  const targets = outputs.map((output) => ({ output, target: targetOf(root, output.path) }));
  for (const { target } of targets) {
    await expectNoLinks(root, target);
    await expectFree(target, force);
  }
  for (const { output, target } of targets) {
    await makeFolder(dirname(target));
    const path = output.path.split("/").map(encodeURIComponent).join("/");
    await receive(() => api.open(`executions/${id}/outputs/${path}`), output, target);
    onFile(output, target);
  }
}

/**
 * Where a path of an output is in a folder.
 *
 * @throws {InvalidInputError} when that is not inside of the folder
 */
export function targetOf(root: string, path: string): string {
  const parts = path.split("/");
  const target = resolve(root, ...parts);
  const isInside = target.startsWith(root.endsWith(sep) ? root : root + sep);
  if (isInside && !parts.some((part) => part === "" || part === "." || part === "..")) {
    return target;
  }
  throw new InvalidInputError(
    "the outputs",
    `Expected a path inside of the folder, found ${JSON.stringify(path)}`,
  );
}

async function makeFolder(path: string): Promise<void> {
  try {
    await Deno.mkdir(path, { recursive: true });
  } catch (error) {
    throw new ConflictError(`Cannot make the folder ${JSON.stringify(path)}: ${messageOf(error)}`);
  }
}

/** A link in the folder may lead out of it. */
async function expectNoLinks(root: string, target: string): Promise<void> {
  for (let folder = dirname(target); folder.length > root.length; folder = dirname(folder)) {
    const info = await look(folder);
    if (info === undefined || info.isDirectory) continue;
    throw new ConflictError(`Cannot write to ${folder}: it is there already and is no folder`);
  }
}

async function expectFree(target: string, force: boolean): Promise<void> {
  const info = await look(target);
  if (info === undefined || (force && !info.isDirectory)) return;
  const advice = info.isDirectory ? "it is a folder" : "it is there already, --force replaces it";
  throw new ConflictError(`Cannot write to ${target}: ${advice}`);
}

/** Writes an answer beside its place, checks it, and puts it there. */
async function receive(
  open: () => Promise<Response>,
  { path, size, sha256 }: OutputFile,
  target: string,
): Promise<void> {
  const partial = join(dirname(target), `.hooklaunch-${crypto.randomUUID()}.part`);
  try {
    const { body } = await open();
    const hash = createHash("sha256");
    let received = 0;
    using file = await Deno.open(partial, { write: true, createNew: true });
    for await (const chunk of body ?? []) {
      hash.update(chunk);
      received += chunk.length;
      if (received > size) break;
      await writeAll(file, chunk);
    }
    if (received !== size || hash.digest("hex") !== sha256) {
      throw new ApiError("it is not what its checksum says");
    }
    await Deno.rename(partial, target);
  } catch (error) {
    await Deno.remove(partial).catch(() => {
      // It was not made.
    });
    throw new ApiError(`Cannot download the output "${path}": ${messageOf(error)}`);
  }
}

async function look(path: string): Promise<Deno.FileInfo | undefined> {
  try {
    return await Deno.lstat(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    if (error instanceof Deno.errors.NotADirectory) return undefined;
    throw error;
  }
}
