/** A cluster whose jobs have no agents: a test acts for them, over HTTP. */
import { hash } from "node:crypto";
import type {
  Backend,
  JobRef,
  JobSpec,
  Launched,
  Seen,
} from "../../../src/engines/remote/backend.ts";
import type { RemoteSettings } from "../../../src/engines/remote/context.ts";
import { until } from "../service.ts";
import { RemoteService } from "./fixture.ts";

/** A request of an agent. */
export interface Asked {
  method?: string;
  body?: BodyInit;
  claim?: string | undefined;
}

/** Keeps the tokens of jobs, and says of each what a test wants. */
export class HeldCluster implements Backend {
  readonly tokens = new Map<string, string>();
  /** What is said of a job, by its name; that it runs when absent. */
  readonly seen = new Map<string, Seen>();

  launch({ name, script }: JobSpec): Promise<Launched> {
    this.tokens.set(name, /^token='?([\w-]+)/m.exec(script)?.[1] ?? "");
    return Promise.resolve({ id: name, isNew: true });
  }

  look(jobs: readonly JobRef[]): Promise<ReadonlyMap<string, Seen>> {
    const runs: Seen = { kind: "running" };
    return Promise.resolve(new Map(jobs.map(({ name }) => [name, this.seen.get(name) ?? runs])));
  }

  cancel(_job: JobRef): Promise<void> {
    return Promise.resolve();
  }

  remove(): Promise<void> {
    return Promise.resolve();
  }
}

/** A service whose agents a test plays. */
export class HeldService extends RemoteService {
  constructor(readonly held: HeldCluster, folder: string, settings: Partial<RemoteSettings>) {
    super(folder, settings, { kind: { backendOf: () => held } });
  }

  /** Starts one in a new folder. */
  static async start(settings: Partial<RemoteSettings> = {}): Promise<HeldService> {
    const service = new HeldService(new HeldCluster(), await Deno.makeTempDir(), settings);
    await service.begin();
    return service;
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    // Nobody waits for agents that a test plays.
    await this.close();
    await super[Symbol.asyncDispose]();
  }

  /** Plays the agent of a new execution. */
  async play(fields: Parameters<RemoteService["submit"]>[1] = {}): Promise<PlayedAgent> {
    const id = await this.submit("true", fields);
    await until(() => this.held.tokens.has(id));
    return new PlayedAgent(this, id);
  }
}

/** An agent that a test plays. */
export class PlayedAgent {
  readonly #token: string;
  readonly claim = "0123456789abcdef";

  constructor(readonly service: HeldService, readonly id: string) {
    this.#token = service.held.tokens.get(id) ?? "";
  }

  /** Asks for something. The path is behind that of the execution. */
  ask(path: string, { method = "POST", body, claim = this.claim }: Asked = {}): Promise<Response> {
    return fetch(`${this.service.host.url}/api/v0/jobs/${this.id}/${path}`, {
      method,
      headers: { authorization: `Bearer ${this.#token}`, "hooklaunch-claim": claim },
      ...(body === undefined ? {} : { body }),
      redirect: "manual",
    });
  }

  /** The status and the first word of an answer. */
  async said(path: string, asked: Asked = {}): Promise<[status: number, word: string]> {
    const answer = await this.ask(path, asked);
    return [answer.status, (await answer.text()).split(/\s/)[0] ?? ""];
  }

  /** Claims the execution. */
  async claims(): Promise<this> {
    const answer = await this.ask("claim?host=node1&folder=/work");
    if (!answer.ok) throw new Error(await answer.text());
    await answer.body?.cancel();
    return this;
  }

  /** The path of an output of these bytes. */
  output(path: string, content: Uint8Array<ArrayBuffer>): string {
    return `outputs?path=${path}&size=${content.length}&sha256=${hash("sha256", content)}`;
  }

  /** Sends an output. Answers the status. */
  async put(path: string, content: Uint8Array<ArrayBuffer>): Promise<number> {
    const sent = { method: "PUT", body: content };
    return (await this.said(this.output(path, content), sent))[0];
  }
}
