/**
 * How a container is started: what it sees, and what it may do.
 *
 * - It sees the parts of the work folder that are the command's, at `/valohai`, and nothing else of the
 *   machine. Each part is mounted by itself, so that none can be replaced by a link.
 * - Its user is root, whatever the image says, as steps expect that install what they need. That root has no
 *   more rights than an engine gives by default, less those to make devices and to gain others. Where the
 *   engine runs without root, it is the service's own user.
 * - It has no network, unless the project's settings say so.
 * - It has no init program, as those are not everywhere: the wrapper is its first process, and ends it.
 *
 * @module
 */
import { join } from "node:path";
import type { Execution } from "../../../store/records/executions.ts";
import { CONTAINER_FOLDER, CONTAINER_MOUNTS } from "../layout.ts";
import type { LocalSettings } from "../settings.ts";
import type { ContainerProgram } from "./container_program.ts";

const PIDS_MAX = 4_096;

/** By this label the containers of one service are known. Its value is the folder of all executions. */
export const OWNER_LABEL = "hooklaunch.executions";

/** What a container is started for. */
export interface ContainerOptions {
  execution: Execution;
  settings: Pick<LocalSettings, "network">;
  /** The work folder. */
  path: string;
  /** The folder of all executions. */
  root: string;
  /** How many processors the machine has. */
  processors: number;
}

/**
 * The name of an execution's container. What a copy of the data starts, as one that was restored beside
 * its origin, has another one: the copy must not take the origin's container for its own, and end it.
 */
export function containerName(
  { id, engine_state }: Pick<Execution, "id" | "engine_state">,
): string {
  const start = engine_state?.start_id;
  return typeof start === "string" ? `hooklaunch-${id}-${start}` : `hooklaunch-${id}`;
}

/** Before a colon, podman takes these for images in files of the machine, or in another storage. */
const ELSEWHERE =
  /^(atomic|containers-storage|dir|docker-(archive|daemon)|oci(-archive)?|ostree|sif|tarball):/;

/**
 * Whether an image's name can be given to a program, which must not take it for an option, nor for an image
 * that is no registry's.
 */
export function isImageName(image: string): boolean {
  return /^[\w][\w.:/@-]*$/.test(image) && image.length <= 512 && !ELSEWHERE.test(image);
}

/** The arguments that run a shell in an execution's container, up to those of the shell. */
export function runArguments(
  program: ContainerProgram,
  { execution, settings, path, root, processors }: ContainerOptions,
): string[] {
  const { cpu, memory } = execution.resources ?? {};
  return [
    "run",
    "--detach",
    "--log-driver=none",
    `--name=${containerName(execution)}`,
    `--label=${OWNER_LABEL}=${root}`,
    "--stop-signal=TERM",
    "--no-healthcheck",
    `--pids-limit=${PIDS_MAX}`,
    ...(settings.network ? [] : ["--network=none"]),
    // More than there are is refused.
    ...(cpu === undefined ? [] : [`--cpus=${Math.min(cpu, processors)}`]),
    ...(memory === undefined ? [] : [`--memory=${memory}m`, `--memory-swap=${memory}m`]),
    ...program.runArguments,
    ...shellIn(program, path, execution.image),
  ];
}

/**
 * The arguments that run a shell which makes the work folder's parts the service's own again, up to those of
 * the shell.
 */
export function handOverArguments(
  program: ContainerProgram,
  { execution, path, root }: Pick<ContainerOptions, "execution" | "path" | "root">,
): string[] {
  return [
    "run",
    "--rm",
    `--name=${containerName(execution)}-owner`,
    `--label=${OWNER_LABEL}=${root}`,
    "--network=none",
    ...shellIn(program, path, execution.image),
  ];
}

function shellIn(program: ContainerProgram, path: string, image: string): string[] {
  return [
    "--pull=never",
    "--user=0:0",
    "--cap-drop=MKNOD",
    "--security-opt=no-new-privileges",
    ...Object.entries(CONTAINER_MOUNTS).map(([name, part]) => {
      // A line of CSV.
      const options = [
        "type=bind",
        `"source=${join(path, part).replaceAll('"', '""')}"`,
        `target=${CONTAINER_FOLDER}/${name}`,
        // From its owner, which nobody can change then, the wrapper knows the service's user.
        ...(name === "config" ? ["readonly"] : []),
        ...program.mountOptions,
      ];
      return `--mount=${options.join(",")}`;
    }),
    `--workdir=${CONTAINER_FOLDER}`,
    "--entrypoint=sh",
    image,
  ];
}
