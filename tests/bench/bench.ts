/**
 * What all parts of the benchmark work with: a folder, its processes, its data folders, and its table.
 *
 * @module
 */
import { COPIES_MAX, multiply } from "./copies.ts";
import { fill, type Filling } from "./prefill.ts";
import { run } from "./measuring.ts";
import { makeProject } from "./project.ts";
import type { Row } from "./table.ts";

/** What a data folder holds at first. Each has an ended run of the first trigger and of that with a token. */
export type Stock =
  /** One trigger. */
  | "empty"
  /** 1,000 triggers. */
  | "triggers"
  /** 10,000 triggers and as many ended runs as a service may have after years. */
  | "full"
  /** 10,000 triggers and as many deliveries of every outcome. */
  | "deliveries"
  /** As many triggers and deliveries as the command line says. */
  | "scale"
  /** Some runs that cleanup can remove while one waits. */
  | "expired";

/** More deliveries than this are copies of those that the store's functions make. */
const MADE_MAX = 1_000_000;

/** A data folder of one server's own; it is removed at the end of its scope. */
export interface DataFolder extends AsyncDisposable {
  path: string;
}

/** One run of the benchmark. */
export class Bench {
  /** How long a load is measured. */
  readonly seconds: number;
  /** How often figures and floors are measured in turn. */
  readonly rounds: number;
  /** Runs that the full data folder has. */
  readonly runs: number;
  readonly #stocks = new Map<Stock, Promise<string>>();
  readonly #children = new Set<Deno.ChildProcess>();
  readonly #resources = new Set<AsyncDisposable>();
  readonly #add: (row: Row) => void;
  #closed: Promise<void> | undefined;

  /**
   * @param folder everything is written below it
   * @param add takes each row when it is measured
   */
  constructor(
    readonly folder: string,
    readonly isQuick: boolean,
    add: (row: Row) => void,
    /** The numbers of records that `scale` stores first. */
    readonly scale: { deliveries: number; triggers: number } = { deliveries: 0, triggers: 1 },
  ) {
    this.seconds = isQuick ? 2 : 3;
    this.rounds = isQuick ? 1 : 4;
    this.runs = isQuick ? 20_000 : 1_000_000;
    this.#add = add;
  }

  /** Adds a row to the table. */
  add(row: Row): void {
    this.#add(row);
  }

  /** Starts a process that does not outlive the benchmark. */
  spawn(command: string, options: Deno.CommandOptions): Deno.ChildProcess {
    const child = new Deno.Command(command, options).spawn();
    this.own(child);
    return child;
  }

  /** Makes a process end with the benchmark. */
  own(child: Deno.ChildProcess): void {
    this.#children.add(child);
    child.status.finally(() => this.#children.delete(child));
  }

  /** Makes something end with the benchmark, if its scope has not ended before. */
  owned<T extends object>(resource: T & AsyncDisposable): T & AsyncDisposable {
    const owned = {
      ...resource,
      [Symbol.asyncDispose]: async () => {
        if (this.#resources.delete(owned)) await resource[Symbol.asyncDispose]();
      },
    };
    this.#resources.add(owned);
    return owned;
  }

  /** Makes a data folder of what a stock holds. */
  async data(stock: Stock): Promise<DataFolder> {
    const path = await Deno.makeTempDir({ dir: this.folder, prefix: "data-" });
    await run("cp", ["-a", "--reflink=auto", `${await this.stock(stock)}/.`, path]);
    // What is still to be written of the copy would be written while something is measured.
    await run("sync", ["-f", path]);
    return { path, [Symbol.asyncDispose]: () => Deno.remove(path, { recursive: true }) };
  }

  /** The folder that data folders of a stock are copied from; the first to ask makes it. */
  stock(stock: Stock): Promise<string> {
    const known = this.#stocks.get(stock) ?? this.#fill(stock);
    this.#stocks.set(stock, known);
    return known;
  }

  /** Ends all processes, and removes everything that was written. */
  close(): Promise<void> {
    return this.#closed ??= this.#close();
  }

  /** Whether it is over: what fails then has been ended. */
  get isClosed(): boolean {
    return this.#closed !== undefined;
  }

  async #close(): Promise<void> {
    const children = [...this.#children];
    for (const child of children) {
      try {
        child.kill("SIGKILL");
      } catch {
        // It has just ended by itself.
      }
    }
    await Promise.all(children.map(({ status }) => status));
    for (const resource of this.#resources) await resource[Symbol.asyncDispose]();
    // What was being measured may remove its own part of it at the same time.
    await run("rm", ["-rf", this.folder]);
  }

  async #fill(stock: Stock): Promise<string> {
    const path = `${this.folder}/${stock}`;
    const fillings: Record<Stock, Filling> = {
      empty: { triggers: 1, runs: 0 },
      triggers: { triggers: 1_000, runs: 0 },
      full: { triggers: 10_000, runs: this.runs },
      deliveries: { triggers: 10_000, runs: 0, deliveries: this.runs },
      scale: { runs: 0, ...this.scale },
      expired: { triggers: 100, runs: this.isQuick ? 2_000 : 20_000 },
    };
    const filling = fillings[stock];
    const times = Math.min(COPIES_MAX, Math.ceil((filling.deliveries ?? 0) / MADE_MAX));
    const deliveries = Math.ceil((filling.deliveries ?? 0) / Math.max(1, times));
    await fill(path, await makeProject(this.folder), { ...filling, deliveries });
    if (times > 1) await multiply(path, times);
    return path;
  }
}
