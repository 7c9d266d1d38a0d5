/**
 * The Kubernetes engine on a real Kubernetes: it keeps the contract of engines, and tells what goes wrong.
 *
 * @module
 */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { delay } from "@std/async/delay";
import { saveExecution } from "../../../src/store/records/executions.ts";
import { hasNoS3 } from "../../artifacts/s3_server.ts";
import { has } from "../../needs.ts";
import { isLong } from "../../surroundings.ts";
import { engineContract } from "../contract.ts";
import { hostedJobs } from "../../deploy/jobs.ts";
import { runDemo } from "../demo.ts";
import type { RemoteHost } from "../remote/fixture.ts";
import { until } from "../service.ts";
import {
  KubernetesCluster,
  kubernetesHost,
  KubernetesService,
  NODE_ADDRESS,
  QUICK,
} from "./fixture.ts";

const ignore = !has("kubelet");
const hosts = new Map<string, RemoteHost>();
const started = ignore ? undefined : await KubernetesCluster.start();

Deno.test.afterAll(() => started?.stop());

engineContract("Kubernetes", {
  fields: {
    engine: started?.settings() ?? { type: "kubernetes" },
    image: "docker.io/test/tools:1",
  },
  ignore,
  isCluster: true,
  makeEngine({ executionsMax, ...parts }) {
    const host = hosts.get(parts.dataFolder) ?? kubernetesHost(parts.dataFolder);
    hosts.set(parts.dataFolder, host);
    return host.makeEngine(parts, { ...QUICK, executionsMax });
  },
  async end(dataFolder) {
    await hosts.get(dataFolder)?.[Symbol.asyncDispose]();
    hosts.delete(dataFolder);
  },
});

Deno.test({
  name: "Kubernetes: jobs of a hosted service fetch their code, and it writes no file",
  ignore: ignore || hasNoS3,
  async fn() {
    assert(started !== undefined);
    await hostedJobs({
      host: NODE_ADDRESS,
      engine: started.settings({ token: "{env:CLUSTER_TOKEN}" }),
      token: await Deno.readTextFile(started.tokenFile),
      image: "docker.io/test/tools:1",
    });
  },
});

/** Registers a test of a fault, which `deno task faults engines` runs. */
function test(
  name: string,
  fn: (service: KubernetesService, cluster: KubernetesCluster) => Promise<void>,
  settings: Record<string, unknown> = {},
): void {
  Deno.test({
    name: `Kubernetes: ${name}`,
    ignore: ignore || !isLong,
    async fn() {
      assert(started !== undefined);
      await using service = await KubernetesService.make(started.settings(settings));
      await fn(service, started);
    },
  });
}

test(
  "the demo trains and tests its model there",
  (_service, cluster) => runDemo(cluster.settings(), NODE_ADDRESS),
);

test("an image needs a shell and nothing else", async (service) => {
  const image = "docker.io/test/shell:1";
  const command = `echo "$(command -v cat sleep setsid curl)"; echo 'kept' >$VH_OUTPUTS_DIR/file`;
  const { status, outputs } = await service.run(command, { image });
  assertEquals([status, outputs.map(({ path }) => path)], ["complete", ["file"]]);
});

test("an image without a shell ends with the reason, and does not wait", async (service) => {
  const { status, reason = "" } = await service.run("true", { image: "docker.io/test/empty:1" });
  assertEquals(status, "error");
  assertStringIncludes(reason, "/bin/sh");
});

test("what does not start says why, and can be stopped", async (service) => {
  const unpulled = await service.submit("true", { image: "127.0.0.1:1/no/such:1" });
  const unplaced = await service.submit("true", {
    resources: { devices: { "nvidia.com/gpu": 1 } },
  });
  assertStringIncludes(await service.waiting(unplaced, "Unschedulable"), "nvidia.com/gpu");
  assertStringIncludes(await service.waiting(unpulled, "Pull"), "127.0.0.1:1/no/such:1");
  for (const id of [unpulled, unplaced]) {
    await service.engine.stop(id);
    assertEquals((await service.record(id)).status, "stopped");
  }
});

