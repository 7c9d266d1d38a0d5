/**
 * A Kubernetes of this machine for tests: its programs are Kubernetes' own, and its containers are real.
 *
 * @module
 */
import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import type { RemoteSettings } from "../../../src/engines/remote/context.ts";
import type { RemoteEngine } from "../../../src/engines/remote/mod.ts";
import type { Pod } from "../../../src/engines/kubernetes/job_states.ts";
import { KubernetesBackend } from "../../../src/engines/kubernetes/mod.ts";
import { kubernetesSettingsSchema } from "../../../src/engines/kubernetes/settings.ts";
import page from "../../../src/docs/kubernetes.md" with { type: "text" };
import type { EngineSettings } from "../../../src/store/records/projects.ts";
import type { Execution } from "../../../src/store/records/executions.ts";
import { eventually, PATIENCE_MS } from "../../surroundings.ts";
import type { Manifest } from "../../packaging/helm.ts";
import { RemoteHost } from "../remote/fixture.ts";
import { type EngineParts, EngineService, until } from "../service.ts";

const SERVER = "https://127.0.0.1:16443";
/** The longest time until the cluster works again. */
const RECOVERY_MS = 240_000;
/** The address of the cluster's only node. */
export const NODE_ADDRESS = "10.244.255.1";
const NAMESPACE = "ml";
const START = new URL("cluster/start.sh", import.meta.url).pathname;
/** Where `.ci/run` keeps the programs. */
const PROGRAMS = `\${XDG_CACHE_HOME:-$HOME/.cache}/hooklaunch/kubernetes`;
/** The paths of the kinds of objects in the manifest of the documentation. */
const PATHS: Readonly<Record<string, (namespace: string) => string>> = {
  Namespace: () => "/api/v1/namespaces",
  ServiceAccount: (namespace) => `/api/v1/namespaces/${namespace}/serviceaccounts`,
  Role: (namespace) => `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/roles`,
  RoleBinding: (namespace) =>
    `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/rolebindings`,
};

/** Kinds whose plural does not end with "s" alone. */
const PLURALS: Readonly<Record<string, string>> = {
  Ingress: "ingresses",
  NetworkPolicy: "networkpolicies",
};

/** Settings with which tests do not wait for long. */
export const QUICK: Partial<RemoteSettings> = {
  tick_ms: 200,
  look_ms: 500,
  // Room for a busy machine: only a command that ignores being told waits for it.
  grace_ms: 30_000,
  settle_ms: 3_000,
  silence_ms: 5_000,
};

/** A running cluster. */
export class KubernetesCluster {
  readonly folder: string;
  readonly #process: Deno.ChildProcess;
  readonly #http: Deno.HttpClient;
  /** The file with the token of the service account that the documentation grants its rights. */
  readonly tokenFile: string;

  private constructor(folder: string, process: Deno.ChildProcess, http: Deno.HttpClient) {
    this.folder = folder;
    this.tokenFile = join(folder, "token");
    this.#process = process;
    this.#http = http;
  }

  /** Starts one, with the rights that the documentation grants. */
  static async start(): Promise<KubernetesCluster> {
    const folder = await Deno.makeTempDir();
    const process = new Deno.Command("sh", {
      args: ["-c", `exec sh "$0" "${PROGRAMS}" "$1"`, START, folder],
      stdin: "piped",
      stdout: "piped",
      stderr: "inherit",
    }).spawn();
    for await (const said of process.stdout.pipeThrough(new TextDecoderStream())) {
      if (said.includes("ready")) break;
    }
    const ca = await Deno.readTextFile(join(folder, "pki", "apiserver.crt"));
    const cluster = new KubernetesCluster(
      folder,
      process,
      Deno.createHttpClient({ caCerts: [ca] }),
    );
    await cluster.#grant();
    return cluster;
  }

