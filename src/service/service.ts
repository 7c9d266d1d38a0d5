/**
 * A running service: all its parts, from the database to the open port.
 *
 * @module
 */
import type { Context } from "@hono/hono";
import { getLogger } from "@logtape/logtape";
import { deadline } from "@std/async/deadline";
import config from "../../deno.json" with { type: "json" };
import { digestsOfSettings } from "../config/shared_settings.ts";
import { ignoreTimeout } from "../platform/waiting/promises.ts";
import { createApp } from "../http/app.ts";
import { BODY_BYTES_MAX } from "../http/api/input.ts";
import { BodyReader } from "../http/body.ts";
import { withoutLength } from "../http/head_response.ts";
import { refuseHost } from "../http/host_header.ts";
import { checkTls } from "../http/listen_error.ts";
import { Hops } from "../http/hops.ts";
import { RequestsUnderWay } from "../http/requests_under_way.ts";
import { ParsedValueBudget } from "../http/door/parsed_value_budget.ts";
import { isPlainHttp, peerOf } from "../http/peer.ts";
import { SOCKET_ADDRESS, SOCKET_PEER } from "../http/socket_address.ts";
import { type HandlerInfo, withRequestQueue } from "../http/door/request_queue.ts";
import type { Certificates } from "./certificates.ts";
import { instanceUrlOf, ownUrl } from "./own_urls.ts";
import { firstToken, Leadership, type Prepare } from "./leadership.ts";
import { closeParts, openParts, type Parts } from "./composition.ts";
import { watchParts } from "./gauges.ts";
import { closePorts, type Ports, type Runtime } from "./runtime.ts";
import type { CleanupReport } from "../runs/cleanup.ts";
import {
  checkSettings,
  type ServiceSettings,
  type Surroundings as Outside,
  type Tls,
} from "../config/settings.ts";
import { refuseAutomaticSpans } from "../telemetry/automatic_spans.ts";
import { inTrace, isTracing } from "../telemetry/spans.ts";

export type { Parts } from "./composition.ts";
export type { Prepare } from "./leadership.ts";
export type { ServiceSettings, Tls } from "../config/settings.ts";

/** The clock and the environment of a service, and where it runs: on a machine of one's own by default. */
interface Surroundings extends Outside {
  runtime?: Runtime;
}

const READY_TIMEOUT_MS = 1_000;
/** Least time that a cleanup gets to end when the service stops. */
const CLEANUP_END_MS = 1_000;
/** Share of the stop timeout in which request bodies may still arrive. */
const ARRIVING_SHARE = 0.5;
/** Memory that senders' long bodies, which may arrive slowly, leave to the usual short ones. */
const SHORT_BODIES_BYTES_MAX = 64 * 1024 * 1024;

const log = getLogger(["hooklaunch"]);

/** A service that runs. */
export class Service {
  /** The base URL of the service, without a slash at the end. */
  readonly url: string;
  readonly #parts: Parts;
  readonly #ports: Ports;
  readonly #bodies: Bodies;
  readonly #leadership: Leadership;
  readonly #requests: RequestsUnderWay;
  readonly #certificates: Certificates | undefined;
  #cleanup: Promise<CleanupReport> | undefined;
  /** True while a cleanup waits for a backup that reads the database. */
  #cleanupWaits = false;
  #closed: Promise<void> | undefined;

