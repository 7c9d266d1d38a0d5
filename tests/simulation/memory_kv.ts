/**
 * A Deno KV in memory, as much of it as the store uses: versionstamps, checks, snapshots of single reads, and
 * no expiry. Whoever connects to it decides when each call takes effect and when it is answered.
 *
 * @module
 */

/** One call of a database: `execute` does it, at one moment. */
export type Call = <T>(label: string, execute: () => T) => Promise<T>;

/** A commit on its way. */
export interface SentCommit {
  checks: readonly Deno.AtomicCheck[];
  mutations: readonly Mutation[];
  messages: readonly unknown[];
}

/** A change of one key: deletes it where `value` is absent. */
export interface Mutation {
  key: Deno.KvKey;
  value?: { is: unknown };
}

type CommitResult = Deno.KvCommitResult | Deno.KvCommitError;

interface Entry {
  key: Deno.KvKey;
  value: unknown;
  versionstamp: string;
}

const BATCH_SIZE = 100;

/** What is stored. */
export class MemoryDatabase {
  /** In the order of their keys. */
  #order: string[] = [];
  readonly #entries = new Map<string, Entry>();
  #commits = 0;
  /** Called for each mutation that is stored. */
  onMutation: (mutation: Mutation, versionstamp: string) => void = () => {};

  /** Reads a value at this moment. */
  get(key: Deno.KvKey): Deno.KvEntryMaybe<unknown> {
    const entry = this.#entries.get(encoded(key));
    if (entry === undefined) return { key, value: null, versionstamp: null };
    return { ...entry, value: structuredClone(entry.value) };
  }

