/**
 * How a work folder is arranged, and how the command sees it, which depends on what the command runs in.
 *
 * @module
 */
import type { LocalSettings } from "./settings.ts";

/** The runners there are. */
export type RunnerName = LocalSettings["runner"];

/** How a runner has work folders arranged. */
export interface Layout {
  /** The runner's name, for the command to read. */
  readonly runner: RunnerName;
  /** The folder of the files by which engine and wrapper know of each other. */
  readonly wrapperFolder: string;
  /** What the command alone needed. The rest is what it left behind. */
  readonly onlyWhileRunning: readonly string[];
  /** The path of the work folder as the command sees it. */
  seenAs(path: string): string;
}

/** What a command works in and on, apart from its outputs and the files that describe it. */
const FOR_THE_COMMAND = ["repository", "inputs", "tmp", "home"];
const FOR_THE_WRAPPER = ["environment", "stdout", "stderr", "stdout.cut", "stderr.cut"];

/** The layout for processes of the machine, which see what the service sees. */
export const PROCESS_LAYOUT: Layout = {
  runner: "process",
  wrapperFolder: "control",
  onlyWhileRunning: [...FOR_THE_COMMAND, ...FOR_THE_WRAPPER.map((name) => `control/${name}`)],
  seenAs: (path) => path,
};

/** Where a container has its work folder. */
export const CONTAINER_FOLDER = "/valohai";

/** What of a work folder a container sees, each by the name that it has there. */
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