test("a job that is not allowed in the cluster ends as refused", async (service) => {
  const { status, reason = "" } = await service.run("true", {
    resources: { devices: { "no name": 1 } },
  });
  assertEquals(status, "error");
  assertStringIncludes(reason, "Cannot run: Kubernetes answers 422");
});

test("a command that takes too much memory says so", async (service) => {
  // Some clusters kill the command alone, others its whole container.
  const { status, reason = "", exit_code } = await service.run("tail /dev/zero", {
    resources: { memory: 32 },
  });
  assertEquals(status, "error");
  assert(exit_code === 137 || exit_code === undefined);
  assertStringIncludes(reason, "more memory than its limit");
});

test(
  "a job that takes longer than the deadline says so, also when it never started",
  async (service) => {
    const { status, reason = "" } = await service.run("true", { image: "127.0.0.1:1/no/such:1" });
    assertEquals(status, "error");
    assertStringIncludes(reason, "DeadlineExceeded");
  },
  { deadline: 4 },
);

test(
  "a suspended job waits for its queue, and runs when it is admitted",
  async (service, cluster) => {
    const id = await service.submit("echo ran");
    assertStringIncludes(await service.waiting(id, "suspended"), 'the queue "gpu" of Kueue');
    const path = `/apis/batch/v1/namespaces/ml/jobs/${id}`;
    const job = await cluster.ask("GET", path) as { metadata: { labels: Record<string, string> } };
    assertEquals(job.metadata.labels["kueue.x-k8s.io/queue-name"], "gpu");
    await cluster.ask("PATCH", path, { spec: { suspend: false } }, "application/merge-patch+json");
    assertEquals((await service.ended(id)).status, "complete");
  },
  { queue: "gpu" },
);

test(
  "a pod that is evicted is run again where its step says so, and says why",
  async (service, cluster) => {
    const id = await service.submit("echo begun; [ -e /hooklaunch/x ] || sleep 100", {
      rerun: true,
    });
    const other = await service.submit("echo begun; sleep 100");
    for (const each of [id, other]) await service.said(each, "begun");
    for (const each of [id, other]) {
      const pods = await cluster.objects("pods");
      const name = pods.find((pod) => pod.metadata.name.startsWith(each))?.metadata.name;
      const eviction = { apiVersion: "policy/v1", kind: "Eviction", metadata: { name } };
      await cluster.ask("POST", `/api/v1/namespaces/ml/pods/${name}/eviction`, eviction);
    }
    const { status, reason = "" } = await service.ended(other);
    assertEquals(status, "error");
    assertStringIncludes(reason, "EvictionByEvictionAPI");
    await until(async () => (await service.printed(id, "event")).length > 0);
    const [event = ""] = await service.printed(id, "event");
    assertStringIncludes(event, "EvictionByEvictionAPI");
    assertStringIncludes(event, "it is run again from the start (1 of 3)");
    await until(async () => (await service.printed(id, "stdout")).length === 2);
    await service.engine.stop(id);
    await service.ended(id);
  },
);

test(
  "a token that is revoked shows, nothing is lost, and it goes on with another",
  async (service, cluster) => {
    const token = await Deno.readTextFile(cluster.tokenFile);
    const id = await service.submit("echo begun; sleep 6; echo done");
    await service.said(id, "begun");
    await Deno.writeTextFile(cluster.tokenFile, "wrong");
    try {
      await until(async () => (await service.record(id)).reachable === false);
      const waits = await service.submit("echo ran");
      await service.waiting(waits, "401");
      assertEquals((await service.ended(id)).status, "complete");
      await Deno.writeTextFile(cluster.tokenFile, token);
      assertEquals((await service.ended(waits)).status, "complete");
      assertEquals(await service.printed(id, "stdout"), ["begun", "done"]);
    } finally {
      await Deno.writeTextFile(cluster.tokenFile, token);
    }
  },
);

test("a job that began after a backup runs again once that is restored", async (service) => {
  const execution = service.execution("echo begun; sleep 8; echo done");
  await service.store.committer.commit(saveExecution(execution));
  await service.backUp();
  service.engine.submit(execution);
  await service.said(execution.id, "begun");
  await service.goOnFromBackup();
  const { status, reason } = await service.ended(execution.id);
  assertEquals([status, reason], ["complete", undefined]);
  assertEquals(await service.printed(execution.id, "stdout"), ["begun", "done"]);
});

