/**
 * Serves on the socket in the data folder.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import { messageOf } from "../platform/errors.ts";
import { socketPath } from "../platform/network/own_socket.ts";
import { SOCKET_ADDRESS } from "./socket_address.ts";

const log = getLogger(["hooklaunch", "http"]);

/** Answers a request that came by the socket. */
type Handler = (
  request: Request,
  info: Deno.ServeHandlerInfo<Deno.NetAddr>,
) => Response | Promise<Response>;

/** A socket that is served. */
export class SocketServer {
  readonly #path: string;
  readonly #server: Deno.HttpServer<Deno.UnixAddr>;

  private constructor(path: string, handler: Handler) {
    this.#path = path;
    const made = `${path}.new`;
    removeIfThere(made);
    this.#server = Deno.serve(
      { path: made, onListen() {} },
      (request, { completed }) => handler(request, { remoteAddr: SOCKET_ADDRESS, completed }),
    );
    // Under its name it has never been open to others. A name that a killed service has left is taken over.
    Deno.chmodSync(made, 0o600);
    Deno.renameSync(made, path);
  }

  /** Serves on the socket of a data folder. Without one the command line needs an address: that is logged. */
  static open(dataFolder: string, handler: Handler): SocketServer | undefined {
    const path = socketPath(dataFolder);
    try {
      return new SocketServer(path, handler);
    } catch (error) {
      const details = { path, error: messageOf(error) };
      log.info("The command line needs --url here: cannot listen on {path}: {error}", details);
      return undefined;
    }
  }

  /** Ends after the answers under way. */
  async close(): Promise<void> {
    removeIfThere(this.#path);
    await this.#server.shutdown();
  }
}

function removeIfThere(path: string): void {
  try {
    Deno.removeSync(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}
