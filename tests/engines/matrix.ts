/**
 * Tests of a whole service on a real cluster, which `deno task faults engines` runs.
 *
 * @module
 */
import { assert, assertEquals, assertLessOrEqual, assertMatch } from "@std/assert";
import { delay } from "@std/async/delay";
import { hash } from "node:crypto";
import { join } from "node:path";
import { systemClock } from "../../src/platform/clock.ts";
import { Service } from "../../src/service/service.ts";
import { eventually, freePort, isLong, temporaryFolder } from "../surroundings.ts";
import { run } from "../commands/process.ts";
import { collect } from "../faults/collector.ts";
import { type Mixed, mixEngines } from "./mixed.ts";
import { ServedCluster } from "./served_cluster.ts";

const MIB = 1024 * 1024;
const DAY_MS = 24 * 60 * 60_000;
const TRACE = "0af7651916cd43dd8448eb211c80319c";
/** Executions at once, and the lines that each prints. */
const CROWD = 200;
const LINES = 40;
const CPUS = { min: 0.12 };
const CROWD_MS = 15 * 60_000;
/** The time between two looks at a cluster. */
const LOOK_MS = 2_000;

/** A cluster that runs. */
export interface MatrixCluster extends Mixed {
  /** The address of this machine as its jobs see it. */
  host: string;
  /** The settings of a project whose jobs can write into a folder of this machine. */
  engine(folder: string): Record<string, unknown>;
  /** Returns how often all of its jobs were listed; absent where that is not counted. */
  lists?(): number;
}

/** Registers the tests. */
export function engineMatrix(name: string, cluster: MatrixCluster | undefined): void {
  const test = (what: string, fn: (cluster: MatrixCluster) => Promise<void>) =>
    Deno.test({
      name: `matrix of ${name}: ${what}`,
      ignore: cluster === undefined || !isLong,
      fn: async () => {
        if (cluster !== undefined) await fn(cluster);
      },
    });
  test("outputs and a payload of 16 MiB go between engines", mixEngines);
  test("a trace, a payload, a URL, metadata, reuse and retention", wholeStory);
  test("what runs while its service is lost goes on when a backup is restored", restoredBackup);
  test(`${CROWD} executions outlive two kills of the service, each runs once`, crowd);
}

function randomBytes(size: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(size);
  for (let at = 0; at < size; at += 65_536) {
    crypto.getRandomValues(bytes.subarray(at, Math.min(size, at + 65_536)));
  }
  return bytes;
}

async function wholeStory({ host, engine, fields: { image } }: MatrixCluster): Promise<void> {
  await using folder = await temporaryFolder();
  await using collector = collect();
  const file = randomBytes(MIB);
  await using files = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    () => new Response(file),
  );
  const url = `http://127.0.0.1:${files.addr.port}/data`;
  const step = (name: string, command: string, inputs: unknown[] = []) => ({
    step: { name, image: image ?? "none", command, inputs },
  });
  const steps = [
    step(
      "take",
      `sha256sum <"$VH_PAYLOAD" | cut -d' ' -f1
      sha256sum <"$VH_INPUTS_DIR/file/data" | cut -d' ' -f1
      echo "$TRACEPARENT"
      for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo "{\\"epoch\\": $i}"; sleep 1; done
      cp "$VH_PAYLOAD" "$VH_OUTPUTS_DIR/copy"`,
      [{ name: "body" }, { name: "file", default: url }],
    ),
    step("make", 'echo made >"$VH_OUTPUTS_DIR/x"'),
    step("use", 'cat "$VH_INPUTS_DIR"/x/*', [{ name: "x" }]),
    {
      pipeline: {
        name: "chain",
        "reuse-executions": true,
        nodes: ["make", "use"].map((name) => ({ name, type: "execution", step: name })),
        edges: [["make.output.x", "use.input.x"]],
      },
    },
  ];
  const served = await ServedCluster.start(folder.path, {
    host,
    engine: { ...engine(folder.path), inputs: { private_networks: true } },
    steps,
    triggers: {
      take: { type: "run_execution", step: "take", payload_input_name: "body" },
      chain: { type: "run_pipeline", pipeline: "chain" },
    },
    env: collector.env,
  });
  let id = "";
  {
    await using service = served;
    const payload = randomBytes(16 * MIB);
    const traceparent = `00-${TRACE}-b7ad6b7169203331-01`;
    const headers = { traceparent, "content-type": "application/octet-stream" };
    id = (await service.created(await service.launch(0, payload, headers))).execution_id ?? "";
    await eventually(async () => {
      const { status, metadata } = await service.api(`executions/${id}`);
      return status === "started" && metadata.epoch >= 1 || undefined;
    }, { within_ms: 120_000, what: "metadata while the command runs" });
    const { status, reason, outputs } = await service.ended(`executions/${id}`);
    assertEquals([status, reason ?? undefined], ["complete", undefined]);
    assertEquals(outputs[0].sha256, hash("sha256", payload));
    const [body, data, trace = ""] = await service.stdoutOf(id);
    assertEquals([body, data], [hash("sha256", payload), hash("sha256", file)]);
    assertMatch(trace, new RegExp(`^00-${TRACE}-`));

    for (const isReused of [false, true]) {
      const { pipeline_id } = await service.created(await service.launch(1));
      const { status, nodes } = await service.ended(`pipelines/${pipeline_id}`);
      assertEquals(status, "complete");
      for (const node of nodes) assertEquals(node.reused ?? false, isReused);
      assertEquals(await service.stdoutOf(nodes[1].execution_id), ["made"]);
    }
  }
  await expectRetention(served.data, id);
}

