/**
 * A port that the service listens on for as long as it runs.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import { delay } from "@std/async/delay";
import { messageOf } from "../platform/errors.ts";
import type { Tls } from "../config/settings.ts";

const RETRY_MS = 1_000;
/** A server that is told to end still listens for a moment. */
const RENEWAL_RETRY_MS = 1;

const log = getLogger(["hooklaunch", "http"]);

/** Starts a server on a port, for HTTPS where there is a certificate. */
export type Serve = (port: number, tls: Tls | undefined) => Deno.HttpServer<Deno.NetAddr>;

/**
 * Listens on a port until it is shut down. Deno ends a server that cannot accept a connection, such as when
 * the process has as many files open as it may. Another server then listens in its place.
 */
export class Listener {
  /** The port that it listens on. */
  readonly port: number;
  readonly #serve: Serve;
  #tls: Tls | undefined;
  #server: Deno.HttpServer<Deno.NetAddr>;
  /** The servers that no longer listen, and still answer the requests under way. */
  readonly #ending = new Set<Promise<void>>();
  /** Set while nobody listens. */
  #beginning: Promise<void> | undefined;
  readonly #shut = new AbortController();

  /** @param port 0 for any that is free */
  constructor(serve: Serve, { port, tls }: { port: number; tls?: Tls | undefined }) {
    this.#serve = serve;
    this.#tls = tls;
    this.#server = this.#begin(port);
    this.port = this.#server.addr.port;
  }

  /** True while a server ends, as after a renewal: Deno breaks off the bodies that are arriving there. */
  get isEnding(): boolean {
    return this.#ending.size > 0;
  }

  /**
   * Serves another certificate from now on. Requests under way are answered. For some milliseconds nobody
   * listens; resolves when somebody does again.
   */
  async renew(tls: Tls): Promise<void> {
    if (this.#shut.signal.aborted) return;
    this.#tls = tls;
    this.#end(this.#server);
    await this.#beginAgain(RENEWAL_RETRY_MS);
  }

  /** Accepts no more connections, and waits until the requests under way are answered. */
  async shutdown(): Promise<void> {
    this.#shut.abort();
    await this.#beginning;
    await Promise.all([this.#server.shutdown(), ...this.#ending]);
  }

  #begin(port: number): Deno.HttpServer<Deno.NetAddr> {
    const server = this.#serve(port, this.#tls);
    server.finished.catch((error) => {
      // Another server listens already in the place of one that was ending.
      if (server !== this.#server) return;
      logFailure(error);
      // This closes its idle connections, which may be what holds all open files.
      this.#end(server);
      return this.#beginAgain(RETRY_MS);
    });
    return server;
  }

  /** Ends a server once its requests under way are answered. */
  #end(server: Deno.HttpServer<Deno.NetAddr>): void {
    const ending = server.shutdown().finally(() => this.#ending.delete(ending));
    this.#ending.add(ending);
  }

  #beginAgain(wait_ms: number): Promise<void> {
    return this.#beginning ??= this.#tryToBegin(wait_ms).finally(() => {
      this.#beginning = undefined;
    });
  }

  /** Tries until it listens or is shut down. */
  async #tryToBegin(first_ms: number): Promise<void> {
    const { signal } = this.#shut;
    for (let wait_ms = first_ms;;) {
      await delay(wait_ms, { signal }).catch(() => {});
      if (signal.aborted) return;
      try {
        this.#server = this.#begin(this.port);
        return;
      } catch (error) {
        if (wait_ms === RETRY_MS) logFailure(error);
        wait_ms = Math.min(2 * wait_ms, RETRY_MS);
      }
    }
  }
}

function logFailure(error: unknown): void {
  log.error(
    "Cannot accept connections, trying again. If too many files are open, raise ulimit -n: {error}",
    { error: messageOf(error) },
  );
}
