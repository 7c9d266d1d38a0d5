/**
 * Executions of this machine and of another engine use each other's outputs.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { join } from "node:path";
import { FolderStore } from "../../src/artifacts/folder.ts";
import { engineMakers, Engines } from "../../src/engines/mod.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { datumId, type Execution, saveExecution } from "../../src/store/records/executions.ts";
import { uploadPayload } from "../../src/store/records/payloads.ts";
import { EngineFixture } from "./fixture.ts";
import { type HostKind, RemoteHost } from "./remote/fixture.ts";

const LOCAL = { engine: { type: "local", runner: "process" } };

/** An engine that is mixed with the local one. */
export interface Mixed {
  kind?: Partial<HostKind>;
  /** The fields of its executions, such as the settings of the engine. */
  fields: Pick<Execution, "engine"> & Partial<Execution>;
}

/** Outputs go from one engine to another, by edges and as data, and so does a payload of 16 MiB. */
export async function mixEngines({ kind = {}, fields: remoteFields }: Mixed): Promise<void> {
  await using fixture = await EngineFixture.make();
  await fixture.close();
  await fixture.open();
  await using host = new RemoteHost(join(fixture.folder, "cluster"), 0, kind);
  const dataFolder = join(fixture.folder, "data");
  const engines = new Engines({
    ...await engineMakers(),
    [remoteFields.engine.type]: (parts) => host.makeEngine({ onChange() {}, ...parts }),
  }, {
    store: fixture.store,
    dataFolder,
    artifacts: new FolderStore(join(dataFolder, "artifacts")),
    clock: systemClock,
    projects: { checkout: (_project, _commit, folder) => Deno.mkdir(folder) },
  });
  await engines.start();
  const run = async (
    of: Mixed["fields"],
    command: string,
    inputs: Execution["inputs"] = {},
    run_id?: string,
  ) => {
    const fields = { ...of, inputs, ...(run_id === undefined ? {} : { run_id }) };
    const execution = fixture.execution(command, fields);
    await fixture.store.committer.commit(saveExecution(execution));
    engines.of(of.engine.type).submit(execution);
    const ended = await fixture.ended(execution.id);
    assertEquals([ended.status, ended.reason], ["complete", undefined]);
    return ended;
  };
  const made = await run(LOCAL, "seq 1 200000 >$VH_OUTPUTS_DIR/numbers");
  const [numbers] = made.outputs;
  const edge = { ...numbers, path: "numbers", name: "n.txt", output_of: made.id };
  const sum =
    "sha256sum <$VH_INPUTS_DIR/data/* | cut -d' ' -f1 >$VH_OUTPUTS_DIR/sum; ls $VH_INPUTS_DIR/data";
  const remote = await run(remoteFields, `${sum}; cp $VH_INPUTS_DIR/data/* $VH_OUTPUTS_DIR/copy`, {
    data: [edge as Execution["inputs"][string][number]],
  });
  const copy = remote.outputs.find(({ path }) => path === "copy");
  assertEquals(copy?.sha256, numbers?.sha256);
  const datum = { name: "again", url: `datum://${datumId(remote.id, "copy")}` };
  const back = await run(LOCAL, "cp $VH_INPUTS_DIR/data/* $VH_OUTPUTS_DIR/copy", { data: [datum] });
  assertEquals(back.outputs[0]?.sha256, numbers?.sha256);

  const body = crypto.getRandomValues(new Uint8Array(65_536));
  const payload = new Uint8Array(16 * 1024 * 1024);
  for (let at = 0; at < payload.length; at += body.length) payload.set(body, at);
  const { run_id } = fixture.execution("");
  await uploadPayload(fixture.store, run_id, payload);
  const file = { name: "body", payload_of: run_id, size: payload.length };
  const taken = await run(
    remoteFields,
    'cp "$VH_PAYLOAD" "$VH_OUTPUTS_DIR/body"',
    { in: [file] },
    run_id,
  );
  assertEquals(taken.outputs[0]?.size, payload.length);
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", payload)).toHex();
  assertEquals(taken.outputs[0]?.sha256, hash);
  await engines.close(5_000);
}
