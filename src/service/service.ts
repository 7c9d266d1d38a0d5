/**
 * The service: all its parts, from the database to the open port.
 *
 * @module
 */
import type { Context } from "@hono/hono";
import { getLogger } from "@logtape/logtape";
import { deadline } from "@std/async/deadline";
import { ignoreTimeout } from "../platform/waiting/ignore_timeout.ts";
import { createApp } from "../http/app.ts";
import { BODY_BYTES_MAX } from "../http/api/input.ts";
import { BodyReader } from "../http/body.ts";
import { withoutLength } from "../http/head_response.ts";
import { refuseHost } from "../http/host_header.ts";
import { checkTls, listenError } from "../http/listen_error.ts";
import { Listener, type Serve } from "../http/listener.ts";
import { ParsedValues } from "../http/door/parsed_value_budget.ts";
import { peerOf } from "../http/peer.ts";
import { type Arrival, inTurn } from "../http/door/request_queue.ts";
import { closeParts, openParts, type Parts } from "./composition.ts";
import { cleanUp, type CleanupReport } from "../runs/cleanup.ts";
import {
  checkSettings,
  type ServiceSettings,
  type Surroundings,
  type Tls,
} from "../config/settings.ts";
import { createToken, hasTokens } from "../store/records/tokens.ts";
import { refuseAutomaticSpans } from "../telemetry/automatic_spans.ts";
import { inTrace, isTracing } from "../telemetry/spans.ts";

export type { Parts } from "./composition.ts";
export type { ServiceSettings, Surroundings, Tls } from "../config/settings.ts";

const READY_TIMEOUT_MS = 1_000;
/** How long a cleanup may take to end, at least, when the service stops. */
const CLEANUP_END_MS = 1_000;
/** The part of its time to stop that bodies have to arrive: who sends slowly leaves some to the rest. */
const ARRIVING_SHARE = 0.5;
/** How long bodies may take to arrive before the certificate is changed, which breaks them off. */
const RENEWAL_PATIENCE_MS = 5_000;
/** What senders' long bodies, which may arrive slowly, leave to the short ones, as most are. */
const SHORT_BODIES_BYTES_MAX = 64 * 1024 * 1024;
/** How many new connections wait in the kernel. The start of one more is lost, and tried again after a second. */
const CONNECTIONS_WAITING_MAX = 4_096;

const log = getLogger(["hooklaunch"]);

/** A service that runs. */
export class Service {
  /** How the service is reached, without a slash at the end. */
  readonly url: string;
  readonly #parts: Parts;
  readonly #listener: Listener;
  readonly #bodies: Bodies;
  #cleanup: Promise<CleanupReport> | undefined;
  #closed: Promise<void> | undefined;

  private constructor(
    parts: Parts,
    { listener, bodies }: { listener: Listener; bodies: Bodies },
    url: string,
  ) {
    this.#parts = parts;
    this.#listener = listener;
    this.#bodies = bodies;
    this.url = url;
  }

  /**
   * Opens the data folder, takes over what is pending there, and listens.
   *
   * @throws {InvalidInputError} when a setting is not what it must be
   * @throws {ConflictError} when another process has the data folder
   */
  static async start(
    settings: ServiceSettings,
    surroundings: Surroundings,
    prepare: (parts: Parts) => Promise<void> = () => Promise.resolve(),
  ): Promise<Service> {
    checkSettings(settings);
    refuseAutomaticSpans();
    const parts = await openParts(settings, surroundings);
    let listener: Listener | undefined;
    try {
      await prepare(parts);
      await parts.engines.start();
      await parts.pipelines.start();
      await parts.worker.start();
      await parts.space.start();
      listenToQueue(parts);
      const bodies: Bodies = {
        senders: new BodyReader({ short_bytes_max: SHORT_BODIES_BYTES_MAX }),
        operators: new BodyReader({ bodies_bytes_max: 32 * BODY_BYTES_MAX }),
      };
      listener = listen(settings, parts, bodies);
      const url = settings.publicUrl?.replace(/\/+$/, "") ?? ownUrl(settings, listener.port);
      parts.baseUrl = url;
      // Last: nobody would be shown the token of a start that fails.
      parts.newToken = await firstToken(parts);
      return new Service(parts, { listener, bodies }, url);
    } catch (error) {
      await listener?.shutdown();
      await closeParts(parts, 0);
      throw error;
    }
  }

  /** The service's parts, for commands that use them without HTTP. */
  get parts(): Parts {
    return this.#parts;
  }

  /** The port it listens on. */
  get port(): number {
    return this.#listener.port;
  }

  /** Takes over pending work that was left behind. Call it each minute. */
  sweep(): void {
    this.#parts.worker.claim();
    this.#parts.triggerLog.turn();
  }