  private constructor(
    parts: Parts,
    { ports, bodies, leadership, requests, certificates }: {
      ports: Ports;
      bodies: Bodies;
      leadership: Leadership;
      requests: RequestsUnderWay;
      certificates: Certificates | undefined;
    },
    url: string,
  ) {
    this.#parts = parts;
    this.#leadership = leadership;
    this.#ports = ports;
    this.#bodies = bodies;
    this.#requests = requests;
    this.#certificates = certificates;
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
    prepare: Prepare = () => Promise.resolve(),
  ): Promise<Service> {
    checkSettings(settings);
    refuseAutomaticSpans();
    const runtime = surroundings.runtime ?? (await import("./machine.ts")).machine;
    const parts = await openParts(settings, surroundings, runtime);
    parts.backups = await openBackups(parts, runtime);
    watchParts(parts, {
      databaseBytes: () => runtime.databaseBytes(settings),
      isReady: () => isReady(parts),
    });
    let ports: Ports | undefined;
    try {
      const leadership = new Leadership(parts, prepare);
      const { shared } = parts.store;
      if (shared === undefined) await leadership.begin();
      await parts.space.start();
      listenToQueue(parts);
      // One that does not answer is logged, and keeps nothing from starting.
      void parts.artifacts.probe();
      const bodies: Bodies = {
        senders: new BodyReader({ short_bytes_max: SHORT_BODIES_BYTES_MAX }),
        operators: new BodyReader({ bodies_bytes_max: 32 * BODY_BYTES_MAX }),
        jobs: new BodyReader({ bodies_bytes_max: 32 * BODY_BYTES_MAX }),
      };
      const requests = new RequestsUnderWay(parts.clock);
      const certificates = await openCertificates(parts);
      const served = certificates ? { ...settings, tls: certificates.keeper.first } : settings;
      ports = listen(served, parts, { runtime, bodies, leadership, requests });
      const { listener } = ports;
      const url = settings.publicUrl?.replace(/\/+$/, "") ?? certificates?.url(listener.port) ??
        ownUrl(settings, listener.port);
      parts.baseUrl = url;
      // A kept request is checked against the URL that it was sent to.
      if (shared === undefined) await parts.replays.start();
      else {
        const instanceUrl = ports.way?.address ?? instanceUrlOf(settings, listener.port);
        shared.instances.announce({
          ...(instanceUrl !== undefined && { url: instanceUrl }),
          version: config.version,
          settings: digestsOfSettings(settings),
        });
        await leadership.begin();
      }
      // Last: nobody would be shown the token of a start that fails.
      if (leadership.isHere) parts.newToken = await firstToken(parts);
      const open = { ports, bodies, leadership, requests, certificates };
      const service = new Service(parts, open, url);
      certificates?.start({
        renewTls: (tls) => service.renewTls(tls),
        leads: () => leadership.isHere,
      }, listener.port);
      return service;
    } catch (error) {
      if (ports !== undefined) await closePorts(ports);
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
    return this.#ports.listener.port;
  }

  /** Claims pending work that no message woke. Call it each minute. */
  sweep(): void {
    this.#leadership.takeOver();
    void this.#parts.scheduler.tick();
    this.#parts.triggerLog.turn();
    void this.#parts.artifacts.probe();
    void this.#certificates?.tick();
    if (this.leads && this.#parts.settings.performs !== false) void this.#parts.backups?.tick();
    this.#parts.callbacks.sweep().catch((error) =>
      log.error("Cannot look for callbacks that are due: {error}", { error })
    );
    this.#parts.notifications.sweep();
    this.#parts.keptRequests.sweep().catch((error) =>
      log.error("Cannot remove refused requests whose time is over: {error}", { error })
    );
  }

  /** True when this instance performs the work. */
  get leads(): boolean {
    return this.#leadership.isHere;
  }

  /**
   * Removes records past their retention, then notes in trigger logs which deliveries differ from those before. Only
   * one cleanup runs at a time.
   */
  cleanUp(): Promise<CleanupReport> {
    return this.#cleanup ??= this.#cleanUp().finally(() => this.#cleanup = undefined);
  }

