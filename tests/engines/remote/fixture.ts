/**
 * A remote engine on a cluster of this machine's processes, whose agents come over HTTP as they do to a service.
 *
 * @module
 */
import { join } from "node:path";
import { FolderStore } from "../../../src/artifacts/folder.ts";
import type { ArtifactStore } from "../../../src/artifacts/store.ts";
import type { EnginesOptions } from "../../../src/engines/engine.ts";
import type { RemoteSettings } from "../../../src/engines/remote/context.ts";
import { RemoteEngine } from "../../../src/engines/remote/mod.ts";
import type { RemoteEngineOptions } from "../../../src/engines/remote/remote_work.ts";
import { BodyReader } from "../../../src/http/body.ts";
import { jobRoutes } from "../../../src/http/jobs/routes.ts";
import { type Clock, systemClock } from "../../../src/platform/clock.ts";
import { checkoutOfContract } from "../contract.ts";
import type { Execution } from "../../../src/store/records/executions.ts";
import { textOf } from "../fixture.ts";
import { type EngineParts, EngineService, until } from "../service.ts";
import { PATIENCE_MS } from "../../surroundings.ts";
import { TestCluster } from "./test_cluster.ts";

/** Settings with which tests do not wait for long. */
export const QUICK: Partial<RemoteSettings> = {
  tick_ms: 100,
  look_ms: 100,
  grace_ms: 2_000,
  settle_ms: 1_000,
  silence_ms: 2_000,
};

/** The kind of engine that a host has, and its cluster where that is no plain one. */
export type HostKind = Pick<RemoteEngineOptions, "type" | "backendOf" | "wrapOf"> & {
  cluster: TestCluster;
};

/** A cluster, and the place where its agents reach the engine. It outlives engines. */
export class RemoteHost implements AsyncDisposable {
  readonly cluster: TestCluster;
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  readonly #bodies = new BodyReader({ bodies_bytes_max: 256 * 1024 * 1024 });
  readonly #kind: Omit<HostKind, "cluster">;
  #engine: RemoteEngine | undefined;
  /** Writes the code of an execution. */
  checkout = checkoutOfContract;
  /** Tells of code that jobs fetch themselves. */
  jobCode: EnginesOptions["projects"]["jobCode"];
  /** Nobody answers agents, or not these requests of theirs, such as `POST end`. */
  isAway: boolean | ((request: string) => boolean) = false;
  /** Returns true for an agent's request that is performed, and whose answer is lost. */
  isUnheard: (asked: string, request: Request) => boolean = () => false;
  /** The number of requests of agents. */
  requests = 0;
  /** The methods and paths of agents' requests, without queries. */
  readonly asked: string[] = [];
  /** The number of answers that lead to the artifact store. */
  redirects = 0;
  /** The artifact store; a folder when absent. */
  artifacts: ArtifactStore | undefined;

