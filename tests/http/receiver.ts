/**
 * A server that receives the HTTP requests of actions, and answers as a test says.
 *
 * @module
 */
import { eventually } from "../data.ts";

/** A request as it came. */
export interface Received {
  method: string;
  /** The path with its query. */
  target: string;
  headers: Headers;
  body: string;
}

/** The answer to a request, by the requests of its path so far, this one included. */
export type Answering = (
  received: Received,
  earlier: readonly Received[],
) => Response | Promise<Response>;

/** A server on a port of its own. */
export interface Receiver extends AsyncDisposable {
  port: number;
  /** Says how requests of a path are answered. */
  on(path: string, answering: Answering): void;
  /** The requests of a path. */
  at(path: string): Received[];
  /** Waits until a path has had so many requests. */
  arrived(path: string, count: number): Promise<Received[]>;
  /** Waits until no request of a path is being answered: those whose sender has gone are not. */
  idle(path: string): Promise<void>;
  /** The requests that were being answered at once, at most, by path. */
  atOnce(path: string): number;
}

/** Starts a server. */
export function startReceiver(hostname = "127.0.0.1"): Receiver {
  const answers = new Map<string, Answering>();
  const received = new Map<string, Received[]>();
  const underWay = new Map<string, number>();
  const most = new Map<string, number>();
  const server = Deno.serve({ hostname, port: 0, onListen() {} }, async (request) => {
    const { pathname, search } = new URL(request.url);
    const one: Received = {
      method: request.method,
      target: pathname + search,
      headers: request.headers,
      body: await request.text(),
    };
    const all = received.get(pathname) ?? [];
    received.set(pathname, [...all, one]);
    const count = (underWay.get(pathname) ?? 0) + 1;
    underWay.set(pathname, count);
    most.set(pathname, Math.max(count, most.get(pathname) ?? 0));
    const gone = Promise.withResolvers<undefined>();
    request.signal.addEventListener("abort", () => gone.resolve(undefined), { once: true });
    const answering = answers.get(pathname)?.(one, [...all, one]);
    const answer = await Promise.race([answering, gone.promise]);
    underWay.set(pathname, (underWay.get(pathname) ?? 1) - 1);
    return answer ?? new Response("unknown", { status: 404 });
  });
  const at = (path: string) => received.get(path) ?? [];
  return {
    port: server.addr.port,
    on: (path, answering) => answers.set(path, answering),
    at,
    arrived: (path, count) =>
      eventually(() => at(path).length >= count ? at(path) : undefined, {
        what: `request ${count} of ${path}`,
      }),
    idle: async (path) => {
      await eventually(() => underWay.get(path) === 0 || undefined, {
        what: `no request of ${path}`,
      });
    },
    atOnce: (path) => most.get(path) ?? 0,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}
