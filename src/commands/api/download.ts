/**
 * Downloading the outputs of an execution into a folder. Paths, sizes and checksums are checked: nothing is
 * written outside the folder, and no file stays that is not what was announced.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { dirname, join, resolve, sep } from "node:path";
import { ConflictError, InvalidInputError, messageOf } from "../../platform/errors.ts";
import type { OutputFile } from "../../store/records/executions.ts";
import { writeAll } from "../../platform/files/bytes.ts";
import { type ApiClient, ApiError } from "./client.ts";

/** The place for files. */
interface DownloadOptions {
  folder: string;
  /** Replaces existing files. */
  force: boolean;
}

/**
 * Downloads outputs, each under its own path. Downloads nothing when one of them cannot be written.
 *
 * @param onFile called for each file that is complete
 */
export async function downloadOutputs(
  api: ApiClient,
  { id, outputs, attempt }: {
    id: string;
    outputs: readonly OutputFile[];
    attempt?: number | undefined;
  },
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
  const query = attempt === undefined ? "" : `?attempt=${attempt}`;
  for (const { output, target } of targets) {
    await makeFolder(dirname(target));
    const path = output.path.split("/").map(encodeURIComponent).join("/");
    await receive(() => api.open(`executions/${id}/outputs/${path}${query}`), output, target);
    onFile(output, target);
  }
}

/**
 * Returns the place of an output in a folder.
 *
 * @throws {InvalidInputError} when that is outside the folder
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
    `Expected a path inside the folder, found ${JSON.stringify(path)}`,
  );
}

async function makeFolder(path: string): Promise<void> {
  try {
    await Deno.mkdir(path, { recursive: true });
  } catch (error) {
    throw new ConflictError(
      `Cannot create the folder ${JSON.stringify(path)}: ${messageOf(error)}`,
    );
  }
}

/** Refuses links in the folder, which may lead out of it. */
async function expectNoLinks(root: string, target: string): Promise<void> {
  for (let folder = dirname(target); folder.length > root.length; folder = dirname(folder)) {
    const info = await look(folder);
    if (info === undefined || info.isDirectory) continue;
    throw new ConflictError(`Cannot write to ${folder}: it exists and is not a folder`);
  }
}

async function expectFree(target: string, force: boolean): Promise<void> {
  const info = await look(target);
  if (info === undefined || (force && !info.isDirectory)) return;
  const why = info.isDirectory ? "it is a folder" : "it exists; --force replaces it";
  throw new ConflictError(`Cannot write to ${target}: ${why}`);
}

/** Writes an answer to a temporary file, checks it, and moves it to its place. */
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
      throw new ApiError("its size or checksum is wrong");
    }
    await Deno.rename(partial, target);
  } catch (error) {
    await Deno.remove(partial).catch(() => {
      // It was not created.
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