  /** Reads entries from one encoded key to another at this moment. */
  range({ from, to, limit, reverse }: Range): { entry: Deno.KvEntry<unknown>; at: string }[] {
    let [low, high] = [indexOf(this.#order, from), indexOf(this.#order, to)];
    if (high - low > limit) reverse ? low = high - limit : high = low + limit;
    const found = this.#order.slice(low, high);
    return (reverse ? found.reverse() : found).flatMap((at) => {
      const entry = this.#entries.get(at);
      return entry ? [{ at, entry: { ...entry, value: structuredClone(entry.value) } }] : [];
    });
  }

  /** Stores a commit, if what it checks is so. */
  commit({ checks, mutations }: SentCommit): CommitResult {
    const isAsChecked = checks.every(({ key, versionstamp }) =>
      (this.#entries.get(encoded(key))?.versionstamp ?? null) === versionstamp
    );
    if (!isAsChecked) return { ok: false };
    const versionstamp = (++this.#commits).toString(16).padStart(20, "0");
    for (const mutation of mutations) {
      const { key, value } = mutation;
      const at = encoded(key);
      if (value === undefined) {
        if (this.#entries.delete(at)) this.#order.splice(indexOf(this.#order, at), 1);
      } else {
        if (!this.#entries.has(at)) this.#order.splice(indexOf(this.#order, at), 0, at);
        this.#entries.set(at, { key, value: value.is, versionstamp });
      }
      this.onMutation(mutation, versionstamp);
    }
    return { ok: true, versionstamp };
  }
}

interface Range {
  from: string;
  to: string;
  limit: number;
  reverse: boolean;
}

/** A connection to a {@linkcode MemoryDatabase}. */
export class MemoryKv implements Pick<Deno.Kv, "get" | "getMany" | "list" | "atomic" | "close"> {
  readonly #database: MemoryDatabase;
  readonly #call: Call;
  readonly #send: (commit: SentCommit) => Promise<CommitResult>;

  /** @param send stores a commit; it may do so late, twice, or not at all */
  constructor(
    database: MemoryDatabase,
    call: Call = (_label, execute) => Promise.resolve(execute()),
    send: (commit: SentCommit) => Promise<CommitResult> = (commit) =>
      call("commit", () => database.commit(commit)),
  ) {
    this.#database = database;
    this.#call = call;
    this.#send = send;
  }

  /** This connection as the store takes it. */
  get kv(): Deno.Kv {
    // The store uses no other methods.
    return this as unknown as Deno.Kv;
  }

  get<T>(key: Deno.KvKey): Promise<Deno.KvEntryMaybe<T>> {
    // Whoever reads says what it expects, as with Deno KV.
    return this.#call(
      `get ${key.join("/")}`,
      () => this.#database.get(key) as Deno.KvEntryMaybe<T>,
    );
  }

  getMany<T extends readonly unknown[]>(
    many: readonly [...{ [K in keyof T]: Deno.KvKey }],
  ): Promise<{ [K in keyof T]: Deno.KvEntryMaybe<T[K]> }> {
    const execute = () => many.map((key) => this.#database.get(key));
    return this.#call(
      `get ${many.map((key) => key.join("/"))}`,
      () => execute() as { [K in keyof T]: Deno.KvEntryMaybe<T[K]> },
    );
  }

  list<T>(selector: Deno.KvListSelector, options: Deno.KvListOptions = {}): Deno.KvListIterator<T> {
    let { cursor = "" } = options;
    const entries = this.#list<T>(selector, { ...options, cursor }, (at) => cursor = at);
    return {
      get cursor() {
        return cursor;
      },
      next: () => entries.next(),
      [Symbol.asyncIterator]: () => entries,
    };
  }

  async *#list<T>(
    selector: Deno.KvListSelector,
    { limit = Infinity, batchSize = BATCH_SIZE, reverse = false, cursor = "" }: Deno.KvListOptions,
    onEntry: (at: string) => void,
  ): AsyncGenerator<Deno.KvEntry<T>, undefined> {
    let { from, to } = rangeOf(selector);
    const goOn = (last: string) => {
      if (reverse) to = last;
      else from = `${last}\0`;
    };
    if (cursor !== "") goOn(cursor);
    for (let left = limit; left > 0;) {
      const range = { from, to, limit: Math.min(left, batchSize), reverse };
      const batch = await this.#call(
        `list ${labelOf(selector)}`,
        () => this.#database.range(range),
      );
      for (const { at, entry } of batch) {
        onEntry(at);
        yield entry as Deno.KvEntry<T>;
      }
      if (batch.length < range.limit) return;
      left -= batch.length;
      goOn(batch.at(-1)?.at ?? "");
    }
  }

  atomic(): Deno.AtomicOperation {
    const checks: Deno.AtomicCheck[] = [];
    const mutations: Mutation[] = [];
    const messages: unknown[] = [];
    const operation = {
      check(...more: Deno.AtomicCheck[]) {
        checks.push(...more.map(({ key, versionstamp }) => ({ key, versionstamp })));
        return operation;
      },
      set(key: Deno.KvKey, value: unknown) {
        mutations.push({ key, value: { is: structuredClone(value) } });
        return operation;
      },
      delete(key: Deno.KvKey) {
        mutations.push({ key });
        return operation;
      },
      enqueue(message: unknown) {
        messages.push(message);
        return operation;
      },
      commit: () => this.#send({ checks, mutations, messages }),
    };
    // The store uses no other methods.
    return operation as unknown as Deno.AtomicOperation;
  }

  close(): void {}
}

function labelOf(selector: Deno.KvListSelector): string {
  return ("prefix" in selector ? selector.prefix : selector.start).join("/");
}

function rangeOf(selector: Deno.KvListSelector): { from: string; to: string } {
  const from = "start" in selector ? encoded(selector.start) : undefined;
  const to = "end" in selector ? encoded(selector.end) : undefined;
  // Each further part begins with a byte between these.
  const prefix = "prefix" in selector ? encoded(selector.prefix) : "";
  return { from: from ?? `${prefix}\0`, to: to ?? `${prefix}\xff` };
}

/** The place of the first key that is not before another. */
function indexOf(order: readonly string[], at: string): number {
  let [low, high] = [0, order.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((order[middle] ?? "") < at) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** A key as a string whose characters are bytes that sort as Deno KV sorts keys. */
export function encoded(key: Deno.KvKey): string {
  return key.map(encodedPart).join("");
}

function encodedPart(part: Deno.KvKeyPart): string {
  if (typeof part === "string") return `\x02${terminated(new TextEncoder().encode(part))}`;
  if (typeof part === "boolean") return part ? "\x27" : "\x26";
  if (typeof part === "number") return `\x21${encodedNumber(part)}`;
  if (part instanceof Uint8Array) return `\x01${terminated(part)}`;
  throw new RangeError(`Cannot encode a key part of type ${typeof part}: the store uses none`);
}

function terminated(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += byte === 0 ? "\0\xff" : String.fromCharCode(byte);
  return `${text}\0`;
}

/** The bytes of a double, changed so that they sort as numbers do. */
function encodedNumber(value: number): string {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, value);
  const isNegative = view.getUint8(0) >= 0x80;
  let text = "";
  for (let index = 0; index < 8; index++) {
    const byte = view.getUint8(index);
    const flipped = isNegative ? byte ^ 0xff : index === 0 ? byte ^ 0x80 : byte;
    text += String.fromCharCode(flipped);
  }
  return text;
}
