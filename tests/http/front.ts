/** A real proxy in front of a service: how it is started, and clients that are slow. */
import { assert } from "@std/assert";
import { delay } from "@std/async/delay";
import { BodyReader } from "../../src/http/body.ts";
import { peerOf } from "../../src/http/peer.ts";
import { AddressRanges } from "../../src/platform/network/ip_ranges.ts";
import { eventually, startService, type TestService } from "../data.ts";
import { freePort, temporaryFolder } from "../surroundings.ts";
import { routesOf } from "./routes.ts";

/** The time that a body may take here; 30 s by default. */
export const BODY_TIMEOUT_MS = 2_000;
/** The time after which a client stops to send. */
const DRIP_MS_MAX = 40_000;
const ca = Deno.readTextFileSync(new URL("localhost_ca.pem", import.meta.url));
/** The address of the proxy as the service sees it; that of its clients is another one. */
const PROXY = "10.0.0.9";

/** A proxy in front of a service. */
export interface Front extends AsyncDisposable {
  service: TestService;
  port: number;
  client: Deno.HttpClient;
}

/** The places of a test, which replace those of a page. */
export interface Places {
  /** The port of the proxy. */
  port: number;
  /** The port of the service. */
  upstream: number;
  folder: string;
  /** The paths of certificate and key. */
  certificate: string;
  key: string;
}

/** A trigger behind a proxy. */
interface FrontTrigger {
  id: string;
  pathname: string;
  /** Launches it through the proxy. */
  launch(body: BodyInit, headers?: Record<string, string>): Promise<Response>;
}

/** Makes a trigger that lets clients of this machine pass, and answers the run's id. */
export async function frontTrigger({ service, port, client }: Front): Promise<FrontTrigger> {
  const { id, url } = await service.trigger({
    response: { type: "text", text: "{run_id}" },
    conditions: [{ type: "ip_allowlist", ranges: ["127.0.0.1"] }],
  });
  const { pathname } = new URL(url);
  return {
    id,
    pathname,
    launch: (body, headers = {}) =>
      fetch(`https://localhost:${port}${pathname}`, { method: "POST", body, headers, client }),
  };
}

/** Returns a text with other parts in place of those that a page prints. */
export function replaced(text: string, parts: Readonly<Record<string, string>>): string {
  for (const [printed, own] of Object.entries(parts)) {
    assert(text.includes(printed), `the page prints ${printed}`);
    text = text.replace(printed, own);
  }
  return text;
}

/**
 * Starts a service and a proxy.
 *
 * @param prepare writes the configuration, and returns the command as a shell understands it
 */
export async function startFront(prepare: (places: Places) => string): Promise<Front> {
  const stack = new AsyncDisposableStack();
  const service = stack.use(await startService());
  const bodies = stack.use(new BodyReader({ timeout_ms: BODY_TIMEOUT_MS }));
  const exposure = { tls: false, dev: false, trustedProxies: new AddressRanges([PROXY]) };
  const app = routesOf(service, {
    bodies,
    peerOf: ({ req: { raw: { headers } } }) => peerOf(headers, PROXY, exposure),
  });
  const options = { hostname: "127.0.0.1", port: 0, onListen() {} };
  const server = Deno.serve(options, (request, arrival) => app.fetch(request, arrival));
  stack.defer(() => server.shutdown());
  const folder = stack.use(await temporaryFolder());
  const file = (name: string) => new URL(name, import.meta.url).pathname;
  const port = freePort();
  const command = prepare({
    port,
    upstream: server.addr.port,
    folder: folder.path,
    certificate: file("localhost_cert.pem"),
    key: file("localhost_key.pem"),
  });
  const tools = "${XDG_CACHE_HOME:-$HOME/.cache}/hooklaunch/bin";
  const proxy = new Deno.Command("sh", {
    args: ["-c", `PATH="$PATH:/usr/sbin:${tools}"; HOME="$0" exec ${command}`, folder.path],
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
  stack.defer(async () => {
    proxy.kill("SIGTERM");
    await proxy.status;
  });
  await eventually(async () => {
    const connection = await Deno.connect({ hostname: "127.0.0.1", port }).catch(() => undefined);
    connection?.close();
    return connection;
  }, { what: `a proxy that listens: ${command}` });
  const client = stack.use(Deno.createHttpClient({ caCerts: [ca] }));
  return { service, port, client, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

/** Opens a connection to the proxy. */
export function connect({ port }: Front): Promise<Deno.TlsConn> {
  return Deno.connectTls({ hostname: "localhost", port, caCerts: [ca] });
}

/** Sends text bit by bit until the other side has closed; returns its answer and how long that took. */
export async function drip(front: Front, head: string, every_ms: number) {
  const began_ms = performance.now();
  const isLate = () => performance.now() - began_ms > DRIP_MS_MAX;
  using connection = await connect(front);
  let isClosed = false;
  const sending = (async () => {
    for (const text of [head, ..."x".repeat(10_000)]) {
      if (isClosed || isLate()) break;
      await connection.write(new TextEncoder().encode(text)).catch(() => isClosed = true);
      await delay(every_ms);
    }
    // The other side has to end what goes on for ever. This ends the test.
    if (!isClosed) connection.close();
  })();
  const answer = await new Response(connection.readable).text().catch(() => "");
  isClosed = true;
  await sending;
  return { answer, took_ms: performance.now() - began_ms };
}

/** Returns the head of a launch, as far as it goes. */
export const requestOf = (path: string, more: string) =>
  `POST ${path} HTTP/1.1\r\nHost: localhost\r\n${more}`;
