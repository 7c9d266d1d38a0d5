/**
 * A process that hosts engines and runs an execution on each at once, for tests that change its environment. It is
 * given a folder and a list of {@linkcode HostedRun}, and prints a list of {@linkcode Ran}.
 *
 * @module
 */
import { join } from "node:path";
import type { Execution } from "../../../src/store/records/executions.ts";
import { EngineFixture, until } from "../fixture.ts";

/** An execution, and the engine that it runs on. */
export interface HostedRun {
  fields: Partial<Execution>;
  /** Settings of the engine. */
  settings?: Record<string, unknown>;
  /** It is stopped when it runs, or waits for its runner. */
  isStopped?: boolean;
}

/** The record of an execution at its end. */
export interface Ran extends Execution {
  /** The lines of its standard output. */
  printed: string[];
  /** The time until its engine answered the stop, and its status then. */
  stop_ms?: number;
  stopped_as?: string;
  /** The reason why it waited when it was stopped. */
  waited?: string | undefined;
}

async function run(folder: string, { fields, settings, isStopped }: HostedRun): Promise<Ran> {
  await using fixture = await EngineFixture.make(settings ? { settings } : {}, folder);
  const printed = (id: string) => fixture.printed(id, "stdout");
  if (!isStopped) {
    const execution = await fixture.run("echo ran", fields);
    return { ...execution, printed: await printed(execution.id) };
  }
  const id = await fixture.submit("echo ran; sleep 100", fields);
  await until(async () =>
    (await fixture.record(id)).reachable === false || (await printed(id)).length === 1
  );
  const { waiting: waited } = await fixture.record(id);
  const began_ms = performance.now();
  await fixture.engine.stop(id);
  const stop_ms = performance.now() - began_ms;
  const { status: stopped_as } = await fixture.record(id);
  return {
    ...await fixture.ended(id),
    ...{ stop_ms, stopped_as, waited, printed: await printed(id) },
  };
}

if (import.meta.main) {
  const [folder = "", given = "[]"] = Deno.args;
  const runs: HostedRun[] = JSON.parse(given);
  const ran = await Promise.all(runs.map((each, index) => run(join(folder, `${index}`), each)));
  console.log(JSON.stringify(ran));
}
