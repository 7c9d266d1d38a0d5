/**
 * The service: all its parts put together, from the database to the open port.
 *
 * @module
 */
import type { Context } from "@hono/hono";
import { getLogger } from "@logtape/logtape";
import { performActions } from "./actions/mod.ts";
import { AddressRanges, isAddressRange, isLoopback } from "./addresses.ts";
import type { Clock } from "./clock.ts";
import { Engines } from "./engines/mod.ts";
import { createApp } from "./http/app.ts";
import { BodyReader } from "./http/body.ts";
import { type Exposure, peerOf } from "./http/peer.ts";
import { Pipelines } from "./pipelines/mod.ts";
import { Projects } from "./projects/mod.ts";
import { Acceptor } from "./runs/accept.ts";
import { cleanUp, type CleanupReport } from "./runs/cleanup.ts";
import { Quotas } from "./runs/quotas.ts";
import { Worker } from "./runs/worker.ts";
import type { Run } from "./store/runs.ts";
import { Space } from "./store/space.ts";
import { openStore, type Store } from "./store/store.ts";
import { TriggerLog } from "./store/trigger_log.ts";
import { createToken, hasTokens } from "./store/tokens.ts";
import { refuseAutomaticSpans } from "./telemetry.ts";
import { TriggerRegistry } from "./trigger/registry.ts";
import { openSecretBox } from "./trigger/secrets.ts";
import { InvalidInputError } from "./errors.ts";

const READY_TIMEOUT_MS = 1_000;
const ADMIN_TOKEN = /^[\x21-\x7e]{16,512}$/;

const log = getLogger(["hooklaunch"]);

/** What a service is told. */
export interface ServiceSettings {
  host: string;
  /** 0 takes any free port. */
  port: number;
  /** The data folder. */
  data: string;
  /** Certificate chain and private key, both PEM. */
  tls?: { cert: string; key: string };
  /** Addresses and CIDR ranges of proxies that are believed. */
  trustedProxies: readonly string[];
  /** Accept plain HTTP from loopback addresses. */
  dev: boolean;
  /** How the service is reached from outside, such as `https://hooks.example.com`. */
  publicUrl?: string;
  payloadBytesMax: number;
  retention_days: number;
  /** How many executions run at once. */
  executionsMax: number;
  /** How long requests, runs and executions under way may take when the service stops. */
  stopTimeout_ms: number;
  /** `HOOKLAUNCH_ADMIN_TOKEN`. */
  adminToken?: string;
  /** `HOOKLAUNCH_SECRET_KEY`. */
  secretKey?: string;
}

/** What a service takes from its surroundings. */
export interface Surroundings {
  clock: Clock;
  env(name: string): string | undefined;
}

/** A service that runs. */
export class Service {
  /** How the service is reached, without a slash at the end. */
  readonly url: string;
  readonly #parts: Parts;
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  #closed: Promise<void> | undefined;

