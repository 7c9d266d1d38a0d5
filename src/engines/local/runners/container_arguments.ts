/**
 * The arguments that start a container.
 *
 * - A container sees the command's parts of the work folder, at `/valohai`, and nothing else of the machine.
 *   Each part is a mount of its own, so that a link cannot replace it.
 * - Its user is root, whatever the image says: steps expect that, to install what they need. This root has the
 *   default rights of the container engine, without making devices and gaining rights. If the container
 *   engine runs without root, it is the service's own user.
 * - It has no network, unless the project's settings say so.
 * - It has a low priority, so that the service answers however busy it is.
 * - It has no init program, since not every machine has one: the wrapper is its first process, and ends it.
 *
 * @module
 */
import { join } from "node:path";
import type { Execution, Mount } from "../../../store/records/executions.ts";
import { CONTAINER_FOLDER, CONTAINER_MOUNTS } from "../layout.ts";
import type { LocalSettings } from "../settings.ts";
import type { ContainerProgram } from "./container_program.ts";

const PIDS_MAX = 4_096;
/** The container's share of busy processors, where 1024 is usual. Nice values have no effect across containers. */
const CPU_SHARES = 102;

/** The label of a service's containers. Its value is the folder of all executions. */
export const OWNER_LABEL = "hooklaunch.executions";

/** The options of a container. */
export interface ContainerOptions {
  execution: Execution;
  settings: Pick<LocalSettings, "network">;
  /** The work folder. */
  path: string;
  /** The folder of all executions. */
  root: string;
  /** The number of the machine's processors. */
  processors: number;
  /** Folders of the machine that the container sees, beside its own. Default none. */
  mounts?: readonly Mount[];
  /** False when the container engine cannot set a priority. Default true. */
  hasLowPriority?: boolean;
}

/**
 * Returns the name of an execution's container. A copy of the data, such as a backup restored beside its
 * origin, uses other names, so it does not end the origin's containers.
 */
export function containerName(
  { id, engine_state }: Pick<Execution, "id" | "engine_state">,
): string {
  const start = engine_state?.start_id;
  return typeof start === "string" ? `hooklaunch-${id}-${start}` : `hooklaunch-${id}`;
}

/** Prefixes with which podman takes images from files of the machine, or from another storage. */
const ELSEWHERE =
  /^(atomic|containers-storage|dir|docker-(archive|daemon)|oci(-archive)?|ostree|sif|tarball):/;

/** Tells if a text is the name of an image in a registry, and cannot be read as an option. */
export function isImageName(image: string): boolean {
  return /^[\w][\w.:/@-]*$/.test(image) && image.length <= 512 && !ELSEWHERE.test(image);
}

/** Returns the arguments that run a shell in an execution's container, up to those of the shell. */
export function runArguments(
  program: ContainerProgram,
  { execution, settings, path, root, processors, hasLowPriority = true, mounts = [] }:
    ContainerOptions,
): string[] {
  const { cpu, memory, devices = {} } = execution.resources ?? {};
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
    ...(hasLowPriority ? [`--cpu-shares=${CPU_SHARES}`] : []),
    // More processors than the machine has are refused.
    ...(cpu === undefined ? [] : [`--cpus=${Math.min(cpu, processors)}`]),
    ...(memory === undefined ? [] : [`--memory=${memory}m`, `--memory-swap=${memory}m`]),
    ...Object.entries(devices).flatMap(([name, count]) => program.deviceArguments(name, count)),
    ...mounts.map(mountArgument),
    ...program.runArguments,
    ...shellIn(program, path, execution.image),
  ];
}

/**
 * Returns the arguments that run a shell which gives the parts of the work folder back to the service's user,
 * up to those of the shell.
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

/** The syntax is a line of CSV. */
function mountArgument({ source, destination, readonly = false }: Mount): string {
  const quoted = ([name, value]: [string, string]) => `"${name}=${value.replaceAll('"', '""')}"`;
  const options = Object.entries({ source, target: destination }).map(quoted);
  return `--mount=${["type=bind", ...options, ...readonly ? ["readonly"] : []].join(",")}`;
}

function shellIn(program: ContainerProgram, path: string, image: string): string[] {
  return [
    "--pull=never",
    "--user=0:0",
    "--cap-drop=MKNOD",
    "--security-opt=no-new-privileges",
    ...Object.entries(CONTAINER_MOUNTS).map(([name, part]) => {
      // The syntax is a line of CSV.
      const options = [
        "type=bind",
        `"source=${join(path, part).replaceAll('"', '""')}"`,
        `target=${CONTAINER_FOLDER}/${name}`,
        // The owner of this folder, which the container cannot change, tells the wrapper the service's user.
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