  /**
   * @param folder the folder of the cluster's jobs
   * @param port the port for agents; 0 takes any
   * @param kind the type of the engine, and its back end where that is another one
   */
  constructor(folder: string, port = 0, { cluster, ...kind }: Partial<HostKind> = {}) {
    this.cluster = cluster ?? new TestCluster(folder);
    this.#kind = { type: "remote", backendOf: () => this.cluster, ...kind };
    const app = jobRoutes({
      deskOf: async () => await this.#engine?.desk(),
      clock: systemClock,
      bodies: this.#bodies,
      closing: new AbortController().signal,
    });
    const options = { hostname: "127.0.0.1", port, onListen() {} };
    this.#server = Deno.serve(options, async (request) => {
      this.requests++;
      const asked = `${request.method} ${new URL(request.url).pathname.split("/").at(-1)}`;
      this.asked.push(asked);
      const isAway = typeof this.isAway === "function" ? this.isAway(asked) : this.isAway;
      if (isAway || this.#engine === undefined) return new Response("away", { status: 502 });
      const url = new URL(request.url);
      url.pathname = url.pathname.replace(/^\/api\/v0\/jobs/, "");
      const answer = await app.fetch(new Request(url, request));
      if (this.isUnheard(asked, request)) {
        await answer.body?.cancel();
        return new Response("away", { status: 502 });
      }
      if (answer.status === 307) this.redirects++;
      return answer;
    });
  }

  /** The URL of the service, as agents know it. */
  get url(): string {
    return `http://127.0.0.1:${this.#server.addr.port}`;
  }

  /** Makes the engine that agents reach from now on. */
  makeEngine(
    parts: EngineParts,
    settings: Partial<RemoteSettings> = {},
    clock: Clock = systemClock,
  ): RemoteEngine {
    const { backendOf, ...kind } = this.#kind;
    return this.#engine = new RemoteEngine({
      openOutput: async (...output: [id: string, path: string]) =>
        await this.#engine?.output(...output),
      ...parts,
      ...kind,
      loadBackend: () => Promise.resolve(backendOf),
      clock,
      projects: {
        checkout: (...args) => this.checkout(...args),
        jobCode: async (...args) => await this.jobCode?.(...args),
      },
      artifacts: this.artifacts ?? new FolderStore(join(parts.dataFolder, "artifacts")),
      agent: { url: this.url, http: true },
      settings: { ...QUICK, ...settings },
    });
  }

  /** Ends the cluster with all its jobs, and answers nobody any more. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.isAway = true;
    await this.cluster.end();
    await this.#server.shutdown();
    this.#bodies[Symbol.dispose]();
  }
}

/** A service with a remote engine, which can be stopped and started again. */
export class RemoteService extends EngineService<RemoteEngine> {
  readonly host: RemoteHost;
  readonly #settings: Partial<RemoteSettings>;
  readonly #clock: Clock | undefined;

  constructor(
    folder: string,
    settings: Partial<RemoteSettings>,
    { port = 0, kind = {}, clock }: { port?: number; kind?: Partial<HostKind>; clock?: Clock } = {},
  ) {
    super(folder);
    this.host = new RemoteHost(join(folder, "cluster"), port, kind);
    this.#settings = settings;
    this.#clock = clock;
  }

  /** Makes one in a new folder, and starts it. */
  static async make(
    settings: Partial<RemoteSettings> = {},
    options: { clock?: Clock } = {},
  ): Promise<RemoteService> {
    const service = new RemoteService(await Deno.makeTempDir(), settings, options);
    await service.begin();
    return service;
  }

  protected override get fields(): Partial<Execution> {
    return { engine: { type: "remote" } };
  }

  protected override makeEngine(parts: EngineParts): RemoteEngine {
    return this.host.makeEngine(parts, this.#settings, this.#clock);
  }

  /** The cluster. */
  get cluster(): TestCluster {
    return this.host.cluster;
  }

  /** A command that notes each of its runs, and takes a while. */
  noting(seconds: number): string {
    return `echo run >>${this.folder}/ran; echo begun; sleep ${seconds}; echo done`;
  }

  /** A command that notes each of its runs, and ends once it may. */
  get notingUntilGo(): string {
    return `echo run >>${this.folder}/ran; echo begun; ${this.untilGo}; echo done`;
  }

  /** A part of a command that ends once it may. */
  get untilGo(): string {
    return `until [ -e ${this.folder}/go ]; do sleep 0.1; done`;
  }

  /** Lets commands end. */
  async go(): Promise<void> {
    await Deno.writeTextFile(join(this.folder, "go"), "");
  }

  /** The number of runs that were noted. */
  get ran(): number {
    return textOf(join(this.folder, "ran")).split("\n").length - 1;
  }

  /** Waits until an execution has printed a line. */
  async said(id: string, line: string): Promise<void> {
    await until(async () => (await this.printed(id, "stdout")).includes(line));
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    await this.close(PATIENCE_MS);
    await this.host[Symbol.asyncDispose]();
    await super[Symbol.asyncDispose]();
  }
}
