/** Engines beside each other: each minds its own executions, and one that is down does not affect the others. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { FolderStore } from "../../src/artifacts/folder.ts";
import type { Engine } from "../../src/engines/engine.ts";
import { engineMakers, Engines } from "../../src/engines/mod.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { datumId, type Execution, saveExecution } from "../../src/store/records/executions.ts";
import { EngineFixture, until } from "./fixture.ts";
import { atOnce } from "../at_once.ts";

const test = atOnce("boundaries between engines");

const REMOTE = { type: "remote" };
const TEXT = "made elsewhere\n";
const OUTPUT = {
  path: "model",
  size: TEXT.length,
  sha256: createHash("sha256").update(TEXT).digest("hex"),
};

/** An engine that runs nothing here. Its executions have one output. */
class RemoteEngine implements Engine {
  readonly submitted: string[] = [];
  readonly forgotten: string[] = [];
  starts = 0;
  readonly load = { running: 0, waiting: 0 };

  constructor(readonly onStart: () => Promise<void> = () => Promise.resolve()) {}

  start() {
    this.starts++;
    return this.onStart();
  }
  submit({ id }: Execution) {
    this.submitted.push(id);
  }
  stop() {
    return Promise.resolve(false);
  }
  log() {
    return Promise.resolve({ lines: [], next: "" });
  }
  watchLog() {
    return () => {};
  }
  output(_id: string, path: string) {
    const stream = new Response(TEXT).body;
    const isThere = path === OUTPUT.path && stream !== null;
    return Promise.resolve(isThere ? { size: OUTPUT.size, stream } : undefined);
  }
  forget(id: string) {
    return Promise.resolve(void this.forgotten.push(id));
  }
  close() {
    return Promise.resolve();
  }
}

/** The engines of a service on the database of a fixture, whose own engine is closed. */
async function enginesOf(fixture: EngineFixture, remote: RemoteEngine): Promise<Engines> {
  await fixture.close();
  await fixture.open();
  return new Engines(
    { ...await engineMakers(), remote: () => remote },
    {
      store: fixture.store,
      dataFolder: join(fixture.folder, "data"),
      clock: systemClock,
      artifacts: new FolderStore(join(fixture.folder, "data/artifacts")),
      projects: { checkout: (_project, _commit, folder) => Deno.mkdir(folder) },
    },
  );
}

async function stored(fixture: EngineFixture, fields: Partial<Execution>): Promise<Execution> {
  const execution = fixture.execution("true", fields);
  await fixture.store.committer.commit(saveExecution(execution));
  return execution;
}

test("an engine starts and ends no execution of another one", async () => {
  await using fixture = await EngineFixture.make();
  const remote = new RemoteEngine();
  const engines = await enginesOf(fixture, remote);
  const started_at = new Date().toISOString();
  const begun = await stored(fixture, { engine: REMOTE, status: "started", started_at });
  const waiting = await stored(fixture, { engine: REMOTE });
  const own = await stored(fixture, {});
  await engines.start();
  assertEquals((await fixture.ended(own.id)).status, "complete");
  assertEquals((await fixture.record(begun.id)).status, "started");
  assertEquals((await fixture.record(waiting.id)).status, "queued");
  const ended = await fixture.record(own.id);
  await engines.forget({ ...ended, engine: REMOTE });
  assertEquals(remote.forgotten, [own.id]);
  await engines.close(5_000);
});

test("an output of another engine's execution can be an input", async () => {
  await using fixture = await EngineFixture.make();
  const engines = await enginesOf(fixture, new RemoteEngine());
  await engines.start();
  const made = await stored(fixture, { engine: REMOTE, status: "complete", outputs: [OUTPUT] });
  const run = async (inputs: Execution["inputs"]) => {
    const execution = await stored(fixture, {
      inputs,
      command: 'cat "$VH_INPUTS_DIR"/data/*',
    });
    engines.of("local").submit(execution);
    const { status, reason = "" } = await fixture.ended(execution.id);
    const { lines } = await engines.of("local").log(execution.id);
    return { status, reason, printed: lines.map(({ message }) => message) };
  };
  const file = { ...OUTPUT, name: "model", output_of: made.id };
  const datum = { name: "model", url: `datum://${datumId(made.id, OUTPUT.path)}` };
  for (const input of [file, datum]) {
    assertEquals(await run({ data: [input] }), {
      status: "complete",
      reason: "",
      printed: [TEXT.trim()],
    });
  }
  const changed = await run({ data: [{ ...file, sha256: "0".repeat(64) }] });
  assertStringIncludes(changed.reason, "was changed after it had been made");
  await engines.close(5_000);
});

for (
  const [what, onStart] of [
    ["fails", () => Promise.reject(new Error("cannot be reached"))],
    ["hangs", () => new Promise<void>(() => {})],
  ] as const
) {
  test(`an engine whose start ${what} holds up no other`, async () => {
    await using fixture = await EngineFixture.make();
    const remote = new RemoteEngine(onStart);
    const engines = await enginesOf(fixture, remote);
    const own = await stored(fixture, {});
    const starting = engines.start();
    assertEquals((await fixture.ended(own.id)).status, "complete");
    await engines.close(5_000);
    await starting;
    await until(() => remote.starts === 1);
    assert(remote.submitted.length === 0);
  });
}