test("a kubelet that is killed says nothing about jobs", async (service, cluster) => {
  const id = await service.submit("echo begun; sleep 60; echo done");
  await service.said(id, "begun");
  await cluster.untilKnown(id);
  await cluster.signal("kubelet", "KILL");
  try {
    await until(async () => (await service.record(id)).reachable === false);
    const { status, waiting = "" } = await service.record(id);
    assertEquals(status, "started");
    assertStringIncludes(waiting, "does not answer");
    assertEquals((await service.ended(id)).status, "complete");
    assertEquals(await service.printed(id, "stdout"), ["begun", "done"]);
  } finally {
    await cluster.restart("kubelet");
  }
});

test("what ran on a node that is killed is lost when that is known", async (service, cluster) => {
  const [id, other] = await Promise.all([
    service.submit("echo begun; sleep 1000"),
    service.submit("echo begun; sleep 20; echo done", { rerun: true }),
  ]);
  for (const each of [id, other]) {
    await service.said(each, "begun");
    await cluster.untilKnown(each);
  }
  await cluster.killNode();
  try {
    await until(async () => (await service.record(id)).reachable === false);
    // Its agent has been silent for long enough.
    await delay(10_000);
    assertEquals((await service.record(id)).status, "started");
  } finally {
    await cluster.restart("kubelet");
  }
  await cluster.untilReady();
  const { status, reason = "" } = await service.ended(id);
  assertEquals(status, "error");
  assertMatch(reason, /without a report of its agent: (its node ended|its pod is gone)/);
  assertEquals((await service.ended(other)).status, "complete");
  assertEquals(await service.printed(other, "stdout"), ["begun", "begun", "done"]);
  assertEquals((await service.run("echo ran")).status, "complete");
});

test("of an execution that has ended nothing stays in the cluster", async (service, cluster) => {
  const { id } = await service.run("true");
  for (const kind of ["jobs", "pods", "secrets"] as const) {
    await until(async () => {
      const objects = await cluster.objects(kind);
      return !objects.some(({ metadata: { name } }) => name.startsWith(id));
    });
  }
});

test("with a user of its own, agent and command need no root", async (service) => {
  const { status } = await service.run(
    "test $(id -u) = 1000; : >$VH_OUTPUTS_DIR/file; : >../repository/new",
  );
  assertEquals(status, "complete");
}, {
  pod_template: {
    spec: { hostNetwork: true, securityContext: { runAsUser: 1000, runAsNonRoot: true } },
  },
});

test("a command of an image's own user can write where it may", async (service) => {
  const { status, outputs } = await service.run("umask 077; : >$VH_OUTPUTS_DIR/file; : >new");
  assertEquals([status, outputs.length], ["complete", 1]);
}, {
  pod_template: {
    spec: {
      hostNetwork: true,
      containers: [{ name: "main", securityContext: { runAsUser: 1000 } }],
    },
  },
});

// Last: the cluster's own programs need minutes until they follow the API server again.
test("an API server that is killed says nothing about jobs", async (service, cluster) => {
  const [id, other] = await Promise.all([
    service.submit("echo begun; sleep 5; echo done; exit 4"),
    service.submit("echo begun; sleep 170; echo done"),
  ]);
  for (const each of [id, other]) await service.said(each, "begun");
  await cluster.signal("apiserver", "KILL");
  try {
    await until(async () => (await service.record(id)).reachable === false);
    const { status, exit_code } = await service.ended(id);
    assertEquals([status, exit_code], ["error", 4]);
    await delay(120_000);
    const { status: later, reachable } = await service.record(other);
    assertEquals([later, reachable], ["started", false]);
  } finally {
    await cluster.restart("apiserver");
  }
  await cluster.untilReady();
  assertEquals((await service.ended(other)).status, "complete");
  assertEquals(await service.printed(other, "stdout"), ["begun", "done"]);
  assertEquals((await service.run("echo ran")).status, "complete");
});
