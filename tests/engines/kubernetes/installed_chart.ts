/** A release of the chart on a cluster for tests, as those around it see it. */
import { assert, assertEquals } from "@std/assert";
import { parse } from "yaml";
import { CHART, helm } from "../../packaging/helm.ts";
import { eventually, freePort } from "../../surroundings.ts";
import { type KubernetesCluster, NODE_ADDRESS } from "./fixture.ts";
import { Forwarder, type Place } from "./forwarder.ts";

type Values = Record<string, unknown>;

/** The node as pods see it: they trust its word that a request came over TLS, as that of an ingress. */
const GATEWAY = "10.244.254.1";
/** The address by which pods know the API server, and where it is. */
const API: readonly [at: Place, to: Place] = [
  { hostname: "10.96.0.1", port: 443 },
  { hostname: "127.0.0.1", port: 16443 },
];
const OF_SERVICE = "labelSelector=kubernetes.io%2Fservice-name%3Dhooks-hooklaunch";

/** An answer to a sender. */
interface Answer {
  status: number;
  text: string;
}

/** The release "hooks" in its namespace, with a Service in front that this machine plays. */
export class InstalledChart implements AsyncDisposable {
  /** The address of the Service. */
  readonly url: string;
  readonly #cluster: KubernetesCluster;
  readonly #namespace: string;
  readonly #token: string;
  readonly #forwarders: Forwarder[];
  readonly #kubeconfig: string;
  /** A connection of its own for each request, as each sender has one. */
  readonly #http = Deno.createHttpClient({ poolMaxIdlePerHost: 0 });

  private constructor(cluster: KubernetesCluster, namespace: string, token: string) {
    const at = { hostname: NODE_ADDRESS, port: freePort() };
    this.url = `http://${at.hostname}:${at.port}`;
    this.#cluster = cluster;
    this.#namespace = namespace;
    this.#token = token;
    this.#kubeconfig = `${cluster.folder}/kubeconfig`;
    this.#forwarders = [
      new Forwarder(API[0], () => API[1]),
      new Forwarder(at, () => this.#endpoint()),
    ];
  }

  /** Makes its namespace, and its Secret. */
  static async prepare(
    cluster: KubernetesCluster,
    namespace: string,
    secrets: Record<string, string>,
  ): Promise<InstalledChart> {
    await cluster.ask("POST", "/api/v1/namespaces", { metadata: { name: namespace } });
    await cluster.ask("POST", `/api/v1/namespaces/${namespace}/secrets`, {
      metadata: { name: "hooks" },
      stringData: secrets,
    });
    return new InstalledChart(cluster, namespace, secrets.HOOKLAUNCH_ADMIN_TOKEN ?? "");
  }

  /** Installs it, and returns what helm prints. */
  async install(values: Values): Promise<string> {
    return await this.#helm(["install", "hooks", CHART], values);
  }

  async upgrade(values: Values): Promise<void> {
    await this.#helm(["upgrade", "hooks", CHART], values);
  }

  /** Uninstalls it, and checks that nothing of it runs. */
  async uninstall(): Promise<void> {
    await this.#helm(["uninstall", "hooks"]);
    const isGone = async () => (await this.pods()).size === 0 || undefined;
    await eventually(isGone, { what: "the end of all pods" });
    const roles = "/apis/rbac.authorization.k8s.io/v1/namespaces/ml/rolebindings";
    const bindings = Object(await this.#cluster.ask("GET", roles)).items;
    const names = bindings.map(({ metadata: { name } }: { metadata: { name: string } }) => name);
    assert(!names.includes("hooks-hooklaunch"), names.join());
  }

  /** Returns the pods by their unique ids, with their annotations. */
  async pods(): Promise<Map<string, Record<string, string>>> {
    // The form of pods.
    const { items } = await this.#cluster.ask(
      "GET",
      `/api/v1/namespaces/${this.#namespace}/pods`,
    ) as { items: { metadata: { uid: string; annotations: Record<string, string> } }[] };
    return new Map(items.map(({ metadata: { uid, annotations } }) => [uid, annotations]));
  }

  /** Reads a list of the operators' API, all pages of it. */
  async list(path: string): Promise<Record<string, string>[]> {
    const found: Record<string, string>[] = [];
    const headers = { authorization: `Bearer ${this.#token}` };
    for (let next: string | undefined = `/api/v0/${path}`; next;) {
      const { status, text } = await this.#send(next, { headers });
      assertEquals(status, 200, text);
      const page = JSON.parse(text);
      found.push(...page.results);
      next = page.next && page.next.replace(/^https?:\/\/[^/]+/, "");
    }
    return found;
  }

  /** Launches as a sender does. */
  async launch(trigger: string, body: string, headers: Record<string, string>): Promise<Answer> {
    return await this.#send(`/api/v0/launch/${trigger}/`, { method: "POST", headers, body });
  }

  async #send(path: string, init: RequestInit): Promise<Answer> {
    const headers = { ...init.headers, "x-forwarded-proto": "https" };
    const answer = await fetch(this.url + path, { ...init, headers, client: this.#http });
    return { status: answer.status, text: await answer.text() };
  }

  async #helm(args: string[], values?: Values): Promise<string> {
    const common = ["--namespace", this.#namespace, "--wait", "--timeout", "3m"];
    const given = values === undefined ? [] : ["--values", "-"];
    const all = { publicUrl: "https://hooks.example.com", trustedProxies: [GATEWAY], ...values };
    const { code, printed, told } = await helm([...args, ...common, ...given], {
      input: JSON.stringify(all),
      env: { KUBECONFIG: this.#kubeconfig },
    });
    assertEquals(code, 0, told + await this.#state());
    return printed;
  }

  /** Tells why pods do not run, for the message of a failure. */
  async #state(): Promise<string> {
    const of = async (kind: string) =>
      Object(await this.#cluster.ask("GET", `/api/v1/namespaces/${this.#namespace}/${kind}`)).items;
    const events = (await of("events")).map(({ message }: { message: string }) => message);
    const pods = (await of("pods")).map(({ status }: { status: unknown }) =>
      JSON.stringify(status)
    );
    const { stdout } = await new Deno.Command("sh", {
      args: ["-c", 'tail -n 5 "/var/log/pods/$0"_*/*/*.log', this.#namespace],
    }).output();
    return [...pods, ...events, new TextDecoder().decode(stdout)].join("\n");
  }

  /** Chooses a pod that is ready, as a Service does. */
  async #endpoint(): Promise<Place> {
    const slices =
      `/apis/discovery.k8s.io/v1/namespaces/${this.#namespace}/endpointslices?${OF_SERVICE}`;
    return await eventually(async () => {
      // The form of EndpointSlices.
      const { items } = await this.#cluster.ask("GET", slices) as {
        items: { endpoints: { addresses: string[]; conditions: { ready?: boolean } }[] | null }[];
      };
      const ready = items.flatMap(({ endpoints }) => endpoints ?? [])
        .filter(({ conditions }) => conditions.ready)
        .flatMap(({ addresses }) => addresses);
      const hostname = ready[Math.floor(Math.random() * ready.length)];
      return hostname && { hostname, port: 8000 } || undefined;
    }, { what: "a pod that is ready" });
  }

  /** Reads a configuration, and gives its project other fields. */
  configuration(text: string, fields: Values): Values {
    const { projects: [project], ...others } = parse(text);
    return { ...others, projects: [{ ...project, ...fields }] };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const each of this.#forwarders) await each[Symbol.asyncDispose]();
    this.#http.close();
  }
}
