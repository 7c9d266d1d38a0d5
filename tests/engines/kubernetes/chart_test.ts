/** The chart on a real Kubernetes: installed as its page says, upgraded under load, and uninstalled. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { createHmac } from "node:crypto";
import { parse } from "yaml";
import config from "../../../deno.json" with { type: "json" };
import { EXAMPLES } from "../../../src/demo/examples.ts";
import { CREDENTIALS, hasNoS3, S3Server } from "../../artifacts/s3_server.ts";
import { has } from "../../needs.ts";
import { CASES } from "../../packaging/chart_values.ts";
import { manifests, template } from "../../packaging/helm.ts";
import { denokv } from "../../store/denokv.ts";
import { KV_TOKEN } from "../../store/kv_connect.ts";
import { eventually, isLong, temporaryFolder } from "../../surroundings.ts";
import { InstalledChart } from "./installed_chart.ts";
import { KubernetesCluster, NODE_ADDRESS } from "./fixture.ts";
import { Forwarder } from "./forwarder.ts";

const ignore = !isLong || !has("kubelet") || !has("helm");
const TOKEN = "an-operators-token-of-a-cluster";
const SECRET = "a-secret-of-the-labelling-tool";
/** Kinds that a cluster has only where others have installed them. */
const FOREIGN = ["HTTPRoute", "ServiceMonitor"];

const cluster = ignore ? undefined : await KubernetesCluster.start();
Deno.test.afterAll(() => cluster?.stop());
let loaded: Promise<void> | undefined;

/** Makes the image of this checkout, and gives it to the node. */
async function loadImage(on: KubernetesCluster): Promise<void> {
  await using folder = await temporaryFolder();
  const processor = Deno.build.arch === "x86_64" ? "amd64" : "arm64";
  const other = Deno.build.os === "linux" ? "aarch64-apple-darwin" : "x86_64-unknown-linux-gnu";
  const { success, stdout } = await new Deno.Command("sh", {
    args: [
      "-ec",
      `${config.tasks.release.command} ${config.version} --snapshot --output "$0/dist" \
        --target ${other} --image ${processor}
      ctr -a "$1/containerd.sock" -n k8s.io images import "$0/dist/"*-image.tar`,
      folder.path,
      on.folder,
    ],
    stderr: "inherit",
  }).output();
  assert(success, new TextDecoder().decode(stdout));
}

/** Makes a volume of this machine, which the cluster has nobody to make. */
async function makeVolume(on: KubernetesCluster, path: string): Promise<void> {
  await on.ask("POST", "/api/v1/persistentvolumes", {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name: "hooks" },
    spec: {
      capacity: { storage: "10Gi" },
      accessModes: ["ReadWriteOnce"],
      local: { path },
      nodeAffinity: {
        required: {
          nodeSelectorTerms: [{
            matchExpressions: [{
              key: "kubernetes.io/hostname",
              operator: "In",
              values: ["localhost"],
            }],
          }],
        },
      },
    },
  });
}

/** Asks whether the account of the release may do something. */
async function may(
  on: KubernetesCluster,
  verb: string,
  resource: string,
  namespace: string,
): Promise<boolean> {
  const [name = "", group = ""] = resource.split(".");
  const answer = await on.ask("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", {
    apiVersion: "authorization.k8s.io/v1",
    kind: "SubjectAccessReview",
    spec: {
      user: "system:serviceaccount:hooks:hooks-hooklaunch",
      groups: ["system:serviceaccounts", "system:serviceaccounts:hooks", "system:authenticated"],
      resourceAttributes: { verb, resource: name, group, namespace },
    },
  });
  return Object(answer).status.allowed;
}

function signed(body: string): Record<string, string> {
  const time = String(Math.floor(Date.now() / 1000));
  const mac = createHmac("sha256", SECRET).update(`${time}.${body}`).digest("hex");
  return { "x-timestamp": time, "x-signature": `sha256=${mac}` };
}

