/**
 * The hosted service: it is open while there is something to do, and closed otherwise. While it is closed it reads and
 * writes nothing, and no other instance waits for it.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import { deadline } from "@std/async/deadline";
import { delay } from "@std/async/delay";
import { setUpLogging } from "../commands/console/logging.ts";
import { systemClock } from "../platform/clock.ts";
import { messageOf } from "../platform/errors.ts";
import { AddressRanges } from "../platform/network/ip_ranges.ts";
import { every } from "../platform/waiting/timers.ts";
import { ignoreTimeout } from "../platform/waiting/promises.ts";
import { unavailable } from "../http/problem.ts";
import { refuseAutomaticSpans } from "../telemetry/automatic_spans.ts";
import { type Configuration, readHostedConfiguration } from "./configuration.ts";
import type { CronName } from "./crons.ts";
import { missingAnswer } from "./missing.ts";
import { openHosted, type OpenService } from "./open.ts";
import { isBackupDue, isWorkPending } from "./pending_work.ts";
import { hostedPeerOf } from "./peer.ts";
import { type HostedSettings, hostedSettings } from "./settings.ts";

/** The longest wait of a request for the service to open. GitHub gives up after 10 s. */
const OPENING_MS_MAX = 8_000;
const RETRY_AFTER_S = 2;
/** The time in which a cron's work goes on before the next minute's cron does. */
const CRON_MS_MAX = 50_000;
const LOOK_MS = 250;
const MINUTE_MS = 60_000;
/** The tries of a request that only reads, while nobody leads. */
const READ_TRIES_MAX = 5;
const READ_PAUSE_MS = 1_000;
const READY_PATH = /^\/readyz\/?$/;
const LOG_LEVELS = ["debug", "info", "warning", "error"] as const;

const log = getLogger(["hooklaunch"]);

type Info = Deno.ServeHandlerInfo<Deno.NetAddr>;

/** Reads an environment variable; empty counts as not set. */
function environment(name: string): string | undefined {
  return Deno.env.get(name) || undefined;
}

/** Makes the hosted service of this process from its variables, and logs what is missing. */
export async function hostedService(): Promise<HostedService> {
  const level = LOG_LEVELS.find((each) => each === environment("HOOKLAUNCH_LOG_LEVEL")) ?? "info";
  await setUpLogging({ format: "json", level });
  refuseAutomaticSpans();
  const configuration = await readHostedConfiguration(environment);
  const settings = hostedSettings(environment, configuration);
  if (configuration?.mistake !== undefined) settings.missing.push(configuration.mistake);
  for (const sentence of settings.missing) {
    log.error("Something is missing: {sentence}", { sentence });
  }
  for (const sentence of settings.notes) log.warn("{sentence}", { sentence });
  return new HostedService(settings, configuration);
}

/** A service that opens when it is needed. */
export class HostedService {
  readonly #settings: HostedSettings;
  readonly #configuration: Configuration | undefined;
  #open: Promise<OpenService> | undefined;
  #closing: Promise<void> | undefined;
  /** The requests and crons under way. */
  #busy = 0;
  #idleTimer: ReturnType<typeof setTimeout> | undefined;
  #isStopping = false;
  /** Ends the looks for backups that are due. */
  #endLooks = () => {};

  constructor(settings: HostedSettings, configuration: Configuration | undefined) {
    this.#settings = settings;
    this.#configuration = configuration;
  }

  /** Things that are missing, each as a sentence without a full stop. */
  get missing(): readonly string[] {
    return this.#settings.missing;
  }

