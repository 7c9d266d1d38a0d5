/**
 * Settings of the Kubernetes engine, the Jobs that they make, and the states of pods.
 *
 * @module
 */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { LaunchLaterError } from "../../../src/engines/remote/backend.ts";
import { jobObject, secretObject } from "../../../src/engines/kubernetes/job_object.ts";
import { podsByJob, seenOfJob, seenOfPod } from "../../../src/engines/kubernetes/job_states.ts";
import { kubeconfigAccess } from "../../../src/engines/kubernetes/kubeconfig.ts";
import { KubernetesError } from "../../../src/engines/kubernetes/api_client.ts";
import { KubernetesBackend } from "../../../src/engines/kubernetes/mod.ts";
import { kubernetesSettingsSchema } from "../../../src/engines/kubernetes/settings.ts";
import { ActionError } from "../../../src/platform/errors.ts";
import { executionOf } from "../../store/execution.ts";
import { temporaryFolder } from "../../surroundings.ts";

const CA = "-----BEGIN CERTIFICATE-----\n";

function problems(settings: Record<string, unknown>): string[] {
  const { error } = kubernetesSettingsSchema.safeParse({ type: "kubernetes", ...settings });
  return error?.issues.map(({ path, message }) => `${path.join(".")}: ${message}`) ?? [];
}

Deno.test("in a cluster a namespace is enough; what does not fit together is refused", () => {
  assertEquals(problems({ namespace: "ml" }), []);
  const wrong: [Record<string, unknown>, string][] = [
    [{ namespace: "No_Name" }, "namespace: Expected lower case letters"],
    [{ namespace: "ml", token: "{env:T}" }, "token: Expected it together with server"],
    [{ namespace: "ml", server: "http://a" }, "server: Expected a URL such as https"],
    [{ namespace: "ml", server: "https://a", ca: CA }, "server: Expected a token"],
    [{ namespace: "ml", server: "https://a", token: "secret" }, "token: Expected {env:NAME}"],
    [
      { namespace: "ml", server: "https://a", client_cert: "{env:T}" },
      "client_cert: Expected both",
    ],
    [{ namespace: "ml", kubeconfig: "config" }, "kubeconfig: Expected an absolute path"],
    [
      { namespace: "ml", pod_template: { spec: { hostPID: true } } },
      "pod_template.spec.hostPID: Hook",
    ],
    [
      { namespace: "ml", pod_template: { spec: { containers: [{ name: "main", args: [] }] } } },
      "pod_template.spec.containers.0.args: Hook",
    ],
  ];
  for (const [settings, expected] of wrong) {
    assertStringIncludes(problems(settings).join("\n"), expected);
  }
});

Deno.test("a job has the resources, the queue and the template of its project, and no token", () => {
  const settings = kubernetesSettingsSchema.parse({
    type: "kubernetes",
    namespace: "ml",
    service_account: "trainer",
    queue: "gpu",
    memory: 512,
    node_selector: { pool: "gpu" },
    pod_template: {
      spec: {
        nodeSelector: { zone: "a" },
        containers: [
          { name: "main", env: [{ name: "A", value: "1" }], resources: { requests: { cpu: "1" } } },
          { name: "proxy", image: "proxy:1" },
        ],
        volumes: [{ name: "data", emptyDir: {} }],
      },
    },
  });
  const execution = executionOf({ resources: { cpu: 1.5, devices: { "nvidia.com/gpu": 2 } } });
  const spec = { name: execution.id, execution, script: "token=secret" };
  const job = JSON.parse(JSON.stringify(jobObject(spec, settings)));
  assertEquals(
    JSON.stringify(job).includes("secret=") || JSON.stringify(job).includes("token=secret"),
    false,
  );
  assertEquals(JSON.stringify(secretObject(spec)).includes("token=secret"), true);
  assertEquals(job.metadata.labels["kueue.x-k8s.io/queue-name"], "gpu");
  assertEquals([job.spec.suspend, job.spec.backoffLimit], [true, 0]);
  const pod = job.spec.template.spec;
  assertEquals(pod.nodeSelector, { pool: "gpu", zone: "a" });
  assertEquals(pod.serviceAccountName, "trainer");
  assertEquals(pod.containers.map(({ name }: { name: string }) => name), ["main", "proxy"]);
  const [main] = pod.containers;
  assertEquals(main.env, [{ name: "A", value: "1" }]);
  assertEquals(main.resources, {
    limits: { cpu: "1.5", memory: "512Mi", "nvidia.com/gpu": "2" },
    requests: { cpu: "1" },
  });
  assertEquals(main.image, execution.image);
  assertEquals(pod.volumes.length, 3);
});

