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
  conditions?: readonly Record<string, unknown>[];
  actions?: readonly Record<string, unknown>[];
}

/** A configured folder. It is removed at the end of its scope. */
export interface Workshop extends AsyncDisposable {
  readonly folder: string;
  /** How often each execution's command has begun, by the execution's id. */
  marks(): Promise<Map<string, number>>;
}

/** The action of a trigger where none is given. */
export const MARK = { type: "run_execution", step: "mark", payload_input_name: "body" };

/** Writes the configuration of a service with these triggers. */
export async function workshop(triggers: readonly TriggerSettings[]): Promise<Workshop> {
  const temporary = await temporaryFolder();
  const folder = temporary.path;
  const marks = `${folder}/marks`;
  await Deno.mkdir(marks);
  await Deno.mkdir(`${folder}/p`);
  const command = `echo started >> '${marks}'/$VH_EXECUTION_ID`;
  await Deno.writeTextFile(
    `${folder}/p/valohai.yaml`,
    JSON.stringify([{ step: { name: "mark", image: "i", command, inputs: [{ name: "body" }] } }]),
  );
  await Deno.writeTextFile(
    `${folder}/hooklaunch.yaml`,
    JSON.stringify({
      projects: [{ name: "p", directory: "./p" }],
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
    [Symbol.asyncDispose]: () => removed(temporary),
  };
}

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

/** Returns how often each execution's command has begun, from the folder that the commands mark it in. */
export async function marksIn(folder: string): Promise<Map<string, number>> {
  const found = new Map<string, number>();
  for await (const { name } of Deno.readDir(folder)) {
    const text = await Deno.readTextFile(`${folder}/${name}`);
    found.set(name, text.split("\n").length - 1);
  }
  return found;
}