  /** Answers a request: opens the service for it where it is closed. */
  async answer(request: Request, info: Info): Promise<Response> {
    using _busy = this.#begin();
    void info.completed.catch(() => {}).finally(this.#beginUntil());
    let open: OpenService | undefined;
    try {
      // The platform serves HTTPS, and may not say so in the URL.
      const origin = `https://${new URL(request.url).host}`;
      open = await deadline(this.#opened(origin), OPENING_MS_MAX).catch(ignoreTimeout);
    } catch (error) {
      return missingAnswer(request, [`The database cannot be used: ${messageOf(error)}`]);
    }
    if (open === undefined) return unavailable(RETRY_AFTER_S);
    for (let tries = 1;; tries++) {
      const answer = unstored(await open.handler(request, info));
      const isRead = request.method === "GET" || request.method === "HEAD";
      // The leader has just closed or ended: another one leads in a moment.
      const isAsked = isRead && !READY_PATH.test(new URL(request.url).pathname);
      if (answer.status !== 503 || !isAsked || tries === READ_TRIES_MAX) return answer;
      await answer.body?.cancel();
      await delay(READ_PAUSE_MS);
    }
  }

  /** Does what a cron is for, until nothing is left to do here, or the next minute's cron goes on with it. */
  async cron(name: CronName): Promise<void> {
    const { missing, service: { performs } } = this.#settings;
    if (missing.length > 0 || performs === false || this.#isStopping) return;
    using _busy = this.#begin();
    try {
      if (name === "sweep" && this.#open === undefined && !await this.#isWorkPending()) return;
      const { service } = await this.#opened();
      if (name === "cleanup") return void (service.leads && await service.cleanUp());
      service.sweep();
      const until_ms = systemClock.steady() + CRON_MS_MAX;
      while (service.parts.isWorking() && systemClock.steady() < until_ms && !this.#isStopping) {
        await delay(LOOK_MS);
      }
    } catch (error) {
      log.error("Cannot do the work of the cron {name}: {error}", {
        name,
        error: messageOf(error),
      });
    }
  }

  /** Stops: gives the database back, so that another instance goes on at once. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    clearTimeout(this.#idleTimer);
    log.info("Stopping after SIGINT");
    await this.#close();
  }

  async #isWorkPending(): Promise<boolean> {
    using kv = await Deno.openKv();
    const now_ms = systemClock.now();
    const { service: { backup } } = this.#settings;
    return await isWorkPending(kv, now_ms) ||
      backup !== undefined && await isBackupDue(kv, backup, now_ms);
  }

  /** Counts something as under way until the result is disposed of. */
  #begin(): Disposable {
    const end = this.#beginUntil();
    return { [Symbol.dispose]: end };
  }

  #beginUntil(): () => void {
    this.#busy++;
    clearTimeout(this.#idleTimer);
    return () => {
      this.#busy--;
      if (this.#busy === 0) this.#closeWhenIdle();
    };
  }

  #closeWhenIdle(): void {
    clearTimeout(this.#idleTimer);
    if (this.#open === undefined || this.#isStopping) return;
    this.#idleTimer = setTimeout(() => void this.#closeIfIdle(), this.#settings.idle_ms);
  }

  async #closeIfIdle(): Promise<void> {
    const open = await this.#open?.catch(() => undefined);
    if (this.#busy > 0 || this.#isStopping) return;
    if (open?.service.parts.isWorking()) return this.#closeWhenIdle();
    await this.#close();
    log.info("Idle: closed until the next request");
  }

  /** Returns the service once it is open. */
  async #opened(origin = ""): Promise<OpenService> {
    await this.#closing;
    if (this.#open !== undefined) return await this.#open;
    const opening = openHosted(this.#settings.service, {
      origin,
      env: environment,
      configuration: this.#configuration,
      peerOf: (request, address) => hostedPeerOf(request, address, this.#exposure),
      begin: () => this.#begin(),
    });
    this.#open = opening;
    opening.then(({ service }) => {
      const { parts: { store } } = service;
      // The crons may reach other instances, while this one leads.
      if (service.parts.backups) {
        this.#endLooks = every(systemClock, MINUTE_MS, () => service.sweep());
      }
      // Another instance has taken this one for gone: the next request opens it anew.
      const onLost = () => {
        if (this.#open === opening) void this.#close();
      };
      store.lost.addEventListener("abort", onLost);
      // It may have done so during the start.
      if (store.lost.aborted) onLost();
    }, () => {
      if (this.#open === opening) this.#open = undefined;
    });
    return await opening;
  }

  #close(): Promise<void> {
    const open = this.#open;
    this.#open = undefined;
    this.#endLooks();
    if (open === undefined) return this.#closing ?? Promise.resolve();
    return this.#closing = open.then(({ service }) => service.close(), () => {}).finally(() => {
      this.#closing = undefined;
    });
  }

  get #exposure() {
    const { trustedProxies } = this.#settings.service;
    return { tls: true, dev: false, trustedProxies: new AddressRanges(trustedProxies) };
  }
}

/** Keeps an answer out of caches, unless it names how it may be kept. */
function unstored(response: Response): Response {
  if (response.headers.has("cache-control")) return response;
  const headers = new Headers(response.headers);
  headers.set("cache-control", "no-store");
  const { status, statusText, body } = response;
  return new Response(body, { status, statusText, headers });
}