Deno.test({
  name: "Kubernetes: its API server takes what the chart makes of each value",
  ignore,
  async fn(t) {
    assert(cluster !== undefined);
    for (const [name, { values }] of Object.entries(CASES)) {
      await t.step(name, async () => {
        const { printed } = await template(values);
        const objects = manifests(printed).filter(({ kind }) => !FOREIGN.includes(kind));
        for (const object of objects) await cluster.validate(object, "ml");
      });
    }
  },
});

Deno.test({
  name: "Kubernetes: the chart runs the bundled pipeline as pods, is upgraded and uninstalled",
  ignore,
  async fn() {
    assert(cluster !== undefined);
    await using folder = await temporaryFolder();
    const { config: written, project, body } = EXAMPLES.pipeline;
    for (const [path, text] of Object.entries(project)) {
      await Deno.writeTextFile(`${folder.path}/${path}`, text);
    }
    await Deno.chmod(folder.path, 0o755);
    await using volume = await temporaryFolder();
    await (loaded ??= loadImage(cluster));
    await makeVolume(cluster, volume.path);
    await using chart = await InstalledChart.prepare(cluster, "hooks", {
      HOOKLAUNCH_ADMIN_TOKEN: TOKEN,
      DEMO_SECRET: SECRET,
    });
    const settings = {
      image: { tag: config.version },
      existingSecret: "hooks",
      persistence: { storageClass: "-" },
      kubernetesEngine: { enabled: true, namespace: "ml", agentUrl: chart.url, agentHttp: true },
      config: chart.configuration(written, {
        directory: "/project",
        engine: {
          type: "kubernetes",
          namespace: "ml",
          agent_image: "docker.io/test/agent:1",
          pod_template: { spec: { hostNetwork: true } },
        },
      }),
      extraVolumes: [{ name: "project", hostPath: { path: folder.path } }],
      extraVolumeMounts: [{ name: "project", mountPath: "/project", readOnly: true }],
    };
    const notes = await chart.install(settings);
    assertStringIncludes(notes, "is installed as hooks-hooklaunch in hooks");
    assertStringIncludes(notes, "rollout status --namespace hooks statefulset/hooks-hooklaunch");

    const rights = [
      ["create", "jobs.batch", "ml"],
      ["delete", "secrets", "ml"],
      ["get", "secrets", "ml"],
      ["create", "jobs.batch", "hooks"],
      ["list", "pods", "kube-system"],
    ] as const;
    const allowed = await Promise.all(
      rights.map(([verb, kind, where]) => may(cluster, verb, kind, where)),
    );
    assertEquals(allowed, [true, true, false, false, false]);

    const [{ id: trigger = "" } = {}] = await chart.list("triggers/");
    const launched = await chart.launch(trigger, body, signed(body));
    assertEquals(launched.status, 200, launched.text);
    const forged = await chart.launch(trigger, body, {
      ...signed(body),
      "x-signature": "sha256=0",
    });
    assertEquals(forged.status, 400);
    const run = JSON.parse(launched.text).run;
    const executions = await eventually(async () => {
      const found = await chart.list("executions/");
      const done = found.filter(({ status }) => status === "complete");
      const failed = found.find(({ status }) => status === "error");
      assert(failed === undefined, JSON.stringify(failed));
      return done.length === 3 ? found : undefined;
    }, { what: "three executions" });
    assertEquals(executions.map(({ engine }) => Object(engine).type), Array(3).fill("kubernetes"));

    await chart.upgrade({ ...settings, podAnnotations: { changed: "yes" } });
    const kept = await chart.list("deliveries/?outcome=accepted");
    assertEquals(kept.map(({ run_id }) => run_id), [run]);
    const pods = [...(await chart.pods()).values()];
    assertEquals(pods.map(({ changed }) => changed), ["yes"]);
    await chart.uninstall();
    const claims = await cluster.ask("GET", "/api/v1/namespaces/hooks/persistentvolumeclaims");
    assertEquals(Object(claims).items.length, 1);
  },
});