/** Two days later a cleanup removes an execution with its files. */
async function expectRetention(data: string, executionId: string): Promise<void> {
  const outputs = join(data, "artifacts", "executions", executionId);
  assert(Deno.statSync(outputs).isDirectory);
  const service = await Service.start({
    host: "127.0.0.1",
    port: freePort(),
    data,
    trustedProxies: [],
    dev: true,
    payloadBytesMax: 16 * MIB,
    retention_days: 1,
    executionsMax: 1,
    stopTimeout_ms: 0,
    adminToken: "an-operators-token-for-tests",
  }, {
    clock: { ...systemClock, now: () => Date.now() + 2 * DAY_MS },
    env: () => undefined,
  });
  try {
    const { executions } = await service.cleanUp();
    assert(executions >= 1);
    assertEquals(await Deno.stat(outputs).then(() => true, () => false), false);
  } finally {
    await service.close();
  }
}

/** A service loses its data folder while a command runs. */
async function restoredBackup({ host, engine, fields: { image } }: MatrixCluster): Promise<void> {
  await using folder = await temporaryFolder();
  await Deno.chmod(folder.path, 0o777);
  const ran = join(folder.path, "ran");
  const command = `echo run >>${ran}; i=0
    while [ $i -lt ${LINES} ]; do echo "line $i"; i=$((i + 1)); sleep 0.5; done
    echo made >"$VH_OUTPUTS_DIR/file"`;
  await using service = await ServedCluster.start(folder.path, {
    host,
    engine: engine(folder.path),
    steps: [{ step: { name: "count", image: image ?? "none", command } }],
    triggers: { count: { type: "run_execution", step: "count" } },
  });
  const { execution_id = "" } = await service.created(await service.launch(0));
  const printed = (count: number) =>
    eventually(
      async () => (await service.stdoutOf(execution_id)).length >= count || undefined,
      { within_ms: 120_000, what: `${count} lines` },
    );
  await printed(3);
  const backup = join(folder.path, "backup.tar.gz");
  const made = await run(["backup", backup, "--data", service.data]);
  assertEquals(made.code, 0, made.printed);
  await printed(LINES / 4);
  await service.end("SIGKILL");
  await Deno.remove(service.data, { recursive: true });
  const restored = await run(["restore", backup, "--data", service.data]);
  assertMatch(restored.printed, /Executions that were running on clusters: 1\./);
  await service.begin();
  const { status, reason, outputs } = await service.ended(`executions/${execution_id}`);
  assertEquals([status, reason ?? undefined, outputs.length], ["complete", undefined, 1]);
  const lines = Array.from({ length: LINES }, (_, index) => `line ${index}`);
  assertEquals(await service.stdoutOf(execution_id), lines);
  assertEquals(await Deno.readTextFile(ran), "run\n");
}

async function crowd({ host, engine, lists, fields: { image } }: MatrixCluster): Promise<void> {
  await using folder = await temporaryFolder();
  const ran = join(folder.path, "ran");
  const half = (from: number) =>
    `i=${from}; while [ $i -lt ${from + LINES / 2} ]; do echo "line $i"; i=$((i + 1)); done`;
  const command = `echo "$VH_EXECUTION_ID" >>${ran}; ${half(0)}; sleep 3; ${half(LINES / 2)}`;
  await Deno.chmod(folder.path, 0o777);
  await using service = await ServedCluster.start(folder.path, {
    host,
    engine: engine(folder.path),
    // A part of them runs at a time: a machine of two processors runs their clusters, too.
    steps: [{ step: { name: "count", image: image ?? "none", command, resources: { cpu: CPUS } } }],
    triggers: { count: { type: "run_execution", step: "count" } },
  });
  const listsBefore = lists?.() ?? 0;
  const began_ms = performance.now();
  const runs: string[] = [];
  for (let count = 0; count < CROWD; count += 10) {
    runs.push(...await Promise.all(Array.from({ length: 10 }, () => service.launch(0))));
  }
  for (const after_ms of [6_000, 12_000]) {
    await delay(after_ms);
    await service.end("SIGKILL");
    await delay(1_000);
    await service.begin();
  }
  const ids: string[] = [];
  for (const run of runs) {
    const { execution_id = "" } = await service.created(run);
    const { status, reason } = await service.ended(`executions/${execution_id}`, CROWD_MS);
    assertEquals([status, reason ?? undefined], ["complete", undefined]);
    ids.push(execution_id);
  }
  const took_ms = performance.now() - began_ms;
  const lines = Array.from({ length: LINES }, (_, index) => `line ${index}`);
  for (const id of ids) assertEquals(await service.stdoutOf(id), lines);
  const noted = (await Deno.readTextFile(ran)).trim().split("\n");
  assertEquals(noted.toSorted(), ids.toSorted());
  if (lists === undefined) return;
  // Each start looks at once.
  assertLessOrEqual(lists() - listsBefore, took_ms / LOOK_MS + 3);
}