  /** The settings of a project on this cluster. Its pods reach what listens on this machine's loopback. */
  settings(more: Record<string, unknown> = {}): EngineSettings {
    return kubernetesSettingsSchema.parse({
      type: "kubernetes",
      namespace: NAMESPACE,
      server: SERVER,
      ca: Deno.readTextFileSync(join(this.folder, "pki", "apiserver.crt")),
      token: `{file:${this.tokenFile}}`,
      agent_image: "docker.io/test/agent:1",
      pod_template: {
        spec: { hostNetwork: true },
      },
      ...more,
    });
  }

  /** Asks the cluster as its administrator. */
  async ask(
    method: string,
    path: string,
    body?: unknown,
    type = "application/json",
  ): Promise<unknown> {
    const response = await fetch(`${SERVER}${path}`, {
      method,
      client: this.#http,
      headers: { authorization: "Bearer administrator", "content-type": type },
      body: body === undefined ? null : JSON.stringify(body),
    });
    if (!response.ok) {
      throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    }
    return await response.json();
  }

  /** Asks for the objects of a kind in the namespace of the jobs. */
  async objects(kind: "pods" | "secrets" | "jobs"): Promise<{ metadata: { name: string } }[]> {
    const group = kind === "jobs" ? "/apis/batch/v1" : "/api/v1";
    // The form of all lists.
    const list = await this.ask("GET", `${group}/namespaces/${NAMESPACE}/${kind}`) as {
      items: { metadata: { name: string } }[];
    };
    return list.items;
  }

  /** Asks the API server whether it would take an object, each field of it, in a namespace that has it not named. */
  async validate(object: Manifest, namespace: string): Promise<void> {
    const { apiVersion, kind, metadata } = object;
    const plural = PLURALS[kind] ?? `${kind.toLowerCase()}s`;
    const group = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
    const path = `${group}/namespaces/${namespace}/${plural}`;
    const local = { ...object, metadata: { ...metadata, namespace } };
    await this.ask("POST", `${path}?dryRun=All&fieldValidation=Strict`, local);
  }

  /** Sends a signal to a program of the cluster. */
  async signal(program: string, signal: string): Promise<void> {
    await sh(`kill -s "$1" "$(cat "$2")"`, signal, join(this.folder, "pid", program));
  }

  /** Ends the node with all that runs on it, as the loss of its machine does. The kubelet can be started again. */
  async killNode(): Promise<void> {
    await this.signal("kubelet", "KILL");
    // All at once: an agent that outlives its command would report that.
    const pids = `ctr -a "$1/containerd.sock" -n k8s.io tasks ls | sed -n '2,$s/^[^ ]* *//p'`;
    await sh(`kill -KILL $(${pids} | cut -d ' ' -f 1)`, this.folder);
  }

  /** Starts a program of the cluster again. */
  async restart(program: string): Promise<void> {
    await sh(`sh "$1"`, join(this.folder, `start-${program}`));
  }

  /**
   * Waits until the cluster runs jobs, after a program was started again. After an API server that was away, the
   * cluster's own programs need up to two minutes until they ask it again.
   */
  async untilReady(): Promise<void> {
    await this.#untilNodeIsReady();
    const name = `ready-${crypto.randomUUID()}`;
    const path = `/apis/batch/v1/namespaces/${NAMESPACE}/jobs`;
    const containers = [{ name: "main", image: "docker.io/test/tools:1", command: ["true"] }];
    await this.ask("POST", path, {
      apiVersion: "batch/v1",
      kind: "Job",
      metadata: { name },
      spec: { template: { spec: { containers, hostNetwork: true, restartPolicy: "Never" } } },
    });
    await eventually(async () => {
      // The form of a Job.
      const { status } = await this.ask("GET", `${path}/${name}`) as {
        status: { succeeded?: number };
      };
      return status.succeeded;
    }, { what: "a job of the cluster's own", within_ms: RECOVERY_MS });
    await this.ask("DELETE", `${path}/${name}?propagationPolicy=Background`);
  }

