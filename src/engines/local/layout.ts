/**
 * The layout of a work folder, and the paths by which the command sees it, which depend on its runner.
 *
 * @module
 */
import type { LocalSettings } from "./settings.ts";

/** The runners there are. */
type RunnerName = LocalSettings["runner"];

/** The layout of a runner's work folders. */
export interface Layout {
  /** The runner's name, for the command to read. */
  readonly runner: RunnerName;
  /** The folder of the files by which engine and wrapper know of each other. */
  readonly wrapperFolder: string;
  /** The folders that only the running command needs. The rest is kept. */
  readonly onlyWhileRunning: readonly string[];
  /** The path of the work folder as the command sees it. */
  seenAs(path: string): string;
}

/** The folders that a command works in, apart from its outputs and the files that describe it. */
const FOR_THE_COMMAND = ["repository", "inputs", "tmp", "home"];
const FOR_THE_WRAPPER = ["environment", "secrets", "stdout", "stderr", "stdout.cut", "stderr.cut"];

/** The layout for processes of the machine, which see what the service sees. */
export const PROCESS_LAYOUT: Layout = {
  runner: "process",
  wrapperFolder: "control",
  onlyWhileRunning: [...FOR_THE_COMMAND, ...FOR_THE_WRAPPER.map((name) => `control/${name}`)],
  seenAs: (path) => path,
};

/** The path of the work folder in a container. */
export const CONTAINER_FOLDER = "/valohai";

/** The parts of a work folder that a container sees, by their names there. */
export const CONTAINER_MOUNTS = {
  config: "config",
  control: "control/container",
  home: "home",
  inputs: "inputs",
  outputs: "outputs",
  repository: "repository",
  tmp: "tmp",
} as const;

/**
 * The layout for containers. A container could replace a file that the service writes by a link that
 * leads out of it, so what is the service's own, such as the log, is in a folder that it does not see.
 */
export function containerLayout(runner: RunnerName): Layout {
  return {
    runner,
    wrapperFolder: CONTAINER_MOUNTS.control,
    onlyWhileRunning: [...FOR_THE_COMMAND, CONTAINER_MOUNTS.control],
    seenAs: () => CONTAINER_FOLDER,
  };
}
