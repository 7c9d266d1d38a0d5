/** An S3 server of rclone on a folder, and a proxy before it that fails as a test wants. */
import { has } from "../needs.ts";
import { eventually, freePort } from "../surroundings.ts";
import { S3Store } from "../../src/artifacts/s3/mod.ts";
import type { S3Location } from "../../src/artifacts/s3/location.ts";

/** True where no S3 server can be started. */
export const hasNoS3 = !has("rclone");

export const CREDENTIALS = { accessKeyId: "test-key", secretAccessKey: "test-secret" };

/** How the proxy treats requests: it passes them on, answers with a status, hangs, or cuts answers. */
export type Mode = "pass" | "hang" | "cut" | 403 | 500 | 503 | 507;

/** A server on a folder of its own, whose buckets are folders. */
export class S3Server implements AsyncDisposable {
  readonly folder = Deno.makeTempDirSync();
  readonly #listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  readonly #connections = new Set<Deno.Conn>();
  readonly #served: Promise<void>;
  #child: Deno.ChildProcess | undefined;
  #port = 0;
  #mode: Mode = "pass";
  /** Requests that were answered by the proxy itself. */
  failed = 0;

  private constructor() {
    this.#served = this.#serve();
  }

  static async start(): Promise<S3Server> {
    const server = new S3Server();
    Deno.mkdirSync(`${server.folder}/bucket`);
    await server.begin();
    return server;
  }

  /** Starts the server itself. */
  async begin(): Promise<void> {
    const { accessKeyId, secretAccessKey } = CREDENTIALS;
    this.#port = freePort();
    const script = 'PATH="$PATH:${XDG_CACHE_HOME:-$HOME/.cache}/hooklaunch/bin"; ' +
      'exec rclone serve s3 --config /dev/null --auth-key "$1" --addr "$2" "$3"';
    this.#child = new Deno.Command("sh", {
      args: [
        "-c",
        script,
        "sh",
        `${accessKeyId},${secretAccessKey}`,
        `127.0.0.1:${this.#port}`,
        this.folder,
      ],
      stdout: "null",
      stderr: "null",
    }).spawn();
    await eventually(async () => {
      using connection = await Deno.connect({ hostname: "127.0.0.1", port: this.#port })
        .catch(() => undefined);
      return connection && true;
    });
  }

  /** Kills the server itself. */
  async kill(): Promise<void> {
    this.#child?.kill("SIGKILL");
    await this.#child?.status;
    this.#child = undefined;
    this.#closeConnections();
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#listener.addr as Deno.NetAddr).port}`;
  }

  get location(): S3Location {
    return { endpoint: this.url, bucket: "bucket", prefix: "some prefix/", region: "us-east-1" };
  }

  /** The setting `storage` of a service. */
  get storage(): string {
    return `s3://bucket/some%20prefix?endpoint=${encodeURIComponent(this.url)}&region=us-east-1`;
  }

  /** Sets how requests are treated from now on. */
  set mode(mode: Mode) {
    this.#mode = mode;
    this.#closeConnections();
  }

  /** A store in the bucket. */
  store(times = { patience_ms: 2_000, pause_ms: 10, answer_ms: 2_000 }): S3Store {
    return new S3Store({ location: this.location, credentials: CREDENTIALS, times });
  }

  /** The paths of all files in the bucket. */
  files(path = `${this.folder}/bucket`): string[] {
    return Array.from(Deno.readDirSync(path)).flatMap(({ name, isDirectory }) => {
      const full = `${path}/${name}`;
      return isDirectory ? this.files(full) : [full.slice(`${this.folder}/bucket/`.length)];
    }).sort();
  }

  async [Symbol.asyncDispose]() {
    this.#listener.close();
    await this.kill();
    await this.#served;
    await Deno.remove(this.folder, { recursive: true });
  }

  #closeConnections(): void {
    for (const connection of this.#connections) {
      try {
        connection.close();
      } catch {
        // The other side has closed it.
      }
    }
    this.#connections.clear();
  }

  async #serve(): Promise<void> {
    try {
      for await (const client of this.#listener) {
        this.#connections.add(client);
        this.#handle(client).catch(() => {}).finally(() => {
          this.#connections.delete(client);
          try {
            client.close();
          } catch {
            // It is closed.
          }
        });
      }
    } catch {
      // The test is over.
    }
  }

  async #handle(client: Deno.Conn): Promise<void> {
    const mode = this.#mode;
    const buffer = new Uint8Array(64 * 1024);
    if (typeof mode === "number") {
      await client.read(buffer);
      this.failed++;
      const body = `<Error><Code>Failing</Code><Message>as the test wants</Message></Error>`;
      const head =
        `HTTP/1.1 ${mode} Failing\r\nconnection: close\r\ncontent-length: ${body.length}`;
      await client.write(new TextEncoder().encode(`${head}\r\n\r\n${body}`));
      return;
    }
    if (mode === "hang") {
      this.failed++;
      while (await client.read(buffer) !== null);
      return;
    }
    using server = await Deno.connect({ hostname: "127.0.0.1", port: this.#port });
    const sending = client.readable.pipeTo(server.writable, { preventClose: true });
    if (mode === "cut") {
      this.failed++;
      sending.catch(() => {});
      const read = await server.read(buffer) ?? 0;
      await client.write(buffer.subarray(0, Math.max(0, read - 1)));
      return;
    }
    await Promise.allSettled([sending, server.readable.pipeTo(client.writable)]);
  }
}