Deno.test("a pod tells why it waits, that its node is silent, and how it ended", () => {
  const metadata = { name: "a" };
  const running = [{ name: "main", state: { running: {} } }];
  const unready = [
    { type: "Ready", status: "False" },
    { type: "ContainersReady", status: "True" },
  ];
  assertEquals(seenOfPod({ metadata, status: { phase: "Running", containerStatuses: running } }), {
    kind: "running",
  });
  assertEquals(
    seenOfPod({
      metadata,
      spec: { nodeName: "n1" },
      status: { phase: "Running", containerStatuses: running, conditions: unready },
    }),
    { kind: "unknown", detail: "its node n1 does not answer" },
  );
  const evicted = { phase: "Failed", reason: "Evicted", message: "low on memory" };
  assertEquals(seenOfPod({ metadata, status: evicted }), {
    kind: "ended",
    reason: "Evicted: low on memory",
    isLost: true,
    isOver: true,
  });
  const terminated = { reason: "OOMKilled", exitCode: 137 };
  assertEquals(
    seenOfPod({
      metadata,
      status: { phase: "Running", containerStatuses: [{ name: "main", state: { terminated } }] },
    }),
    { kind: "ended", reason: "OOMKilled: the command took more memory than its limit" },
  );
  const killed = { state: { terminated: { reason: "Error", exitCode: 137 } } };
  assertEquals(
    seenOfPod({
      metadata,
      status: {
        phase: "Failed",
        initContainerStatuses: [{ name: "hooklaunch", ...killed }],
        containerStatuses: [{ name: "main", ...killed }],
      },
    }),
    {
      kind: "ended",
      reason: "its node ended the pod with its agent: Error (exit code 137)",
      isLost: true,
      isOver: true,
    },
  );
  const failed = [{ type: "Failed", status: "True", reason: "BackoffLimitExceeded" }];
  assertEquals(seenOfJob({ metadata, status: { conditions: failed } }, undefined), {
    kind: "ended",
    reason: "its pod is gone: BackoffLimitExceeded",
    isLost: true,
  });
});

Deno.test("of several pods of one job the newest counts, wherever it stands in the list", () => {
  const labels = { "hooklaunch/job": "a" };
  const madeAt = (creationTimestamp: string) => ({
    metadata: { name: creationTimestamp, labels, creationTimestamp },
  });
  const [old, now] = [madeAt("2026-01-01T00:00:00Z"), madeAt("2026-01-01T00:00:09Z")];
  for (const pods of [[old, now], [now, old]]) assertEquals(podsByJob(pods), new Map([["a", now]]));
});

