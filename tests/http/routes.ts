/** The routes of a service on a port of their own, where requests arrive in another way. */
import { createApp, type Jobs } from "../../src/http/app.ts";
import { BodyReader } from "../../src/http/body.ts";
import type { Door } from "../../src/http/door/door.ts";
import { ParsedValueBudget } from "../../src/http/door/parsed_value_budget.ts";
import { ADMIN_TOKEN, type TestService } from "../data.ts";

/** How requests arrive. */
export interface Arriving {
  /** How long a body may take. */
  timeout_ms?: number;
  /** How long each has waited in the queue. */
  waited_ms?: number;
}

/** What a server tells of a request beside it. */
export const ARRIVAL = {
  remoteAddr: { transport: "tcp", hostname: "127.0.0.1", port: 1 },
  completed: Promise.resolve(),
};

/** The routes of a service, where something at the door is another. */
export function routesOf(
  { service }: TestService,
  door: Partial<Door> & Pick<Door, "bodies">,
  jobs: Partial<Jobs> = {},
) {
  const { parts } = service;
  const baseUrl = () => service.url;
  return createApp({
    door: {
      ...parts,
      values: new ParsedValueBudget(),
      peerOf: () => ({ ip: "127.0.0.1", secure: true }),
      baseUrl,
      closing: parts.closing.signal,
      retryAfterStop_s: () => 1,
      breaksOff: () => false,
      ...door,
    },
    operator: {
      ...parts,
      bodies: door.bodies,
      baseUrl,
      reload: () => undefined,
      userId: () => Promise.resolve(undefined),
    },
    adminToken: ADMIN_TOKEN,
    jobs: {
      bodies: door.bodies,
      deskOf: (executionId) => parts.engines.deskOf(executionId),
      allowsHttp: false,
      ...jobs,
    },
    callbacks: { httpRequests: parts.httpRequests, bodies: door.bodies },
    metrics: parts.metrics,
    artifacts: parts.artifacts,
    isReady: () => Promise.resolve(true),
    onAnswering() {},
    isPlainHttp: () => true,
  });
}

/** Serves the routes of a service until it is disposed of. */
export function serveRoutes(service: TestService, { timeout_ms, waited_ms }: Arriving) {
  const bodies = new BodyReader(timeout_ms === undefined ? {} : { timeout_ms });
  const app = routesOf(service, { bodies });
  const options = { port: 0, hostname: "127.0.0.1", onListen() {} };
  const wait = waited_ms === undefined ? {} : { waited_ms, isLate: false };
  const server = Deno.serve(
    options,
    (request, { remoteAddr, completed }) => app.fetch(request, { remoteAddr, completed, ...wait }),
  );
  return {
    port: server.addr.port,
    async [Symbol.asyncDispose]() {
      await server.shutdown();
      bodies[Symbol.dispose]();
    },
  };
}
