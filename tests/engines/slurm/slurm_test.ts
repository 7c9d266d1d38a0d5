/**
 * The Slurm engine on a real Slurm: it keeps the contract of engines, and what only Slurm does: its reasons for waiting, its refusals, its tokens, and a controller and machines that fail.
 *
 * @module
 */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { delay } from "@std/async/delay";
import { engineRefusals } from "../../../src/engines/kinds.ts";
import { SlurmBackend } from "../../../src/engines/slurm/mod.ts";
import { slurmSettingsSchema } from "../../../src/engines/slurm/settings.ts";
import type { Execution } from "../../../src/store/records/executions.ts";
import { hasNoS3 } from "../../artifacts/s3_server.ts";
import { has } from "../../needs.ts";
import { isLong } from "../../surroundings.ts";
import { hostedJobs } from "../../deploy/jobs.ts";
import { engineContract } from "../contract.ts";
import { runDemo } from "../demo.ts";
import { until } from "../service.ts";
import { RemoteHost, RemoteService } from "../remote/fixture.ts";
import { TestCluster } from "../remote/test_cluster.ts";
import { SlurmCluster } from "./slurm_cluster.ts";

const ignore = !has("slurmctld");
const running = ignore ? undefined : await SlurmCluster.start();
const KIND = {
  type: "slurm",
  backendOf: (settings: Execution["engine"]) => new SlurmBackend(settings),
  wrapOf: ({ engine }: Execution) => engine.wrap === undefined ? undefined : String(engine.wrap),
};

const hosts = new Map<string, RemoteHost>();

engineContract("jobs of Slurm", {
  ignore,
  isCluster: true,
  fields: { engine: running?.settings() ?? { type: "slurm" } },
  makeEngine({ executionsMax, ...parts }) {
    const { type, backendOf } = KIND;
    const host = hosts.get(parts.dataFolder) ??
      new RemoteHost(`${parts.dataFolder}-none`, 0, { type, backendOf });
    hosts.set(parts.dataFolder, host);
    return host.makeEngine(parts, { executionsMax, look_ms: 500 });
  },
  async end(dataFolder) {
    await hosts.get(dataFolder)?.[Symbol.asyncDispose]();
    hosts.delete(dataFolder);
  },
});

function slurmTest(
  name: string,
  test: (service: RemoteService, cluster: SlurmCluster) => Promise<void>,
  needs = { isLong: false },
): void {
  Deno.test({
    name: `slurm: ${name}`,
    ignore: ignore || needs.isLong && !isLong,
    async fn() {
      if (running === undefined) return;
      const folder = await Deno.makeTempDir();
      const settings = { look_ms: 300, settle_ms: 2_000, silence_ms: 1_500 };
      await using service = new RemoteService(folder, settings, { kind: KIND });
      await service.begin();
      await test(service, running);
    },
  });
}

slurmTest("what waits shows Slurm's reason, and starts when it may", async (service, cluster) => {
  const engine = cluster.settings({ extra: { ...cluster.settings().extra, hold: true } });
  const id = await service.submit(service.noting(0), { engine });
  await until(async () => (await service.record(id)).waiting !== undefined);
  const { status, waiting } = await service.record(id);
  assertEquals([status, waiting], ["queued", "JobHeldUser"]);
  await cluster.command(`scontrol release jobname=${id}`);
  assertEquals((await service.ended(id)).status, "complete");
  assertEquals(service.ran, 1);
});

slurmTest("what Slurm never takes ends with its reason", async (service, cluster) => {
  const engine = cluster.settings({ partition: "none" });
  const { status, reason = "" } = await service.run("true", { engine });
  assertEquals(status, "error");
  assertStringIncludes(reason, "Invalid partition name specified");
});

