/**
 * The denokv server as a process of its own, and a way to it that delays, cuts and loses answers.
 *
 * @module
 */
import { eventually } from "../surroundings.ts";
import { KV_TOKEN } from "./kv_connect.ts";

/** A denokv server that runs. */
export interface DenoKvServer extends AsyncDisposable {
  readonly port: number;
  readonly url: string;
  signal(signal: Deno.Signal): void;
  /** Kills it, and starts it again at the same port with what it has stored. */
  restart(): Promise<void>;
}

/** Where a process runs. */
export interface Place {
  /** The beginning of its command, such as that which enters a network namespace. */
  within: readonly string[];
  /** The address that it listens on. */
  host: string;
}

const HERE: Place = { within: [], host: "127.0.0.1" };

/** Starts a server of its own on a database in a folder. */
export async function denokv(
  folder: string,
  { within, host }: Place = HERE,
): Promise<DenoKvServer> {
  let starts = 0;
  const start = async (port: number) => {
    const log = `${folder}/denokv.${starts++}.log`;
    const options = `serve --addr ${host}:${port} --access-token`.split(" ");
    const command = `exec ${within.join(" ")} denokv --sqlite-path "$0" "$@" >${log} 2>&1`;
    const child = new Deno.Command("sh", {
      args: ["-c", command, `${folder}/kv.sqlite`, ...options, KV_TOKEN.value],
    }).spawn();
    const found = await eventually(async () => {
      const text = await Deno.readTextFile(log).catch(() => "");
      return /Listening on http:\/\/[\d.]+:(\d+)/.exec(text)?.[1];
    }, { what: "denokv listening" });
    return { child, port: Number(found) };
  };
  let { child, port } = await start(0);
  const kill = async () => {
    child.kill("SIGKILL");
    await child.status;
  };
  return {
    port,
    url: `http://${host}:${port}`,
    signal: (signal) => child.kill(signal),
    async restart() {
      await kill();
      ({ child } = await start(port));
    },
    [Symbol.asyncDispose]: kill,
  };
}

/** A way to a server whose connections can fail. */
export interface FaultyWay extends AsyncDisposable {
  readonly url: string;
  /** The delay of each answer. */
  delay_ms: number;
  /** Set to lose the next answers: their connections end instead. */
  losing: number;
  /** True while what comes from either side is lost, and connections stay open. Cut them at its end. */
  isSilent: boolean;
  /** Ends all connections. */
  cut(): void;
}

async function writeAll(to: Deno.Conn, bytes: Uint8Array): Promise<void> {
  for (let written = 0; written < bytes.length;) written += await to.write(bytes.subarray(written));
}

/** Opens a way to a server on this machine. */
export function faultyWay(target: number): FaultyWay {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const open = new Set<Deno.Conn>();
  const close = (connection: Deno.Conn) => {
    if (open.delete(connection)) connection.close();
  };
  const way: FaultyWay = {
    url: `http://127.0.0.1:${listener.addr.port}`,
    delay_ms: 0,
    losing: 0,
    isSilent: false,
    cut() {
      for (const connection of open) close(connection);
    },
    async [Symbol.asyncDispose]() {
      listener.close();
      way.cut();
      await accepting;
    },
  };
  const pass = async (from: Deno.Conn, to: Deno.Conn, isAnswer: boolean) => {
    const buffer = new Uint8Array(64 * 1024);
    let written: Promise<void> = Promise.resolve();
    try {
      for (;;) {
        const length = await from.read(buffer);
        if (length === null) break;
        if (way.isSilent) continue;
        if (isAnswer && way.losing > 0) {
          way.losing--;
          break;
        }
        const bytes = buffer.slice(0, length);
        // What comes meanwhile is delayed as long, and not longer.
        const delay_ms = isAnswer ? way.delay_ms : 0;
        const isDue = delay_ms === 0
          ? Promise.resolve()
          : new Promise((resolve) => setTimeout(resolve, delay_ms));
        written = Promise.all([written, isDue]).then(() => writeAll(to, bytes));
        if (delay_ms === 0) await written;
        else written.catch(() => close(to));
      }
    } catch {
      // One of them was closed.
    } finally {
      close(from);
      close(to);
    }
  };
  const accepting = (async () => {
    try {
      for await (const client of listener) {
        open.add(client);
        const server = await Deno.connect({ hostname: "127.0.0.1", port: target }).catch(() => {});
        if (server === undefined) close(client);
        else {
          open.add(server);
          void pass(client, server, false);
          void pass(server, client, true);
        }
      }
    } catch {
      // The listener was closed.
    }
  })();
  return way;
}