  private constructor(parts: Parts, server: Deno.HttpServer<Deno.NetAddr>, url: string) {
    this.#parts = parts;
    this.#server = server;
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
    try {
      await prepare(parts);
      await parts.engines.start();
      await parts.pipelines.start();
      await parts.worker.start();
      await parts.space.start();
      const server = listen(settings, parts);
      const url = settings.publicUrl?.replace(/\/+$/, "") ?? ownUrl(settings, server.addr.port);
      parts.baseUrl = url;
      return new Service(parts, server, url);
    } catch (error) {
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
    return this.#server.addr.port;
  }

  /** Takes over pending work that was left behind. Call it each minute. */
  sweep(): void {
    this.#parts.worker.claim();
    this.#parts.triggerLog.turn();
  }

  /** Removes what has outlived its retention. Call it now and then. */
  cleanUp(): Promise<CleanupReport> {
    const { store, clock, projects, engines, settings, closing } = this.#parts;
    return cleanUp({
      store,
      clock,
      projects,
      engines,
      retention_days: settings.retention_days,
      signal: closing.signal,
    });
  }

  /**
   * Stops: no new requests; those under way, runs and executions may end until the deadline. What has
   * not ended then is found again at the next start.
   */
  close(deadline_ms = this.#parts.settings.stopTimeout_ms): Promise<void> {
    return this.#closed ??= this.#close(deadline_ms);
  }

  async #close(deadline_ms: number): Promise<void> {
    const { closing, clock } = this.#parts;
    const until_ms = clock.steady() + deadline_ms;
    closing.abort();
    await within(deadline_ms, this.#server.shutdown());
    await closeParts(this.#parts, Math.max(0, until_ms - clock.steady()));
  }
}

/** The parts of a service. */
export interface Parts {
  settings: ServiceSettings;
  clock: Clock;
  store: Store;
  triggers: TriggerRegistry;
  triggerLog: TriggerLog;
  projects: Projects;
  engines: Engines;
  pipelines: Pipelines;
  worker: Worker;
  acceptor: Acceptor;
  space: Space;
  exposure: Exposure;
  env: Surroundings["env"];
  closing: AbortController;
  /** A token that was made just now because there was none; show it once. */
  newToken: string | undefined;
  baseUrl: string;
}

async function openParts(
  settings: ServiceSettings,
  { clock, env }: Surroundings,
): Promise<Parts> {
  const exposure: Exposure = {
    tls: settings.tls !== undefined,
    dev: settings.dev,
    trustedProxies: new AddressRanges(settings.trustedProxies),
  };
  const store = await openStore(settings.data);
  try {
    const secrets = await openSecretBox(settings.data, settings.secretKey);
    const closing = new AbortController();
    const triggerLog = new TriggerLog(store, clock);
    const triggers = new TriggerRegistry({
      store,
      secrets,
      context: { clock, env, signal: closing.signal },
    });
    const projects = new Projects({ dataFolder: settings.data, clock, env });
    const engines = new Engines({
      store,
      projects,
      clock,
      dataFolder: settings.data,
      executionsMax: settings.executionsMax,
      onChange: (execution) => pipelines.changed(execution),
    });
    const pipelines = new Pipelines({ store, clock, engines });
    const services = { projects, engines, pipelines, store, clock };
    const worker = new Worker({
      store,
      clock,
      perform: (waiting, signal) => performActions(waiting, services, signal),
      onEnd: (run) => logFailures(triggerLog, run),
    });
    const space = new Space(settings.data);
    const acceptor = new Acceptor({
      store,
      clock,
      worker,
      space,
      quotas: new Quotas(store, clock),
    });
    const newToken = await firstToken(store, settings, clock);
    return {
      settings,
      clock,
      store,
      triggers,
      triggerLog,
      projects,
      engines,
      pipelines,
      worker,
      acceptor,
      space,
      exposure,
      env,
      closing,
      newToken,
      baseUrl: "",
    };
  } catch (error) {
    await store.close();
    throw error;
  }
}

function listen(settings: ServiceSettings, parts: Parts): Deno.HttpServer<Deno.NetAddr> {
  const { store, triggers, triggerLog, projects, engines, pipelines, worker, acceptor, exposure } =
    parts;
  const { closing, clock } = parts;
  const app = createApp({
    door: {
      clock,
      store,
      triggers,
      triggerLog,
      acceptor,
      worker,
      bodies: new BodyReader(),
      payloadBytesMax: settings.payloadBytesMax,
      peerOf: (context: Context<{ Bindings: Deno.ServeHandlerInfo<Deno.NetAddr> }>) =>
        peerOf(context.req.raw.headers, context.env.remoteAddr.hostname, exposure),
      baseUrl: () => parts.baseUrl,
      closing: closing.signal,
    },
    operator: {
      store,
      triggers,
      triggerLog,
      acceptor,
      projects,
      engines,
      pipelines,
      clock,
      env: parts.env,
      baseUrl: () => parts.baseUrl,
    },
    adminToken: settings.adminToken,
    isReady: () => isReady(parts),
  });
  const options = { hostname: settings.host, port: settings.port, onListen() {} };
  const handler: Deno.ServeHandler<Deno.NetAddr> = (request, info) => app.fetch(request, info);
  return settings.tls
    ? Deno.serve({ ...options, ...settings.tls }, handler)
    : Deno.serve(options, handler);
}

async function isReady({ closing, store, worker, space }: Parts): Promise<boolean> {
  if (closing.signal.aborted || worker.isFull || space.isShort) return false;
  return await within(READY_TIMEOUT_MS, store.probe()) ?? false;
}

async function closeParts(parts: Parts, deadline_ms: number): Promise<void> {
  const { closing, worker, engines, pipelines, triggerLog, space, store, clock } = parts;
  closing.abort();
  const until_ms = clock.steady() + deadline_ms;
  await worker.close(deadline_ms);
  await engines.close(Math.max(0, until_ms - clock.steady()));
  await pipelines.close();
  await triggerLog.close()
    .catch((error) => log.error("Cannot write the last of the trigger log: {error}", { error }));
  await space.close();
  await store.close();
}

function checkSettings(settings: ServiceSettings): void {
  const { adminToken, host, dev, publicUrl, trustedProxies } = settings;
  const fail = (what: string, detail: string) => {
    throw new InvalidInputError(what, [{ pointer: "", detail }]);
  };
  if (adminToken !== undefined && !ADMIN_TOKEN.test(adminToken)) {
    fail(
      "HOOKLAUNCH_ADMIN_TOKEN",
      "Expected 16 to 512 letters, digits or punctuation marks without blanks, " +
        `found ${adminToken.length} characters`,
    );
  }
  if (dev && !isLoopback(host) && host !== "localhost") {
    fail("--dev", `Expected a loopback address such as 127.0.0.1 as --host, found "${host}"`);
  }
  for (const range of trustedProxies) {
    if (isAddressRange(range)) continue;
    fail(
      "--trusted-proxy",
      `Expected an IP address or a range such as 10.0.0.0/8, found "${range}"`,
    );
  }
  if (publicUrl !== undefined && !/^https?:$/.test(URL.parse(publicUrl)?.protocol ?? "")) {
    fail("--public-url", `Expected a URL such as https://hooks.example.com, found "${publicUrl}"`);
  }
}

async function firstToken(
  store: Store,
  { adminToken }: ServiceSettings,
  clock: Clock,
): Promise<string | undefined> {
  if (adminToken !== undefined || await hasTokens(store)) return undefined;
  return await createToken(store, {
    name: "first",
    created_at: new Date(clock.now()).toISOString(),
  });
}

function ownUrl({ host, tls }: ServiceSettings, port: number): string {
  const name = host === "0.0.0.0" || host === "::" ? "localhost" : host;
  return `${tls ? "https" : "http"}://${name.includes(":") ? `[${name}]` : name}:${port}`;
}

/** Writes why actions of a run failed into its trigger's log. */
function logFailures(triggerLog: TriggerLog, run: Run): void {
  for (const [action_index, { action, error }] of run.actions.entries()) {
    if (error === undefined) continue;
    log.warn("Run {run_id}: {action} failed: {error}", { run_id: run.id, action, error });
    triggerLog.add(run.trigger_id, {
      kind: "action_failed",
      run_id: run.id,
      action,
      action_index,
      error,
    });
  }
}

/** Waits for a promise, but not for longer than `deadline_ms`; undefined when it took longer. */
async function within<T>(deadline_ms: number, work: Promise<T>): Promise<T | undefined> {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => resolve(undefined), deadline_ms);
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}
