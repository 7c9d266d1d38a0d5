/**
 * A folder with the configuration of a service whose commands leave marks outside of their work folders,
 * so that it can be told how often each of them ran.
 *
 * @module
 */
import { eventually, temporaryFolder } from "../surroundings.ts";

/** A trigger's settings, as its owner would write them. */
export interface TriggerSettings {
  id: string;
  name: string;
  /** Another project than the usual one. */
  project?: string;
  conditions?: readonly Record<string, unknown>[];
  actions?: readonly Record<string, unknown>[];
  coalesce?: Record<string, unknown>;
  concurrency?: Record<string, unknown>;
  delay?: number;
  schedule?: readonly Record<string, unknown>[];
}

/** A configured folder. It is removed at the end of its scope. */
export interface Workshop extends AsyncDisposable {
  readonly folder: string;
  /** How often each execution's command has begun, by the execution's id. */
  marks(): Promise<Map<string, number>>;
  /** The data folders in which commands have begun. */
  places(): Promise<Set<string>>;
  /** When the command of each execution of the steps `work` and `long` began and ended, by the execution's id. */
  works(): Promise<Map<string, { began_ms: number; ended_ms: number }>>;
}

/** The action of a trigger where none is given. */
export const MARK = { type: "run_execution", step: "mark", payload_input_name: "body" };

/** The project whose commands run at the engine that {@linkcode workshop} is given. */
export const FAR_PROJECT = "far";

/**
 * Writes the configuration of a service with these triggers.
 *
 * @param engine the engine of a second project with the same steps
 */
export async function workshop(
  triggers: readonly TriggerSettings[],
  engine?: Record<string, unknown>,
): Promise<Workshop> {
  const temporary = await temporaryFolder();
  const folder = temporary.path;
  const marks = `${folder}/marks`;
  await Deno.mkdir(marks);
  await Deno.mkdir(`${folder}/p`);
  const command = `pwd >> '${marks}'/$VH_EXECUTION_ID`;
  const works = `${folder}/works`;
  await Deno.mkdir(works);
  const note = `date +%s%3N >> '${works}'/$VH_EXECUTION_ID`;
  const steps = [
    { name: "mark", image: "i", command, inputs: [{ name: "body" }] },
    { name: "work", image: "i", command: `${note}; sleep 0.1; ${note}` },
    { name: "long", image: "i", command: `${note}; sleep 1; ${note}` },
    { name: "output", image: "i", command: `${command}; ${OUTPUT}` },
  ];
  await Deno.writeTextFile(
    `${folder}/p/valohai.yaml`,
    JSON.stringify(steps.map((step) => ({ step }))),
  );
  await Deno.writeTextFile(
    `${folder}/hooklaunch.yaml`,
    JSON.stringify({
      projects: [
        { name: "p", directory: "./p" },
        ...engine === undefined ? [] : [{ name: FAR_PROJECT, directory: "./p", engine }],
      ],
      triggers: triggers.map((trigger) => ({
        project: "p",
        actions: [MARK],
        response: { type: "text", text: "{run_id}" },
        ...trigger,
      })),
    }),
  );
  return {
    folder,
    marks: () => marksIn(marks),
    places: () => placesIn(marks),
    works: () => worksIn(works),
    [Symbol.asyncDispose]: () => removed(temporary),
  };
}

/** The lines that the step `output` prints, over a second. */
export const PRINTED = ["1", "2", "3", "4", "5"];
/** Prints, and saves the id of the execution as an output. */
const OUTPUT = `for line in ${PRINTED.join(" ")}; do echo $line; sleep 0.2; done; ` +
  "echo $VH_EXECUTION_ID > $VH_OUTPUTS_DIR/id";

/** Removes a folder in which commands that have outlived their service may write until they end. */
async function removed(folder: AsyncDisposable): Promise<void> {
  await eventually(async () => {
    try {
      await folder[Symbol.asyncDispose]();
      return true;
    } catch (error) {
      if (error instanceof Error && "code" in error && error.code === "ENOTEMPTY") return undefined;
      throw error;
    }
  }, { what: "the end of all commands" });
}

/** Returns when commands began and ended. One that was killed has ended as it began. */
async function worksIn(
  folder: string,
): Promise<Map<string, { began_ms: number; ended_ms: number }>> {
  const found = new Map<string, { began_ms: number; ended_ms: number }>();
  for await (const { name } of Deno.readDir(folder)) {
    const text = (await Deno.readTextFile(`${folder}/${name}`)).trim();
    // It was killed before it could note its begin.
    if (text === "") continue;
    const [began_ms = NaN, ended_ms = began_ms, ...more] = text.split("\n").map(Number);
    if (more.length > 0) throw new Error(`The command of ${name} ran twice`);
    found.set(name, { began_ms, ended_ms });
  }
  return found;
}

/** Returns the data folders in which commands have begun. */
async function placesIn(marks: string): Promise<Set<string>> {
  const found = new Set<string>();
  for await (const { name } of Deno.readDir(marks)) {
    const text = await Deno.readTextFile(`${marks}/${name}`);
    for (const line of text.split("\n")) {
      const [place, executions] = line.split("/executions/");
      if (place && executions) found.add(place);
    }
  }
  return found;
}

/** Returns how often each execution's command has begun, from the folder that the commands mark it in. */
export async function marksIn(folder: string): Promise<Map<string, number>> {
  const found = new Map<string, number>();
  for await (const { name } of Deno.readDir(folder)) {
    const text = await Deno.readTextFile(`${folder}/${name}`);
    found.set(name, text.split("\n").length - 1);
  }
  return found;
}
