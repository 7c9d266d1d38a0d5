/**
 * A network of namespaces: one for each instance, for denokv, for an S3 server, and for a cluster with its agents. All
 * packets between them pass through `network/`, which loses, delays, doubles and reorders those that a rule says.
 *
 * @module
 */
import { eventually } from "../surroundings.ts";
import type { Place } from "../store/denokv.ts";
import type { ServeOptions } from "./served.ts";

export const INSTANCE_PORT = 8_000;
export const SLURM_PORT = 6_820;
export const BALANCER_PORT = 9_000;
const S3_PORT = 9_001;

const DENOKV = "denokv";
const S3 = "s3";
const CLUSTER = "cluster";
/** The address of the test itself, whose packets to instances always arrive. */
const SELF = "10.77.0.1";
const ADDRESSES: Readonly<Record<string, string>> = {
  [DENOKV]: "10.77.0.2",
  [S3]: "10.77.0.3",
  [CLUSTER]: "10.77.0.4",
};
const INSTANCE_ADDRESSES = "10.77.0.1";
const CREDENTIALS = { id: "test-key", secret: "test-secret" };
const TOOLS = 'PATH="$PATH:/usr/sbin:/sbin:${XDG_CACHE_HOME:-$HOME/.cache}/hooklaunch/bin";';
/** Debian's package faketime. */
const FAKETIME = "/usr/lib/$(uname -m)-linux-gnu/faketime/libfaketimeMT.so.1";

/**
 * Faults of the packets in one direction. Probabilities are from 0 to 1. Packets with jitter may arrive in another
 * order.
 */
export interface Rule {
  loss?: number;
  duplicate?: number;
  delay_ms?: number;
  jitter_ms?: number;
}

/** The network with its S3 server and its cluster. */
export class Network implements AsyncDisposable {
  readonly #folder: string;
  readonly #passing: Deno.ChildProcess;
  readonly #input: WritableStreamDefaultWriter<Uint8Array>;
  readonly #output: AsyncIterator<string>;
  readonly #children: Deno.ChildProcess[] = [];
  readonly #bad = new Map<string, { from: string; to: string }>();
  readonly #hasClocks: boolean;
  readonly instances: number;

  private constructor(
    folder: string,
    { seed, instances, hasClocks }: { seed: number; instances: number; hasClocks: boolean },
  ) {
    this.#folder = folder;
    this.#hasClocks = hasClocks;
    this.instances = instances;
    const places = [
      `=${SELF}`,
      ...Object.entries(ADDRESSES).map(([name, address]) => `${name}=${address}`),
      ...Array.from({ length: instances }, (_, index) => `${nameOf(index)}=${addressOf(index)}`),
    ];
    this.#passing = spawn(`${TOOLS} exec lossy-network -seed ${seed} ${places.join(" ")}`);
    this.#input = this.#passing.stdin.getWriter();
    this.#output = linesOf(this.#passing);
  }

