/**
 * A remote Deno KV in memory: as much of KV Connect (github.com/denoland/denokv, proto/kv-connect.md) as
 * Deno asks of one where there are no queues, and with the limits of the denokv server.
 *
 * @module
 */
import protobuf from "protobufjs";

/** What a client has to show; Deno reads it from this variable. */
export const KV_TOKEN = { name: "DENO_KV_ACCESS_TOKEN", value: "token-of-the-tests" };

const READ_RANGES_MAX = 10;
const READ_ENTRIES_MAX = 1_000;
const CHECKS_MAX = 10;
const MUTATIONS_MAX = 1_000;
const VALUE_BYTES_MAX = 65_536;
const WRITE_BYTES_MAX = 819_200;

const { root } = protobuf.parse(
  `
  syntax = "proto3";
  message SnapshotRead { repeated ReadRange ranges = 1; }
  message ReadRange { bytes start = 1; bytes end = 2; int32 limit = 3; bool reverse = 4; }
  message SnapshotReadOutput {
    repeated ReadRangeOutput ranges = 1;
    bool read_is_strongly_consistent = 4;
    int32 status = 8;
  }
  message ReadRangeOutput { repeated KvEntry values = 1; }
  message KvEntry { bytes key = 1; bytes value = 2; int32 encoding = 3; bytes versionstamp = 4; }
  message AtomicWrite { repeated Check checks = 1; repeated Mutation mutations = 2; }
  message Check { bytes key = 1; bytes versionstamp = 2; }
  message Mutation { bytes key = 1; KvValue value = 2; int32 mutation_type = 3; }
  message KvValue { bytes data = 1; int32 encoding = 2; }
  message AtomicWriteOutput { int32 status = 1; bytes versionstamp = 2; }
`,
  { keepCase: true },
);

const SUCCESS = 1;
const CHECK_FAILURE = 2;
const SET = 1;

interface SnapshotRead {
  ranges: { start: Uint8Array; end: Uint8Array; limit: number; reverse: boolean }[];
}

interface AtomicWrite {
  checks: { key: Uint8Array; versionstamp: Uint8Array }[];
  mutations: { key: Uint8Array; mutation_type: number; value?: StoredValue }[];
}

interface StoredValue {
  data: Uint8Array;
  encoding: number;
}

/** Numbers of reads and writes, by the first part of the key. */
export interface Counts {
  reads: Map<string, number>;
  writes: Map<string, number>;
}

/** A client's way to a remote Deno KV. */
export interface Way {
  url: string;
  /** Numbers of the keys and ranges that the client has read, and of its writes, by the first part of the key. */
  counts: Counts;
  /** Whether nothing gets through. */
  isClosed: boolean;
  /** True while what is asked gets no answer, until all ends. */
  isSilent: boolean;
  /** Requests that get no answer. */
  unanswered: number;
  /** True when no commit gets through, and reads do. */
  isReadOnly: boolean;
  /** After how many more commits it closes. */
  commitsLeft: number;
  /** The answers of how many more commits are lost, though these are stored. */
  answersLost: number;
  /** Lets those come once more that have lost their answers, as if they had been held up on the way. */
  lateWrites: (() => Promise<Response>)[];
}

/** A remote Deno KV. */
export class RemoteKv implements AsyncDisposable {
  /** By the key in hex, which sorts as its bytes do. */
  readonly #entries = new Map<string, StoredValue & { versionstamp: Uint8Array }>();
  readonly #ways: Deno.HttpServer[] = [];
  readonly #ending = Promise.withResolvers<void>();
  #commits = 0;