  async #cleanUp(): Promise<CleanupReport> {
    const { settings: { retention_days }, closing: { signal }, worker } = this.#parts;
    this.#cleanupWaits = true;
    const { cleanUp } = await import("../runs/cleanup.ts");
    const remove = () => {
      this.#cleanupWaits = false;
      return cleanUp({ ...this.#parts, retention_days, signal });
    };
    const report = await (this.#parts.backups?.whileNotRead(remove) ?? remove());
    const { noteShapeChanges } = await import("../triggers/shape_changes.ts");
    await noteShapeChanges({
      ...this.#parts,
      signal,
      baseUrl: () => this.#parts.baseUrl,
      isVisible: () => Promise.resolve(true),
      pendingOf: (id) => worker.pendingOf(id),
    }).catch((error) => log.error("Cannot compare deliveries: {error}", { error }));
    return report;
  }

  /** Removes what this machine need not keep while another instance leads. */
  async tidy(): Promise<void> {
    await (await import("../runs/cleanup.ts")).tidyMachine(this.#parts);
  }

  /**
   * Serves another certificate from now on. Requests under way are answered, and no new connection fails.
   *
   * @throws {InvalidInputError} when it cannot be used; the old one stays in use
   */
  renewTls(tls: Tls): void {
    checkTls(tls);
    this.#ports.listener.renew?.(tls);
  }

  /**
   * Stops the service. Requests under way, runs and executions may end until the deadline; new requests are answered
   * with 503 until the end. The next start continues what has not ended.
   */
  close(deadline_ms = this.#parts.settings.stopTimeout_ms): Promise<void> {
    return this.#closed ??= this.#close(deadline_ms);
  }

  async #close(deadline_ms: number): Promise<void> {
    const { closing, clock } = this.#parts;
    const until_ms = clock.steady() + deadline_ms;
    const left_ms = () => Math.max(0, until_ms - clock.steady());
    this.#requests.endBy(until_ms);
    closing.abort();
    await this.#bodiesArrived(ARRIVING_SHARE * deadline_ms);
    await deadline(this.#requests.turnAway(), left_ms()).catch(ignoreTimeout);
    for (const reader of Object.values(this.#bodies)) reader[Symbol.dispose]();
    await this.#endCleanup(left_ms());
    await this.#certificates?.close();
    // The next process may open the data folder as soon as it is free, and then needs the port.
    await closeParts(this.#parts, left_ms(), () => closePorts(this.#ports));
  }

  /** Waits for request bodies: Deno's server drops incomplete ones as soon as it shuts down. */
  async #bodiesArrived(deadline_ms: number): Promise<void> {
    const readers = Object.values(this.#bodies);
    await Promise.all(readers.map((reader) => reader.arrived(deadline_ms)));
  }

  /** Waits for a cleanup to end after its current part. */
  async #endCleanup(deadline_ms: number): Promise<void> {
    // Its failure is reported to the caller that began it.
    const cleanup = this.#cleanup?.then(() => true, () => true);
    if (cleanup === undefined || this.#cleanupWaits) return;
    const hasEnded = await deadline(cleanup, Math.max(CLEANUP_END_MS, deadline_ms)).catch(
      ignoreTimeout,
    );
    if (!hasEnded) log.warn("Cleanup did not end in time; the next one continues it");
  }
}

/** Opens what makes the scheduled backups; undefined where the settings name none. */
async function openBackups(parts: Parts, runtime: Runtime): Promise<Parts["backups"]> {
  const { settings, store, clock, env, metrics } = parts;
  if (settings.backup === undefined) return undefined;
  const { Backups } = await import("../backup/scheduled/backups.ts");
  return new Backups(settings.backup, {
    store,
    clock,
    env,
    data: settings.data,
    kv: settings.kv,
    runJob: await runtime.backupJobs(),
    onEnd: (job, isGood) => metrics.backups.jobEnded(job, isGood),
  });
}

/** Opens what gets the certificate of the service; undefined where it has another one, or none. */
async function openCertificates(parts: Parts): Promise<Certificates | undefined> {
  const { settings: { acme } } = parts;
  if (acme === undefined) return undefined;
  const { Certificates } = await import("./certificates.ts");
  const { checkAcme } = await import("../acme/settings.ts");
  const certificates = await Certificates.open(checkAcme(acme), parts);
  parts.certificates = certificates.keeper;
  return certificates;
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

/** Readers of request bodies. Each has its own memory limit, so that senders cannot exhaust that of others. */
type Bodies = Record<"senders" | "operators" | "jobs", BodyReader>;

function listen(
  settings: ServiceSettings,
  parts: Parts,
  { runtime, bodies, leadership, requests }: {
    runtime: Runtime;
    bodies: Bodies;
    leadership: Leadership;
    requests: RequestsUnderWay;
  },
): Ports {
  const { closing, exposure, metrics, clock } = parts;
  const hops = parts.store.shared && new Hops(settings.secretKey ?? "", clock);
  const app = createApp({
    door: {
      ...parts,
      bodies: bodies.senders,
      values: new ParsedValueBudget(),
      peerOf: ({ env: { remoteAddr }, req: { raw } }: Context<{ Bindings: HandlerInfo }>) =>
        hops?.senderOf(raw) ??
          runtime.peerOf?.(raw, remoteAddr) ??
          (remoteAddr === SOCKET_ADDRESS
            ? SOCKET_PEER
            : peerOf(raw.headers, remoteAddr.hostname, exposure)),
      baseUrl: () => parts.baseUrl,
      closing: closing.signal,
      retryAfterStop_s: () => requests.retryAfter_s,
      breaksOff: () => closing.signal.aborted || listener.isEnding === true,
    },
    operator: {
      ...parts,
      bodies: bodies.operators,
      baseUrl: () => parts.baseUrl,
      reload: () => parts.reload,
      userId: () => runtime.userId(settings),
    },
    adminToken: settings.adminToken,
    jobs: {
      bodies: bodies.jobs,
      deskOf: (executionId) => parts.engines.deskOf(executionId),
      allowsHttp: settings.agent?.http === true,
    },
    callbacks: { httpRequests: parts.httpRequests, bodies: bodies.jobs },
    metrics,
    artifacts: parts.artifacts,
    ...(hops && {
      forwarding: {
        leading: leadership,
        hops,
        send: (url, init) => ports.way?.send(url, init) ?? fetch(url, init),
      },
    }),
    isReady: () => isReady(parts),
    onAnswering: (sent) => requests.add(sent),
    isPlainHttp: (context: Context<{ Bindings: HandlerInfo }>) =>
      hops?.senderOf(context.req.raw) === undefined &&
      runtime.peerOf === undefined &&
      isPlainHttp(context.env.remoteAddr.hostname, exposure),
  });
  const answer = (request: Request, arrival: HandlerInfo) => {
    const received = hops?.receive(request) ?? request;
    const answered = requests.refusal ?? refuseHost(request.headers) ??
      (received instanceof Response ? received : app.fetch(received, arrival));
    requests.add(answered);
    return request.method === "HEAD" ? withoutLength(answered) : answered;
  };
  const handler = withRequestQueue(
    // Deno may call it in the trace of what was done last.
    isTracing ? (request, arrival) => inTrace(undefined, () => answer(request, arrival)) : answer,
    parts.clock,
    () => parts.acceptor.isBusy,
  );
  const ports: Ports = runtime.listen(settings, handler, parts);
  const { listener } = ports;
  return ports;
}

async function isReady({ closing, store, worker, space }: Parts): Promise<boolean> {
  if (closing.signal.aborted || worker.isFull) return false;
  if (space.isShort || space.isShortForFiles) return false;
  return await deadline(store.probe(), READY_TIMEOUT_MS).catch(ignoreTimeout) ?? false;
}
