/**
 * A project's code, its step and the local engine together: from a git repository to outputs.
 *
 * @module
 */
import { assertEquals, assertThrows } from "@std/assert";
import { join } from "node:path";
import { FolderStore } from "../../src/artifacts/folder.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { engineMakers, Engines, UnknownEngineError } from "../../src/engines/mod.ts";
import { findStep, launchStep } from "../../src/projects/mod.ts";
import { Projects } from "../../src/projects/projects.ts";
import { saveExecution } from "../../src/store/records/executions.ts";
import { openStore } from "../../src/store/open_store.ts";
import { payloadWrites } from "../../src/store/records/payloads.ts";
import type { Project } from "../../src/store/records/projects.ts";
import { collectLog } from "../log_records.ts";
import { temporaryFolder } from "../surroundings.ts";
import { GitFixture } from "../projects/code/git_fixture.ts";
import { EngineFixture, textOf } from "./fixture.ts";

const CONFIG = `
- step:
    name: train
    image: busybox
    command:
      - ./train.sh {parameters}
      - echo '{"words":' $(wc -w <$VH_INPUTS_DIR/labels/labels.txt)'}'
    inputs: [{ name: labels, filename: labels.txt }]
    parameters: [{ name: epochs, type: integer, default: 3 }, { name: note, default: it's }]
    environment-variables: [{ name: MODE, default: fast }]
`;

Deno.test("engines: a step of a repository runs on the payload", async () => {
  await using fixture = await EngineFixture.make();
  const remote = await GitFixture.make(join(fixture.folder, "remote"), {
    "valohai.yaml": CONFIG,
    "train.sh": '#!/bin/sh\nprintf "%s\\n" "$MODE" "$@" >$VH_OUTPUTS_DIR/arguments\n',
  });
  await Deno.chmod(join(remote.path, "train.sh"), 0o755);
  const hash = await remote.commit({});
  const engine = { type: "local", runner: "process" } as const;
  const project: Project = {
    name: "files",
    repository: remote.path,
    config_file: "valohai.yaml",
    engine,
  };
  const dataFolder = join(fixture.folder, "other");
  const projects = new Projects({ dataFolder, clock: systemClock });
  const { store } = fixture;
  const engines = new Engines(await engineMakers(), {
    store,
    dataFolder,
    projects,
    artifacts: new FolderStore(join(dataFolder, "artifacts")),
    clock: systemClock,
  });
  await engines.start();

  const { commit, config } = await projects.resolve(project, "HEAD");
  const body = new TextEncoder().encode("one two three");
  const execution = fixture.execution("", { commit });
  const file = { name: "payload.txt", payload_of: execution.run_id, size: body.length };
  const options = { parameters: { epochs: 5 }, inputs: { labels: [file] } };
  Object.assign(execution, launchStep(findStep(config, "train"), options));
  await fixture.store.committer.write(payloadWrites(execution.run_id, body));
  await fixture.store.committer.commit(saveExecution(execution));
  engines.of("local").submit(execution);

  const ended = await fixture.ended(execution.id);
  await engines.close(5_000);
  assertEquals([ended.status, ended.commit, ended.reason], ["complete", hash, undefined]);
  assertEquals(ended.metadata, { words: 3 });
  assertEquals(ended.outputs.map(({ path }) => path), ["arguments"]);
  const left = textOf(join(dataFolder, "executions", execution.id, "outputs/arguments"));
  assertEquals(left, "fast\n--epochs=5\n--note=it's\n");
  await engines.forget(execution);
  assertThrows(() => engines.of("remote"), UnknownEngineError, 'the engine "remote"');
});

Deno.test("engines: those that are closed while they start read nothing of a closed database", async () => {
  await using log = await collectLog("debug");
  await using folder = await temporaryFolder();
  const store = await openStore(folder.path);
  const engines = new Engines(await engineMakers(), {
    store,
    dataFolder: folder.path,
    projects: { checkout: () => Promise.resolve() },
    artifacts: new FolderStore(join(folder.path, "artifacts")),
    clock: systemClock,
  });
  const starting = engines.start();
  await engines.close(0);
  await store.close();
  await starting;
  assertEquals(log.lines(), []);
});