  /** Waits until the cluster knows that a job's pod runs: its node tells it later than the agent tells the service. */
  async untilKnown(job: string): Promise<void> {
    await until(async () => {
      // The form of pods.
      const pods = await this.objects("pods") as {
        metadata: { name: string };
        status: Pod["status"];
      }[];
      const pod = pods.find(({ metadata: { name } }) => name.startsWith(job));
      return pod?.status?.conditions?.some(({ type, status }) =>
        type === "Ready" && status === "True"
      ) ?? false;
    });
  }

  async #untilNodeIsReady(): Promise<void> {
    await until(async () => {
      // The form of a node.
      const node = await this.ask("GET", "/api/v1/nodes/localhost").catch(() => undefined) as {
        status: { conditions: { type: string; status: string }[] };
      } | undefined;
      return node?.status.conditions.some(({ type, status }) =>
        type === "Ready" && status === "True"
      ) ?? false;
    });
  }

  /** Ends all. */
  async stop(): Promise<void> {
    await this.#process.stdin.close();
    await this.#process.status;
    this.#http.close();
    await Deno.remove(this.folder, { recursive: true });
  }

  async #grant(): Promise<void> {
    const [, manifest = ""] = /```yml\n(apiVersion: v1\nkind: Namespace[\s\S]*?)```/.exec(page) ??
      [];
    for (const document of parseAllDocuments(manifest)) {
      const object = document.toJS() as { kind: string; metadata: { namespace?: string } };
      await this.ask("POST", PATHS[object.kind]?.(object.metadata.namespace ?? "") ?? "", object);
    }
    const path = `/api/v1/namespaces/${NAMESPACE}/serviceaccounts/hooklaunch/token`;
    const { status } = await this.ask("POST", path, {}) as { status: { token: string } };
    await Deno.writeTextFile(this.tokenFile, status.token);
    await until(async () => {
      const names = await this.ask("GET", `/api/v1/namespaces/${NAMESPACE}/serviceaccounts`) as {
        items: { metadata: { name: string } }[];
      };
      return names.items.some(({ metadata: { name } }) => name === "default");
    });
  }
}

async function sh(script: string, ...args: string[]): Promise<void> {
  const { success } = await new Deno.Command("sh", { args: ["-c", script, "sh", ...args] })
    .output();
  if (!success) throw new Error(`This failed: ${script} ${args.join(" ")}`);
}

/** Makes a host of engines on clusters. Their agents come over HTTP, as they do to a service. */
export function kubernetesHost(folder: string): RemoteHost {
  return new RemoteHost(join(folder, "jobs"), 0, {
    type: "kubernetes",
    backendOf: (settings) => new KubernetesBackend(settings),
  });
}

/** A service with an engine on a cluster, which can be stopped and started again. */
export class KubernetesService extends EngineService<RemoteEngine> {
  readonly host: RemoteHost;
  readonly #settings: EngineSettings;

  constructor(folder: string, settings: EngineSettings) {
    super(folder);
    this.host = kubernetesHost(folder);
    this.#settings = settings;
  }

  /** Makes one in a new folder, and starts it. */
  static async make(settings: EngineSettings): Promise<KubernetesService> {
    const service = new KubernetesService(await Deno.makeTempDir(), settings);
    await service.begin();
    return service;
  }

  protected override get fields(): Partial<Execution> {
    return { engine: this.#settings, image: "docker.io/test/tools:1" };
  }

  protected override makeEngine(parts: EngineParts): RemoteEngine {
    return this.host.makeEngine(parts, QUICK);
  }

  /** Waits until an execution has printed a line. */
  async said(id: string, line: string): Promise<void> {
    await until(async () => (await this.printed(id, "stdout")).includes(line));
  }

  /** Waits until an execution says why it waits, and returns that. */
  async waiting(id: string, part: string): Promise<string> {
    await until(async () => (await this.record(id)).waiting?.includes(part) ?? false);
    return (await this.record(id)).waiting ?? "";
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    await this.close(PATIENCE_MS);
    await this.host[Symbol.asyncDispose]();
    await super[Symbol.asyncDispose]();
  }
}