slurmTest(
  "a step gets the CPUs, the memory, the time and the GPUs that it asks for",
  async (service, cluster) => {
    const id = await service.submit("echo begun; sleep 100", {
      engine: cluster.settings({ partition: "main" }),
      resources: { cpu: 1.5, memory: 300, devices: { "nvidia.com/gpu": 1 } },
      time_limit: 90,
    });
    await service.said(id, "begun");
    const shown = await cluster.command(
      `squeue -h -n ${id} -O NumCPUs,MinMemory,TimeLimit,tres-per-node`,
    );
    assertEquals(shown.trim().split(/\s+/), ["2", "300M", "12:00", "gres:gpu:1"]);
    await service.engine.stop(id);
    await service.ended(id);
  },
);

slurmTest("a step runs in what wraps it", async (service, cluster) => {
  const engine = cluster.settings({ wrap: "env WRAPPED={image} IN={folder}" });
  const { id, status } = await service.run(
    'echo "$WRAPPED"; [ "$IN/outputs" = "$VH_OUTPUTS_DIR" ] && echo same; cat code.txt',
    { engine, image: "it's:1" },
  );
  assertEquals(status, "complete");
  assertEquals(await service.printed(id, "stdout"), ["it's:1", "same", "the code"]);
});

slurmTest(
  "a token that is revoked says nothing about jobs, until there is another",
  async (service, cluster) => {
    const engine = cluster.settings();
    const first = await service.submit(service.notingUntilGo, { engine });
    await service.said(first, "begun");
    await Deno.writeTextFile(cluster.tokenFile, "revoked");
    await until(async () => (await service.record(first)).reachable === false);
    const second = await service.submit("echo second", { engine });
    await until(async () => (await service.record(second)).waiting !== undefined);
    await Deno.writeTextFile(cluster.tokenFile, await cluster.newToken());
    await service.go();
    assertEquals((await service.ended(first)).status, "complete");
    assertEquals((await service.ended(second)).status, "complete");
    assertEquals(service.ran, 1);
  },
);

slurmTest(
  "a controller that is killed loses nothing, and nothing runs twice",
  async (service, cluster) => {
    const engine = cluster.settings();
    const away_ms = isLong ? 120_000 : 1_500;
    const id = await service.submit(service.noting(8 + away_ms / 1_000), { engine });
    await service.said(id, "begun");
    // Of a job that began within the last seconds, a controller that is killed knows nothing: it starts it again, and
    // ends the first one. What is killed then is lost.
    await delay(5_000);
    await cluster.killController();
    if (isLong) await cluster.killRest();
    const late = await service.submit("echo late", { engine });
    await delay(away_ms);
    if (isLong) {
      const { status, reachable } = await service.record(id);
      assertEquals([status, reachable], ["started", false]);
      assertMatch((await service.record(late)).waiting ?? "", /./);
      await cluster.startRest();
    }
    await cluster.startController();
    const { status, reason } = await service.ended(id);
    assertEquals([status, reason], ["complete", undefined]);
    assertEquals((await service.ended(late)).status, "complete");
    assertEquals([service.ran, await service.printed(late, "stdout")], [1, ["late"]]);
  },
);

slurmTest(
  "what ran on a machine that is killed is lost, or runs again on another one",
  async (service, cluster) => {
    await cluster.command("scontrol update nodename=n1 state=drain reason=test");
    const engine = cluster.settings();
    const [once, again] = await Promise.all([
      service.submit("echo begun; sleep 1000", { engine }),
      service.submit(
        `${service.noting(0)}; [ "$(wc -l <${service.folder}/ran)" -gt 1 ] || sleep 1000`,
        { engine, rerun: true },
      ),
    ]);
    await service.said(once, "begun");
    await service.said(again, "done");
    await cluster.killNode("n2");
    await cluster.command("scontrol update nodename=n1 state=resume");
    const { status, reason = "" } = await service.ended(once);
    assertEquals(status, "error");
    assertMatch(reason, /without a report of its agent: the state in Slurm is NODE_FAIL/);
    assertEquals((await service.ended(again)).status, "complete");
    assertEquals(service.ran, 2);
    assertEquals(await service.printed(again, "stdout"), ["begun", "done", "begun", "done"]);
    await cluster.startNode("n2");
  },
  { isLong: true },
);

