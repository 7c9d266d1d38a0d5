/**
 * The port of a service that serves HTTPS itself. It stays open while the certificate changes.
 *
 * Deno's server cannot be given another certificate, and one that ends breaks off the handshakes under way. So it
 * listens on a port of this machine alone, and the bytes of each connection are passed on to the server that is
 * the newest when the connection comes.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import { delay } from "@std/async/delay";
import type { Tls } from "../config/settings.ts";
import { messageOf } from "../platform/errors.ts";
import { close } from "../platform/network/connection.ts";
import { Listener } from "./listener.ts";

const LOOPBACK = "127.0.0.1";
const RETRY_MS = 1_000;
/** The time that a server with the certificate of before has for handshakes and bodies that are arriving. */
const ENDING_MS = 5_000;
/** The bytes of a connection that are held in each direction. */
const HELD_BYTES = 16 * 1024;

const log = getLogger(["hooklaunch", "http"]);

/** Starts a server of HTTPS. */
type ServeTls = (
  options: { hostname: string; port: number } & Tls,
  /** Returns the address of the client whose connection comes from a port of this machine. */
  clientOf: (address: Deno.NetAddr) => Deno.NetAddr,
) => Deno.HttpServer<Deno.NetAddr>;

/** A port of HTTPS, with a certificate that can change. */
export class TlsListener {
  /** The port that it listens on. */
  readonly port: number;
  readonly #serve: ServeTls;
  readonly #outer: Deno.TcpListener;
  #server: Listener;
  /** The clients of the connections, by the ports from which their bytes are passed on. */
  readonly #clients = new Map<number, Deno.NetAddr>();
  readonly #ending = new Set<Promise<void>>();
  #endsNow = 0;
  readonly #shut = new AbortController();

  /** @param port 0 for any that is free */
  constructor(
    serve: ServeTls,
    { tls, ...address }: { hostname: string; port: number; tcpBacklog: number; tls: Tls },
  ) {
    this.#serve = serve;
    this.#outer = Deno.listen(address);
    try {
      this.#server = this.#begin(tls);
    } catch (error) {
      this.#outer.close();
      throw error;
    }
    this.port = this.#outer.addr.port;
    void this.#accept();
  }

  /** True while a server ends, as some seconds after a renewal: Deno breaks off the bodies that are arriving there. */
  get isEnding(): boolean {
    return this.#endsNow > 0;
  }

  /** Serves another certificate on connections from now on. Requests under way are answered. */
  renew(tls: Tls): void {
    if (this.#shut.signal.aborted) return;
    const before = this.#server;
    this.#server = this.#begin(tls);
    const ending = this.#end(before).finally(() => this.#ending.delete(ending));
    this.#ending.add(ending);
  }

  /** Accepts no more connections, and waits until the requests under way are answered. */
  async shutdown(): Promise<void> {
    this.#shut.abort();
    this.#outer.close();
    await Promise.all([this.#server.shutdown(), ...this.#ending]);
  }

  #begin(tls: Tls): Listener {
    const clientOf = (address: Deno.NetAddr) => this.#clients.get(address.port) ?? address;
    return new Listener((port) => this.#serve({ hostname: LOOPBACK, port, ...tls }, clientOf), 0);
  }

  async #end(server: Listener): Promise<void> {
    const { signal } = this.#shut;
    await delay(ENDING_MS, { signal }).catch(() => {});
    this.#endsNow++;
    await server.shutdown().finally(() => this.#endsNow--);
  }

  async #accept(): Promise<void> {
    const { signal } = this.#shut;
    while (!signal.aborted) {
      try {
        void this.#relay(await this.#outer.accept());
      } catch (error) {
        if (signal.aborted) return;
        log.error(
          "Cannot accept a connection, trying again. If too many files are open, raise ulimit -n: {error}",
          { error: messageOf(error) },
        );
        await delay(RETRY_MS, { signal }).catch(() => {});
      }
    }
  }

  /** Passes the bytes of a connection on, until the server has ended its side or the client has gone. */
  async #relay(client: Deno.TcpConn): Promise<void> {
    let server: Deno.TcpConn | undefined;
    try {
      server = await Deno.connect({ hostname: LOOPBACK, port: this.#server.port });
      // Before its first byte: so each request has its client.
      this.#clients.set(server.localAddr.port, client.remoteAddr);
      client.setNoDelay();
      server.setNoDelay();
      // A server that takes no more may have an answer under way.
      void pass(client, server).catch((error) => {
        if (!(error instanceof WriteError)) close(server);
      });
      await pass(server, client);
    } catch (error) {
      log.debug("A connection of {client} broke off: {error}", {
        client: client.remoteAddr.hostname,
        error: messageOf(error),
      });
    } finally {
      if (server !== undefined) this.#clients.delete(server.localAddr.port);
      close(client);
      close(server);
    }
  }
}

/** Thrown when the other side takes no more bytes. */
class WriteError extends Error {}

async function pass(from: Deno.TcpConn, to: Deno.TcpConn): Promise<void> {
  const held = new Uint8Array(HELD_BYTES);
  for (;;) {
    const length = await from.read(held);
    try {
      if (length === null) return await to.closeWrite();
      for (let sent = 0; sent < length;) sent += await to.write(held.subarray(sent, length));
    } catch (error) {
      throw new WriteError(messageOf(error), { cause: error });
    }
  }
}
