/**
 * What the tests of the contract work with.
 *
 * @module
 */
import { assert } from "@std/assert";
import { join } from "node:path";
import type { Engine } from "../../src/engines/engine.ts";
import { type Execution, hasEnded } from "../../src/store/records/executions.ts";
import { type EngineParts, EngineService, until } from "./service.ts";
import { isLong, PATIENCE_MS } from "./../surroundings.ts";

/** What a contract is tested with. */
export interface ContractOptions {
  /** Makes an engine that runs one or more executions at once. */
  makeEngine(parts: EngineParts & { executionsMax: number }): Engine;
  /** What executions have in common, such as the image. */
  fields: Partial<Execution>;
  /** Whether this machine cannot run it. */
  ignore?: boolean;
  /** True when one execution takes long: the suite then runs what differs by the way in which commands are run. */
  isSlow?: boolean;
  /**
   * True for a real cluster: the suite then runs what differs from a cluster that a test plays. The agent and what it
   * reports are the same.
   */
  isCluster?: boolean;
  /** True for containers: the suite then runs that, and how they are stopped and found again. */
  isContainer?: boolean;
  /** Ends what an engine has left in a data folder. */
  end?(dataFolder: string): Promise<void>;
}

/** Settings of a local engine: not to wait for long, nor to be too quick for a busy machine. */
export const CONTRACT_SETTINGS = { poll_ms: 20, grace_ms: 8_000 };

/** A checkout for the engines: a repository with one file. */
export async function checkoutOfContract(
  _project: string,
  _commit: string,
  destination: string,
): Promise<void> {
  await Deno.mkdir(destination);
  await Deno.writeTextFile(join(destination, "code.txt"), "the code\n");
}

/** A service on the engine that is tested. */
export class ContractService extends EngineService<Engine> {
  readonly #options: ContractOptions;
  readonly #executionsMax: number;

  constructor(folder: string, options: ContractOptions, executionsMax: number) {
    super(folder);
    this.#options = options;
    this.#executionsMax = executionsMax;
  }

  protected override makeEngine(parts: EngineParts): Engine {
    return this.#options.makeEngine({ ...parts, executionsMax: this.#executionsMax });
  }

  protected override get fields(): Partial<Execution> {
    return this.#options.fields;
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    await this.close(PATIENCE_MS);
    await this.#options.end?.(join(this.folder, "data"));
    await super[Symbol.asyncDispose]();
  }

  /** True where a few of many cases that are alike are enough: each is a container, or a job of a real cluster. */
  get isSparing(): boolean {
    const { isCluster, isContainer, isSlow } = this.#options;
    return !isLong && [isCluster, isContainer, isSlow].includes(true);
  }

  /** Waits until an execution has printed a line. */
  async said(id: string, line: string): Promise<void> {
    await until(async () => {
      const { status, reason } = await this.record(id);
      if ((await this.printed(id, "stdout")).includes(line)) return true;
      assert(!hasEnded(status), `It ended without "${line}": ${reason}`);
      return false;
    });
  }

  /** What is in an output; undefined when there is none. */
  async output(id: string, path: string): Promise<string | undefined> {
    const output = await this.engine.output(id, path);
    return output === undefined ? undefined : await new Response(output.stream).text();
  }
}

/** One test of the contract. */
export interface Case {
  name: string;
  /** True when it belongs to the short form of the contract: what each way of running commands does by itself. */
  isShort?: boolean;
  /** True when the short form on a real cluster has it, too. */
  isOnClusters?: boolean;
  /** True when the short form for containers has it. */
  isOnContainers?: boolean;
  /** How many executions run at once. Default 2. */
  executionsMax?: number;
  test(service: ContractService): Promise<void>;
}