slurmTest("a job that an administrator cancels ends with that reason", async (service, cluster) => {
  const id = await service.submit("echo begun; sleep 100", { engine: cluster.settings() });
  await service.said(id, "begun");
  await cluster.command(`scancel --full --name=${id}`);
  const { status, reason = "" } = await service.ended(id);
  assertEquals(status, "error");
  assertMatch(reason, /The engine ended the job|CANCELLED/);
});

slurmTest("a job of our name that is there twice runs once", async (service, cluster) => {
  const backend = new SlurmBackend(cluster.settings());
  const launch = backend.launch.bind(backend);
  const twice = new RemoteService(await Deno.makeTempDir(), { look_ms: 300 }, {
    kind: {
      ...KIND,
      backendOf: () =>
        Object.assign(new SlurmBackend(cluster.settings()), {
          launch: async (...args: Parameters<typeof launch>) => {
            await launch(...args);
            return await launch(...args);
          },
        }),
    },
  });
  await using other = twice;
  await other.begin();
  const id = await other.submit(other.noting(2), { engine: cluster.settings() });
  assertEquals((await other.ended(id)).status, "complete");
  assertEquals(other.ran, 1);
  assert(service.ran === 0);
});

slurmTest("the demo trains and tests its model there", async (_service, cluster) => {
  await runDemo(cluster.settings(), (await cluster.command("hostname")).trim());
});

Deno.test("slurm: certificates that cannot be read hold up that project alone, and it tells why", async () => {
  const folder = await Deno.makeTempDir();
  const cluster = new TestCluster(`${folder}/cluster`);
  await using service = new RemoteService(folder, {}, {
    kind: {
      type: "slurm",
      cluster,
      backendOf: (settings) => settings.ca === undefined ? cluster : new SlurmBackend(settings),
    },
  });
  await service.begin();
  const wrong = await service.submit("true", {
    engine: {
      type: "slurm",
      url: "https://127.0.0.1:1",
      user: "hooklaunch",
      token: "{env:SLURM_JWT}",
      ca: "-----BEGIN CERTIFICATE-----\nMIIB",
    },
  });
  assertEquals((await service.run("true", { engine: { type: "slurm" } })).status, "complete");
  await until(async () => (await service.record(wrong)).waiting !== undefined);
  const { status, waiting = "" } = await service.record(wrong);
  assertEquals(status, "queued");
  assertMatch(waiting, /END CERTIFICATE/);
  await service.engine.stop(wrong);
});

Deno.test("slurm: settings and mounts", () => {
  const settings = {
    type: "slurm",
    url: "https://slurm.example.com:6820",
    user: "hooklaunch",
    token: "{env:SLURM_JWT}",
  };
  assertEquals(slurmSettingsSchema.parse(settings), {
    ...settings,
    type: "slurm",
    api: "v0.0.38",
    folder: "/tmp",
  });
  for (
    const wrong of [{ token: "in clear" }, { url: "slurm:6820" }, { folder: "x" }, { more: 1 }]
  ) {
    assertEquals(slurmSettingsSchema.safeParse({ ...settings, ...wrong }).success, false);
  }
  const mounts = [{ source: "/a", destination: "/b" }];
  assertEquals(engineRefusals(settings, { mounts }).length, 1);
});

Deno.test.afterAll(async () => {
  await running?.[Symbol.asyncDispose]();
});

Deno.test({
  name: "slurm: jobs of a hosted service fetch their code, and it writes no file",
  // The suite has it on a Kubernetes.
  ignore: ignore || !isLong || hasNoS3 || !has("openssl"),
  async fn() {
    if (running === undefined) return;
    await hostedJobs({
      host: (await running.command("hostname")).trim(),
      engine: running.settings({ token: "{env:CLUSTER_TOKEN}" }),
      token: await running.newToken(),
    });
  },
});