Deno.test("a kubeconfig gives server and credentials, and says what it lacks", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const path = join(folder, "config");
    const write = (
      user: string,
      cluster = "server: https://a:6443, certificate-authority: ca.crt",
    ) =>
      Deno.writeTextFile(
        path,
        `current-context: x
contexts: [{name: x, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {${cluster}}}]
users: [{name: u, user: {${user}}}]
`,
      );
    await Deno.writeTextFile(join(folder, "ca.crt"), CA);
    await Deno.writeTextFile(join(folder, "token"), "one\n");
    await write("tokenFile: token");
    const { server, ca, token } = await kubeconfigAccess(path);
    assertEquals([server, ca, token], ["https://a:6443", CA, "one"]);
    await Deno.writeTextFile(join(folder, "token"), "two\n");
    assertEquals((await kubeconfigAccess(path)).token, "two");
    const refuses = async (part: string, context?: string) => {
      const { message } = await assertRejects(() => kubeconfigAccess(path, context), ActionError);
      assertStringIncludes(message, part);
    };
    await refuses('it has no context "y", only x', "y");
    await write("exec: {command: aws}");
    await refuses('its user has "exec"');
    await write("token: a", "server: https://a, insecure-skip-tls-verify: true");
    await refuses("insecure-skip-tls-verify");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("certificates that cannot be read for a moment keep no later request from a cluster", async () => {
  await using folder = await temporaryFolder();
  await using api = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    () => Response.json({ items: [] }),
  );
  const kubeconfig = join(folder.path, "config");
  const server = `http://127.0.0.1:${api.addr.port}`;
  const write = (cluster: Record<string, string>) =>
    Deno.writeTextFile(
      kubeconfig,
      JSON.stringify({
        "current-context": "one",
        contexts: [{ name: "one", context: { cluster: "c", user: "u" } }],
        clusters: [{ name: "c", cluster: { server, ...cluster } }],
        users: [{ name: "u", user: { token: "t" } }],
      }),
    );
  const backend = new KubernetesBackend({ type: "kubernetes", namespace: "ml", kubeconfig });
  const { signal } = new AbortController();
  const job = { name: "a", execution: executionOf() };
  const look = async () => (await backend.look([job], signal)).get("a")?.kind;
  for (let times = 0; times < 2; times++) {
    await write({});
    assertEquals(await look(), "absent");
    await write({ "certificate-authority-data": btoa(CA) });
    await assertRejects(look, KubernetesError, "END CERTIFICATE");
  }
  backend.close();
});

Deno.test("a Job or a Secret that is there already is told from one that was made for this launch", async () => {
  await using folder = await temporaryFolder();
  const taken = new Set<string>();
  /** The objects that are not created now, each with the reason. */
  let refused: { kind: string; status: number; reason: string } | undefined;
  const deleted: string[] = [];
  await using api = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, (request) => {
    const path = new URL(request.url).pathname;
    if (request.method === "DELETE") {
      deleted.push(path);
      return Response.json({});
    }
    const kind = path.split("/").at(-1) ?? "";
    if (kind === refused?.kind) return Response.json(refused, { status: refused.status });
    return taken.has(kind)
      ? Response.json({ reason: "AlreadyExists" }, { status: 409 })
      : Response.json({}, { status: 201 });
  });
  const kubeconfig = join(folder.path, "config");
  const { addr: { port } } = api;
  await Deno.writeTextFile(
    kubeconfig,
    JSON.stringify({
      "current-context": "one",
      contexts: [{ name: "one", context: { cluster: "c", user: "u" } }],
      clusters: [{ name: "c", cluster: { server: `http://127.0.0.1:${port}` } }],
      users: [{ name: "u", user: { token: "t" } }],
    }),
  );
  const backend = new KubernetesBackend({ type: "kubernetes", namespace: "ml", kubeconfig });
  const { signal } = new AbortController();
  const spec = { name: "a", execution: executionOf(), script: "true" };
  const launched: Record<string, boolean> = {};
  for (const kinds of [[], ["secrets"], ["jobs"], ["secrets", "jobs"]]) {
    taken.clear();
    for (const kind of kinds) taken.add(kind);
    launched[kinds.join(" ")] = (await backend.launch(spec, signal)).isNew;
  }
  assertEquals(launched, { "": true, secrets: false, jobs: false, "secrets jobs": false });
  // A quota that another request changes at the same moment, one that is full, and a webhook that is away.
  for (
    const [status, reason] of [[409, "Conflict"], [403, "Forbidden"], [
      500,
      "InternalError",
    ]] as const
  ) {
    for (const kind of ["secrets", "jobs"]) {
      refused = { kind, status, reason };
      const error = await assertRejects(() => backend.launch(spec, signal));
      assert(error instanceof LaunchLaterError, `${kind} ${status}: ${error}`);
    }
  }
  // A Secret that was there has the token of an earlier launch, whose Job may be there. One of this launch would
  // keep a token that is forgotten before the Job is taken.
  assertEquals(deleted, []);
  taken.clear();
  await assertRejects(() => backend.launch(spec, signal), LaunchLaterError);
  assertEquals(deleted, ["/api/v1/namespaces/ml/secrets/a"]);
  backend.close();
});