  /** A way to it of one client's own. */
  way(): Way {
    const options = { hostname: "127.0.0.1", port: 0, onListen() {} };
    const server = Deno.serve(options, async (request) => {
      const isWrite = request.url.endsWith("/atomic_write");
      if (way.isSilent) {
        way.unanswered++;
        await this.#ending.promise;
      }
      if (way.isClosed || way.isReadOnly && isWrite) return new Response(null, { status: 503 });
      const again = request.clone();
      const answer = await this.#answer(request, way.counts);
      if (!isWrite) return answer;
      if (--way.commitsLeft === 0) way.isClosed = true;
      if (way.answersLost === 0) return answer;
      way.answersLost--;
      way.lateWrites.push(() => this.#answer(again));
      return new Response(null, { status: 503 });
    });
    const url = `http://127.0.0.1:${server.addr.port}`;
    const way: Way = {
      url,
      counts: { reads: new Map(), writes: new Map() },
      isClosed: false,
      isSilent: false,
      unanswered: 0,
      isReadOnly: false,
      commitsLeft: Infinity,
      answersLost: 0,
      lateWrites: [],
    };
    this.#ways.push(server);
    return way;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ending.resolve();
    await Promise.all(this.#ways.map((server) => server.shutdown()));
  }

  async #answer(request: Request, counts?: Way["counts"]): Promise<Response> {
    const bytes = await request.bytes();
    if (request.headers.get("authorization") !== `Bearer ${KV_TOKEN.value}`) {
      return new Response("wrong token", { status: 401 });
    }
    const { pathname } = new URL(request.url);
    if (pathname === "/") return this.#metadata();
    try {
      const isRead = pathname === "/v2/snapshot_read";
      const read = isRead ? decoded<SnapshotRead>("SnapshotRead", bytes) : undefined;
      const write = isRead ? undefined : decoded<AtomicWrite>("AtomicWrite", bytes);
      for (const { start } of read?.ranges ?? []) count(counts?.reads, start);
      for (const { key } of write?.mutations ?? []) count(counts?.writes, key);
      const answer = read ? this.#read(read) : this.#write(write ?? { checks: [], mutations: [] });
      return new Response(answer, { headers: { "content-type": "application/x-protobuf" } });
    } catch (error) {
      return new Response(String(error), { status: 400 });
    }
  }

  #metadata(): Response {
    return Response.json({
      version: 3,
      databaseId: "00000000-0000-4000-8000-000000000000",
      endpoints: [{ url: "/v2", consistency: "strong" }],
      token: KV_TOKEN.value,
      expiresAt: new Date(Date.now() + 3_600_000).toISOString(),
    });
  }

  #read({ ranges }: SnapshotRead): Uint8Array<ArrayBuffer> {
    atMost("ranges", ranges.length, READ_RANGES_MAX);
    const keys = [...this.#entries.keys()].sort();
    const found = ranges.map(({ start, end, limit, reverse }) => {
      const [from, to] = [start.toHex(), end.toHex()];
      const inRange = keys.filter((key) => key >= from && key < to);
      return (reverse ? inRange.reverse() : inRange).slice(0, limit);
    });
    atMost("entries", found.flat().length, READ_ENTRIES_MAX);
    return encoded("SnapshotReadOutput", {
      ranges: found.map((keys) => ({ values: keys.map((key) => this.#entry(key)) })),
      read_is_strongly_consistent: true,
      status: SUCCESS,
    });
  }

  #entry(key: string) {
    const { data: value, encoding, versionstamp } = this.#entries.get(key) ?? {};
    return { key: Uint8Array.fromHex(key), value, encoding, versionstamp };
  }

  #write({ checks, mutations }: AtomicWrite): Uint8Array<ArrayBuffer> {
    atMost("checks", checks.length, CHECKS_MAX);
    atMost("mutations", mutations.length, MUTATIONS_MAX);
    const sizes = mutations.map(({ key, value }) => key.length + (value?.data.length ?? 0));
    atMost("bytes", sizes.reduce((sum, size) => sum + size, 0), WRITE_BYTES_MAX);
    const isAsChecked = checks.every(({ key, versionstamp }) => {
      const stored = this.#entries.get(key.toHex())?.versionstamp ?? new Uint8Array();
      return stored.toHex() === versionstamp.toHex();
    });
    if (!isAsChecked) return encoded("AtomicWriteOutput", { status: CHECK_FAILURE });
    const versionstamp = Uint8Array.fromHex((++this.#commits).toString(16).padStart(20, "0"));
    for (const { key, value, mutation_type } of mutations) {
      if (mutation_type === SET && value) {
        atMost("bytes of a value", value.data.length, VALUE_BYTES_MAX);
        this.#entries.set(key.toHex(), { ...value, versionstamp });
      } else this.#entries.delete(key.toHex());
    }
    return encoded("AtomicWriteOutput", { status: SUCCESS, versionstamp });
  }
}

/** Counts a key by its first part, which Deno encodes as 2, its text, and 0. */
function count(counts: Map<string, number> | undefined, key: Uint8Array): void {
  const name = new TextDecoder().decode(key.subarray(1, key.indexOf(0)));
  counts?.set(name, (counts.get(name) ?? 0) + 1);
}

function decoded<T>(name: string, bytes: Uint8Array): T {
  const type = root.lookupType(name);
  const options = { defaults: true, arrays: true };
  return type.toObject(type.decode(bytes), options) as T;
}

function encoded(name: string, value: object): Uint8Array<ArrayBuffer> {
  const type = root.lookupType(name);
  return new Uint8Array(type.encode(type.fromObject(value)).finish());
}

function atMost(what: string, count: number, most: number): void {
  if (count > most) throw new RangeError(`${count} ${what}, at most ${most}`);
}