  /**
   * Makes the network, and starts what is not of the instances.
   *
   * @param folder an empty folder
   */
  static async start(folder: string, options: { seed: number; instances: number }) {
    const { success: hasClocks } = await new Deno.Command("sh", {
      args: ["-c", `[ -e ${FAKETIME} ]`],
    }).output();
    const network = new Network(folder, { ...options, hasClocks });
    await network.#expect("ready");
    for (const each of ["s3", "s3/bucket", "jobs"]) await Deno.mkdir(`${folder}/${each}`);
    for (let index = 0; index < options.instances; index++) await network.#setClock(index, 0);
    const { id, secret } = CREDENTIALS;
    const rclone = `rclone serve s3 --config /dev/null --auth-key ${id},${secret}`;
    network.#serve(S3, `${rclone} --addr ${ADDRESSES[S3]}:${S3_PORT} '${folder}/s3'`);
    const module = new URL("network_cluster.ts", import.meta.url).pathname;
    const addresses = Array.from({ length: options.instances }, (_, index) => addressOf(index));
    const cluster = [ADDRESSES[CLUSTER], `'${folder}/jobs'`, ...addresses].join(" ");
    const child = network.#serve(
      CLUSTER,
      `'${Deno.execPath()}' run --no-lock --quiet --allow-all '${module}' ${cluster}`,
    );
    const { value } = await linesOf(child).next();
    if (value !== "ready") throw new Error("The cluster has not started");
    return network;
  }

  /** True where instances can have clocks of their own. */
  get hasClocks(): boolean {
    return this.#hasClocks;
  }

  /** The namespace of the database. */
  get database(): Place {
    return { within: within(DENOKV), host: ADDRESSES[DENOKV] ?? "" };
  }

  /** The engine of a project whose commands run at the cluster. */
  get engine(): Record<string, unknown> {
    const url = `http://${ADDRESSES[CLUSTER]}:${SLURM_PORT}`;
    return { type: "slurm", url, user: "test", token: "{env:CLUSTER_TOKEN}", folder: this.#folder };
  }

  /** The options of an instance. */
  optionsOf(index: number): Pick<ServeOptions, "within" | "flags" | "env"> {
    const s3 = encodeURIComponent(`http://${ADDRESSES[S3]}:${S3_PORT}`);
    const preload = `LD_PRELOAD=${FAKETIME.replace("$(uname -m)", Deno.build.arch)}`;
    const clock = [
      "env",
      preload,
      `FAKETIME_TIMESTAMP_FILE=${this.#clockOf(index)}`,
      "FAKETIME_DONT_FAKE_MONOTONIC=1",
      "FAKETIME_CACHE_DURATION=1",
    ];
    return {
      within: [...within(nameOf(index)), ...this.#hasClocks ? clock : []],
      flags: [
        ...["--host", addressOf(index), "--port", String(INSTANCE_PORT)],
        ...["--trusted-proxy", SELF, "--trusted-proxy", ADDRESSES[CLUSTER] ?? ""],
        ...["--agent-url", `http://${ADDRESSES[CLUSTER]}:${BALANCER_PORT}`, "--agent-http"],
        ...["--storage", `s3://bucket/artifacts?endpoint=${s3}&region=us-east-1`],
      ],
      env: {
        AWS_ACCESS_KEY_ID: CREDENTIALS.id,
        AWS_SECRET_ACCESS_KEY: CREDENTIALS.secret,
        CLUSTER_TOKEN: "test",
      },
    };
  }

  /** Sets what packets from an instance meet, and those to it where a second rule is given. */
  async set(index: number, to: string | number, [there, back]: readonly [Rule, Rule?]) {
    const [from, other] = [nameOf(index), typeof to === "number" ? nameOf(to) : to];
    await this.#rule(from, other, there);
    if (back) await this.#rule(other, from, back);
  }

  /** Lets all packets arrive again. */
  async heal(): Promise<void> {
    for (const { from, to } of [...this.#bad.values()]) await this.#rule(from, to, {});
    this.#bad.clear();
  }

  /** Sets the wall clock of an instance so far from that of the machine. */
  async setClock(index: number, ahead_s: number): Promise<void> {
    if (this.#hasClocks) await this.#setClock(index, ahead_s);
  }

  /** Ends the network, and returns what became of its packets. */
  async end(): Promise<string> {
    await this.#input.close();
    const { value } = await this.#output.next();
    await this.#passing.status;
    return value;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.#children) child.kill("SIGKILL");
    await Promise.all(this.#children.map(({ status }) => status));
  }

  async #rule(from: string, to: string, rule: Rule): Promise<void> {
    this.#bad.set(`${from} ${to}`, { from, to });
    await this.#input.write(new TextEncoder().encode(`${JSON.stringify({ from, to, ...rule })}\n`));
    await this.#expect("ok");
  }

  async #expect(line: string): Promise<void> {
    const { value } = await this.#output.next();
    if (value !== line) throw new Error(`Expected ${line} from lossy-network, found ${value}`);
  }

  #clockOf(index: number): string {
    return `${this.#folder}/clock-${index}`;
  }

  async #setClock(index: number, ahead_s: number): Promise<void> {
    const path = this.#clockOf(index);
    await Deno.writeTextFile(`${path}.new`, `${ahead_s < 0 ? "" : "+"}${ahead_s}\n`);
    await Deno.rename(`${path}.new`, path);
  }

  #serve(name: string, command: string): Deno.ChildProcess {
    const child = spawn(`${TOOLS} exec ${within(name).join(" ")} ${command}`);
    this.#children.push(child);
    return child;
  }
}

/** The other ends of the links that can fail: the database, the S3 server, and the cluster with its agents. */
export const LINKED = [DENOKV, S3, CLUSTER] as const;

/** Waits until the S3 server answers within its namespace. */
export async function untilS3(): Promise<void> {
  const hostname = ADDRESSES[S3] ?? "";
  await eventually(async () => {
    using connection = await Deno.connect({ hostname, port: S3_PORT }).catch(() => undefined);
    return connection && true;
  }, { what: "the S3 server" });
}

function nameOf(index: number): string {
  return `instance${index}`;
}

function addressOf(index: number): string {
  return `${INSTANCE_ADDRESSES}${index}`;
}

function within(name: string): string[] {
  return ["ip", "netns", "exec", name];
}

function spawn(command: string): Deno.ChildProcess {
  return new Deno.Command("sh", {
    args: ["-c", command],
    stdin: "piped",
    stdout: "piped",
    stderr: "null",
  }).spawn();
}

async function* linesOf({ stdout }: Deno.ChildProcess): AsyncGenerator<string, string> {
  let text = "";
  for await (const more of stdout.pipeThrough(new TextDecoderStream())) {
    const lines = (text + more).split("\n");
    text = lines.pop() ?? "";
    yield* lines;
  }
  return "its end";
}
