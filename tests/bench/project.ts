/**
 * The project of the benchmark: one step, whose command looks at the clock and ends.
 *
 * @module
 */
import { run } from "./measuring.ts";

/** What the step runs: the time, in seconds with a fraction. */
export const COMMAND = "echo $EPOCHREALTIME";
/** The name of the step. */
export const STEP = "clock";

/** A step to make a project of. */
export interface ProjectStep {
  /** The name of the repository's folder. */
  folder: string;
  image: string;
  command: string;
  /** The names of its parameters, whose types are those of their defaults. */
  parameters?: Readonly<Record<string, string | number | boolean>>;
}

/** The step of most parts. */
const CLOCK: ProjectStep = { folder: "project", image: "none", command: COMMAND };

/** Makes a project's repository below a folder, unless it is there; answers where. */
export async function makeProject(folder: string, project = CLOCK): Promise<string> {
  const path = `${folder}/${project.folder}`;
  const isThere = await Deno.stat(path).then(() => true, () => false);
  if (isThere) return path;
  await Deno.mkdir(path);
  const { image, command, parameters = {} } = project;
  const declared = Object.entries(parameters).map(([name, value]) => ({
    name,
    type: typeof value === "number" ? "float" : typeof value === "boolean" ? "flag" : "string",
    default: value,
  }));
  const step = { name: STEP, image, command, inputs: [{ name: "body" }], parameters: declared };
  await Deno.writeTextFile(`${path}/valohai.yaml`, JSON.stringify([{ step }]));
  const author = ["-c", "user.name=bench", "-c", "user.email=bench@localhost"];
  await run("git", ["init", "--quiet", "--initial-branch=main"], path);
  await run("git", ["add", "."], path);
  await run("git", [...author, "commit", "--quiet", "--message", "The step"], path);
  return path;
}
