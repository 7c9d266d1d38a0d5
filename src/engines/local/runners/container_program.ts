/**
 * The programs that run containers, by what they do not have in common: podman takes what docker takes.
 *
 * @module
 */

/** A program that runs containers. */
export interface ContainerProgram {
  readonly name: "docker" | "podman";
  /** Arguments of `run` that only it has. */
  readonly runArguments: readonly string[];
  /** Returns the arguments of `run` that give a number of devices; none for devices that it does not know. */
  deviceArguments(name: string, count: number): string[];
  /** Options of a mount that only it has. */
  readonly mountOptions: readonly string[];
  /** Advice for an owner when it cannot be reached. */
  readonly advice: string;
}

/** The programs that run containers. */
export const CONTAINER_PROGRAMS: readonly ContainerProgram[] = [
  {
    name: "docker",
    runArguments: [],
    deviceArguments: (name, count) => isNvidia(name) ? [`--gpus=${count}`] : [],
    mountOptions: [],
    advice:
      "start its daemon, or set DOCKER_HOST for the service, and see that its user may use it",
  },
  {
    name: "podman",
    // The proxy's address, which may hold a password, is the service's.
    runArguments: ["--http-proxy=false"],
    // Podman has no count: it names devices of the Container Device Interface.
    deviceArguments: (name, count) =>
      isNvidia(name)
        ? Array.from({ length: count }, (_, index) => `--device=nvidia.com/gpu=${index}`)
        : [],
    // Where SELinux keeps containers apart, the folder has to be labelled as this container's own.
    mountOptions: ["relabel=private"],
    advice: "set CONTAINER_HOST for the service, or unset it to have no other machine asked",
  },
];

/** Returns true for names that steps give to GPUs of NVIDIA, such as `nvidia.com/gpu` and `nvidia`. */
function isNvidia(name: string): boolean {
  return /^nvidia(\.com\/gpu)?$/.test(name);
}