  /** Removes what has outlived its retention. Call it now and then; there is never more than one at a time. */
  cleanUp(): Promise<CleanupReport> {
    const { settings: { retention_days }, closing: { signal } } = this.#parts;
    const parts = { ...this.#parts, retention_days, signal };
    return this.#cleanup ??= cleanUp(parts).finally(() => this.#cleanup = undefined);
  }

  /**
   * Serves another certificate from now on. Requests under way are answered; for a few milliseconds new
   * connections are refused.
   *
   * @throws {InvalidInputError} when it cannot be used; the one before is served on then
   */
  async renewTls(tls: Tls): Promise<void> {
    checkTls(tls);
    await this.#bodiesArrived(RENEWAL_PATIENCE_MS);
    await this.#listener.renew(tls);
  }

  /**
   * Stops: no new launches; requests under way, runs and executions may end until the deadline. What has
   * not ended then is found again at the next start.
   */
  close(deadline_ms = this.#parts.settings.stopTimeout_ms): Promise<void> {
    return this.#closed ??= this.#close(deadline_ms);
  }

  async #close(deadline_ms: number): Promise<void> {
    const { closing, clock } = this.#parts;
    const until_ms = clock.steady() + deadline_ms;
    const left_ms = () => Math.max(0, until_ms - clock.steady());
    closing.abort();
    await this.#bodiesArrived(ARRIVING_SHARE * deadline_ms);
    await deadline(this.#listener.shutdown(), left_ms()).catch(ignoreTimeout);
    for (const reader of Object.values(this.#bodies)) reader[Symbol.dispose]();
    await this.#endCleanup(left_ms());
    await closeParts(this.#parts, left_ms());
  }

  /** Deno's server breaks off what is still arriving as soon as it is told to shut down. */
  async #bodiesArrived(deadline_ms: number): Promise<void> {
    const readers = Object.values(this.#bodies);
    await Promise.all(readers.map((reader) => reader.arrived(deadline_ms)));
  }

  /** Lets a cleanup end, which it does at its next part, unless what it removes does not let itself be. */
  async #endCleanup(deadline_ms: number): Promise<void> {
    // Who began it is told when it fails.
    const cleanup = this.#cleanup?.then(() => true, () => true);
    if (cleanup === undefined) return;
    const hasEnded = await deadline(cleanup, Math.max(CLEANUP_END_MS, deadline_ms)).catch(
      ignoreTimeout,
    );
    if (!hasEnded) log.warn("The cleanup does not end: the next one does what is left");
  }
}

/** Lets the queue's messages wake the worker. */
function listenToQueue({ store, space, worker, metrics }: Parts): void {
  store.queue?.listen({
    committer: store.committer,
    space,
    onMessage: () => worker.wake(),
    onSent: () => metrics.messageSent(),
    onDelivered: (delay_ms) => metrics.messageDelivered(delay_ms),
  });
}

/** What reads the bodies of requests; each has its own memory, so that senders take none from operators. */
type Bodies = Record<"senders" | "operators", BodyReader>;

function listen(
  settings: ServiceSettings,
  parts: Parts,
  bodies: Bodies,
): Listener {
  const { closing, exposure, metrics } = parts;
  const app = createApp({
    door: {
      ...parts,
      bodies: bodies.senders,
      values: new ParsedValues(),
      payloadBytesMax: settings.payloadBytesMax,
      peerOf: (context: Context<{ Bindings: Arrival }>) =>
        peerOf(context.req.raw.headers, context.env.remoteAddr.hostname, exposure),
      baseUrl: () => parts.baseUrl,
      closing: closing.signal,
      breaksOff: () => closing.signal.aborted || listener.isEnding,
    },
    operator: { ...parts, bodies: bodies.operators, baseUrl: () => parts.baseUrl },
    adminToken: settings.adminToken,
    metrics,
    isReady: () => isReady(parts),
  });
  const options = {
    hostname: settings.host,
    tcpBacklog: CONNECTIONS_WAITING_MAX,
    onListen() {},
  };
  const answer = (request: Request, arrival: Arrival) => {
    const answered = refuseHost(request.headers) ?? app.fetch(request, arrival);
    return request.method === "HEAD" ? withoutLength(answered) : answered;
  };
  const handler = inTurn(
    // Deno may call it in the trace of what was done last.
    isTracing ? (request, arrival) => inTrace(undefined, () => answer(request, arrival)) : answer,
    parts.clock,
    () => parts.acceptor.isBusy,
  );
  const serve: Serve = (port, tls) => Deno.serve({ ...options, ...tls, port }, handler);
  const listener = openListener(serve, settings);
  return listener;
}

function openListener(serve: Serve, settings: ServiceSettings): Listener {
  try {
    return new Listener(serve, settings);
  } catch (error) {
    throw listenError(error, settings);
  }
}

/** Makes a token where there is none. */
async function firstToken(
  { store, settings: { adminToken }, clock }: Parts,
): Promise<string | undefined> {
  if (adminToken !== undefined || await hasTokens(store)) return undefined;
  return await createToken(store, {
    name: "first",
    created_at: new Date(clock.now()).toISOString(),
  });
}

async function isReady({ closing, store, worker, space }: Parts): Promise<boolean> {
  if (closing.signal.aborted || worker.isFull || space.isShort) return false;
  return await deadline(store.probe(), READY_TIMEOUT_MS).catch(ignoreTimeout) ?? false;
}

function ownUrl({ host, tls }: ServiceSettings, port: number): string {
  const name = host === "0.0.0.0" || host === "::" ? "localhost" : host;
  return `${tls ? "https" : "http"}://${name.includes(":") ? `[${name}]` : name}:${port}`;
}
