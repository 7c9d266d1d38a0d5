/**
 * Listening, for as long as the service runs.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import { messageOf } from "../errors.ts";

const RETRY_MS = 1_000;

const log = getLogger(["hooklaunch", "http"]);

/** Opens a port. */
export type Serve = (port: number) => Deno.HttpServer<Deno.NetAddr>;

/**
 * A port that is open until it is shut. Deno ends a server that cannot take a connection over, as where the
 * process has as many files open as it may, and the process with it: here another one listens soon.
 */
export class Listener {
  /** The port it listens on. */
  readonly port: number;
  readonly #serve: Serve;
  #server: Deno.HttpServer<Deno.NetAddr>;
  #retry: ReturnType<typeof setTimeout> | undefined;
  #isShutting = false;

  /** @param port 0 for any that is free */
  constructor(serve: Serve, port: number) {
    this.#serve = serve;
    this.#server = this.#begin(port);
    this.port = this.#server.addr.port;
  }

  /** Takes no more connections, and waits until the requests under way are answered. */
  async shutdown(): Promise<void> {
    this.#isShutting = true;
    clearTimeout(this.#retry);
    await this.#server.shutdown();
  }

  #begin(port: number): Deno.HttpServer<Deno.NetAddr> {
    const server = this.#serve(port);
    server.finished.catch((error) => this.#beginAgain(error));
    return server;
  }

  #beginAgain(error: unknown): void {
    if (this.#isShutting) return;
    log.error("Cannot take connections over, trying again: {error}", { error: messageOf(error) });
    this.#retry = setTimeout(() => {
      try {
        this.#server = this.#begin(this.port);
      } catch (error) {
        this.#beginAgain(error);
      }
    }, RETRY_MS);
  }
}
