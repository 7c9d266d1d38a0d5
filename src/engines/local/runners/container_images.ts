/**
 * The images that were pulled for a project. Together they may take as much disk as `disk_mb` of the project's
 * engine says: a project that names ever more images must not fill the disk.
 *
 * @module
 */
import { hash } from "node:crypto";
import { join } from "node:path";
import { diskLimit_mb } from "../../../projects/code/size_guard.ts";
import type { Execution } from "../../../store/records/executions.ts";
import { callContainers, ContainersError } from "./container_cli.ts";
import type { ContainerProgram } from "./container_program.ts";

const MIB = 1024 ** 2;
/** The most images that one call asks about. */
const AT_ONCE = 100;

interface ImagesContext {
  program: ContainerProgram;
  /** The folder of all executions. */
  root: string;
  signal: AbortSignal;
}

/**
 * Counts an image that was just pulled. If the project's images take too much disk together, removes it.
 *
 * @throws {ContainersError} when they do
 */
export async function countImage(
  { image, project, engine }: Pick<Execution, "image" | "project" | "engine">,
  { program, root, signal }: ImagesContext,
): Promise<void> {
  const folder = join(root, `.images-${program.name}`, hash("sha256", project).slice(0, 32));
  await Deno.mkdir(folder, { recursive: true, mode: 0o700 });
  // A file for each image, since executions of a project may pull at the same time.
  await Deno.writeTextFile(join(folder, hash("sha256", image)), image, { mode: 0o600 });
  const limit_mb = diskLimit_mb(engine);
  const bytes = await bytesOf(await imagesIn(folder), { program, root, signal });
  if (bytes <= limit_mb * MIB) return;
  await callContainers(program, ["image", "rm", image], { cwd: root }).catch(() => {});
  throw new ContainersError(
    `The images of project "${project}" take ${Math.ceil(bytes / MIB)} MiB on disk, and image ` +
      `${image} is one too many: raise disk_mb of the project's engine, which is ${limit_mb} MiB, ` +
      `or remove other images with ${program.name} image rm`,
  );
}

async function imagesIn(folder: string): Promise<string[]> {
  const entries = await Array.fromAsync(Deno.readDir(folder));
  return await Promise.all(entries.map(({ name }) => Deno.readTextFile(join(folder, name))));
}

/** Returns how many bytes images take. Those that were removed meanwhile take none. */
async function bytesOf(
  images: readonly string[],
  { program, root, signal }: ImagesContext,
): Promise<number> {
  let bytes = 0;
  for (let start = 0; start < images.length; start += AT_ONCE) {
    const some = images.slice(start, start + AT_ONCE);
    const inspect = ["image", "inspect", "--format={{.Id}} {{.Size}}", ...some];
    const { stdout } = await callContainers(program, inspect, { cwd: root, signal });
    // Two names may stand for one image.
    const sizes = new Map(stdout.split("\n").map((line) => line.split(" ") as [string, string]));
    for (const size of sizes.values()) bytes += Number(size) || 0;
  }
  return bytes;
}
