/**
 * A port that the service listens on for as long as it runs.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import { delay } from "@std/async/delay";
import { messageOf } from "../platform/errors.ts";

const RETRY_MS = 1_000;

const log = getLogger(["hooklaunch", "http"]);

/** Starts a server on a port. */
type Serve = (port: number) => Deno.HttpServer<Deno.NetAddr>;

/**
 * Listens on a port until it is shut down. Deno ends a server that cannot accept a connection, such as when
 * the process has as many files open as it may. Another server then listens in its place.
 */
export class Listener {
  /** The port that it listens on. */
  readonly port: number;
  readonly #serve: Serve;
  #server: Deno.HttpServer<Deno.NetAddr>;
  /** The servers that no longer listen, and still answer the requests under way. */
  readonly #ending = new Set<Promise<void>>();
  /** Set while nobody listens. */
  #beginning: Promise<void> | undefined;
  readonly #shut = new AbortController();

  /** @param port 0 for any that is free */
  constructor(serve: Serve, port: number) {
    this.#serve = serve;
    this.#server = this.#begin(port);
    this.port = this.#server.addr.port;
  }

  /** Accepts no more connections, and waits until the requests under way are answered. */
  async shutdown(): Promise<void> {
    this.#shut.abort();
    await this.#beginning;
    await Promise.all([this.#server.shutdown(), ...this.#ending]);
  }

  #begin(port: number): Deno.HttpServer<Deno.NetAddr> {
    const server = this.#serve(port);
    server.finished.catch((error) => {
      logFailure(error);
      // This closes its idle connections, which may be what holds all open files.
      this.#end(server);
      return this.#beginAgain();
    });
    return server;
  }

  /** Ends a server once its requests under way are answered. */
  #end(server: Deno.HttpServer<Deno.NetAddr>): void {
    const ending = server.shutdown().finally(() => this.#ending.delete(ending));
    this.#ending.add(ending);
  }

  #beginAgain(): Promise<void> {
    return this.#beginning ??= this.#tryToBegin().finally(() => {
      this.#beginning = undefined;
    });
  }

  /** Tries until it listens or is shut down. */
  async #tryToBegin(): Promise<void> {
    const { signal } = this.#shut;
    for (;;) {
      await delay(RETRY_MS, { signal }).catch(() => {});
      if (signal.aborted) return;
      try {
        this.#server = this.#begin(this.port);
        return;
      } catch (error) {
        logFailure(error);
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
