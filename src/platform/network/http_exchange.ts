/**
 * Sends one HTTP request to a host that may be reached.
 *
 * @module
 */
import { type IncomingHttpHeaders, type IncomingMessage, request as send } from "node:http";
import { Duplex } from "node:stream";
import { messageOf } from "../errors.ts";
import { close, connect, type ConnectOptions } from "./connection.ts";
import { FetchError, TransientError } from "./fetch_errors.ts";

/** An answer. Disposing of it closes its connection. */
export interface Answer extends Disposable {
  /** The requested URL, without credentials. */
  readonly url: URL;
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /**
   * Yields the bytes as they arrive. Call it once.
   *
   * @throws {TransientError} when the answer is incomplete
   */
  body(): AsyncGenerator<Uint8Array>;
}

/** The method and the body of a request. */
export interface Sent {
  /** Default: GET. */
  method?: string;
  body?: Uint8Array | undefined;
}

/**
 * Requests a URL without credentials.
 *
 * @throws {TransientError} when there is no valid answer
 */
export async function request(
  url: URL,
  headers: Readonly<Record<string, string>>,
  options: ConnectOptions & Sent,
): Promise<Answer> {
  const connection = await connect(url, options);
  const { signal } = options;
  const stop = () => close(connection);
  signal.addEventListener("abort", stop);
  if (signal.aborted) stop();
  const dispose = () => {
    signal.removeEventListener("abort", stop);
    close(connection);
  };
  try {
    const message = await exchange(url, headers, { ...options, connection });
    return {
      url,
      status: message.statusCode ?? 0,
      headers: message.headers,
      body: () => read(message, signal),
      [Symbol.dispose]: dispose,
    };
  } catch (error) {
    dispose();
    signal.throwIfAborted();
    throw new TransientError(`its host gives no proper answer: ${messageOf(error)}`);
  }
}

function exchange(
  url: URL,
  headers: Readonly<Record<string, string>>,
  { connection, method = "GET", body }: Sent & { connection: Deno.Conn },
): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const { readable, writable } = connection;
  // The declarations of Deno and of Node describe the same streams with different names.
  const socket = Duplex.fromWeb({ readable, writable } as Parameters<typeof Duplex.fromWeb>[0]);
  // The request or its answer reports errors.
  socket.on("error", () => {});
  const sent = send({
    method,
    path: url.pathname + url.search,
    headers: {
      host: url.host,
      "user-agent": "Hooklaunch",
      accept: "*/*",
      // Without this the server may compress the file.
      "accept-encoding": "identity",
      connection: "close",
      ...(body && { "content-length": String(body.length) }),
      ...headers,
    },
    createConnection: () => socket,
  });
  sent.on("response", (message) => {
    message.on("error", () => {});
    resolve(message);
  });
  // Without this listener there is neither an answer nor an error.
  sent.on("upgrade", () => reject(new FetchError("it switches to another protocol")));
  sent.on("error", reject);
  sent.end(body);
  return promise;
}

async function* read(message: IncomingMessage, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of message) yield chunk;
  } catch (error) {
    signal.throwIfAborted();
    throw new TransientError(`its answer is cut off: ${messageOf(error)}`);
  }
  signal.throwIfAborted();
  if (!message.complete) throw new TransientError("its answer is cut off");
}