/** Launches one after the other until it is stopped, and returns the ids of the runs. */
function keepLaunching(chart: InstalledChart, trigger: string) {
  const runs: string[] = [];
  const refused: string[] = [];
  let stopped = false;
  const launching = (async () => {
    for (let count = 0; !stopped; count++) {
      const body = JSON.stringify({ count });
      const { status, text } = await chart.launch(trigger, body, signed(body));
      if (status === 200) runs.push(text);
      else refused.push(`${status} ${text}`);
    }
  })();
  return {
    runs,
    async stop() {
      stopped = true;
      await launching;
      assertEquals(refused, []);
    },
  };
}

Deno.test({
  name:
    "Kubernetes: while pods of a Deployment are replaced, each launch is answered and performed once",
  ignore: ignore || !has("denokv") || hasNoS3,
  async fn() {
    assert(cluster !== undefined);
    await (loaded ??= loadImage(cluster));
    await using folder = await temporaryFolder();
    await using database = await denokv(folder.path);
    await using bucket = await S3Server.start();
    // Pods reach this machine at the address of the node.
    const [kv, s3] = [database.url, bucket.url].map((url) => Number(new URL(url).port));
    const shown = [kv, s3].map((port = 0) =>
      new Forwarder({ hostname: NODE_ADDRESS, port }, () => ({ hostname: "127.0.0.1", port }))
    );
    await using chart = await InstalledChart.prepare(cluster, "several", {
      HOOKLAUNCH_ADMIN_TOKEN: TOKEN,
      HOOKLAUNCH_SECRET_KEY: btoa("k".repeat(32)),
      DEMO_SECRET: SECRET,
      DENO_KV_ACCESS_TOKEN: KV_TOKEN.value,
      AWS_ACCESS_KEY_ID: CREDENTIALS.accessKeyId,
      AWS_SECRET_ACCESS_KEY: CREDENTIALS.secretAccessKey,
    });
    const [signature, time] = parse(EXAMPLES.pipeline.config).triggers[0].conditions;
    const settings = {
      image: { tag: config.version },
      existingSecret: "hooks",
      kv: `http://${NODE_ADDRESS}:${kv}`,
      storage: bucket.storage.replace("127.0.0.1", NODE_ADDRESS),
      replicas: 2,
      config: {
        projects: [{ name: "none", repository: "https://git.example.com/none.git" }],
        triggers: [{
          name: "count",
          project: "none",
          conditions: [signature, time],
          actions: [{ type: "run_execution", step: "none", if: "false" }],
          response: { type: "text", text: "{run_id}" },
        }],
      },
    };
    await chart.install(settings);
    const [{ id: trigger = "" } = {}] = await chart.list("triggers/");
    const before = await chart.pods();
    const load = [1, 2, 3].map(() => keepLaunching(chart, trigger));
    await chart.upgrade({ ...settings, podAnnotations: { changed: "yes" } });
    // Those that are to end still answer for a while.
    await eventually(async () => {
      const pods = [...(await chart.pods()).keys()];
      return !pods.some((id) => before.has(id)) || undefined;
    }, { what: "the end of the earlier pods" });
    await Promise.all(load.map((each) => each.stop()));
    const runs = load.flatMap((each) => each.runs);
    assert(runs.length > 20, String(runs.length));
    await eventually(async () => {
      const waiting = await chart.list("runs/?limit=200");
      return waiting.every(({ status }) => status === "completed") || undefined;
    }, { what: "the end of all runs" });
    const ended = (await chart.list("runs/?limit=200")).map(({ id }) => id);
    assertEquals(ended.toSorted(), runs.toSorted());
    await chart.uninstall();
    for (const each of shown) await each[Symbol.asyncDispose]();
  },
});
