/**
 * `hooklaunch serve`: runs the service.
 *
 * @module
 */
import type { Command } from "commander";
import { getLogger } from "@logtape/logtape";
import { systemClock } from "../platform/clock.ts";
import type { Applied } from "../config/apply.ts";
import { InvalidInputError } from "../platform/errors.ts";
import { type Parts, Service, type ServiceSettings } from "../service/service.ts";
import { removeToken, tokenId } from "../store/records/tokens.ts";
import { setUpLogging } from "./console/logging.ts";
import {
  byteSize,
  environment,
  list,
  option,
  readConfiguration,
  wholeNumber,
} from "./input/options.ts";
import { TlsFiles } from "./input/tls_files.ts";

const MIB = 1024 * 1024;
const PAYLOAD_BYTES_MAX = 256 * MIB;
const CLEANUP_SCHEDULE = "17 * * * *";
const SWEEP_SCHEDULE = "* * * * *";

/**
 * A signal this soon after one before it is the same: the Ctrl-C of a terminal, or the signal of who
 * stops a whole process group, comes to the process and once more from `deno task`, which passes it on.
 */
const REPEAT_MS = 500;
const VARIABLES = `
Variables without a flag:
  HOOKLAUNCH_ADMIN_TOKEN  the operators' token, at least 16 characters; made at
                          the first start when not set
  HOOKLAUNCH_SECRET_KEY   the key of stored secrets, 32 bytes in base64 or hex;
                          secret.key in the data folder when not set`;

/** How long the process may take to end by itself once everything is closed. */
const EXIT_MS = 500;
/** How long after its deadline a stop may take: a remote database may not answer, and holds it up. */
const HANG_MS = 10_000;

const log = getLogger(["hooklaunch"]);

interface ServeOptions {
  host: string;
  port: number;
  data: string;
  config?: string;
  tlsCert?: string;
  tlsKey?: string;
  trustedProxy?: string[];
  publicUrl?: string;
  maxPayload: number;
  retentionDays: number;
  maxExecutions: number;
  stopTimeout: number;
  kv?: string;
  dev?: boolean;
  logFormat: "text" | "json";
  logLevel: "debug" | "info" | "warning" | "error";
}

/** Defines the command. */
export function defineServe(command: Command): void {
  const isTerminal = Deno.stderr.isTerminal();
  command
    .addOption(option("--host <address>", "address to listen on").default("127.0.0.1"))
    .addOption(
      option("--port <number>", "port to listen on, 0 for any free one")
        .argParser(wholeNumber(0, 65_535)).default(8000),
    )
    .addOption(option("--data <folder>", "folder that holds everything").default("./data"))
    .addOption(option("--config <file>", "projects and triggers to apply at start"))
    .addOption(option("--tls-cert <file>", "certificate chain, PEM"))
    .addOption(option("--tls-key <file>", "private key of the certificate, PEM"))
    .addOption(
      option(
        "--trusted-proxy <cidr>",
        "a proxy that is believed (repeatable; its variable takes several with commas)",
      ).argParser(list),
    )
    .addOption(option("--public-url <url>", "how the service is reached from outside"))
    .addOption(
      option("--max-payload <size>", "the longest body of a launch")
        .argParser(byteSize(PAYLOAD_BYTES_MAX)).default(16 * MIB, "16MiB"),
    )
    .addOption(
      option("--retention-days <number>", "days that ended runs are kept")
        .argParser(wholeNumber(1, 3_650)).default(30),
    )
    .addOption(
      option("--max-executions <number>", "how many executions run at once")
        .argParser(wholeNumber(1, 1_000)).default(navigator.hardwareConcurrency, "one a core"),
    )
    .addOption(
      option("--stop-timeout <seconds>", "how long work under way may take at a stop")
        .argParser(wholeNumber(0, 3_600)).default(8),
    )
    .addOption(
      option("--kv <url>", "a remote Deno KV for the database (with DENO_KV_ACCESS_TOKEN)"),
    )
    .option("--dev", "accept plain HTTP from this machine (env: HOOKLAUNCH_DEV=true)")
    .addOption(
      option("--log-format <format>", "how log lines are written").choices(["text", "json"])
        .default(isTerminal ? "text" : "json", "text in a terminal, else json"),
    )
    .addOption(
      option("--log-level <level>", "the least that is logged")
        .choices(["debug", "info", "warning", "error"]).default("info"),
    )
    .addHelpText("after", VARIABLES)
    .action(serve);
}

async function serve(options: ServeOptions): Promise<void> {
  await setUpLogging({ format: options.logFormat, level: options.logLevel });
  const { config } = options;
  const tlsFiles = tlsFilesOf(options);
  const tls = await tlsFiles?.read();
  const service = await Service.start(
    { ...settingsOf(options), ...(tls === undefined ? {} : { tls }) },
    { clock: systemClock, env: environment },
    async (parts) => {
      if (config === undefined) return;
      for await (const { kind, name, outcome, warnings } of applyFile(config, parts)) {
        const about = { [kind]: name };
        log.info(`${kind} {${kind}}: {outcome}`, { ...about, outcome });
        for (const { pointer, detail } of warnings) {
          log.warn(`${kind} {${kind}}: {pointer}: {detail}`, { ...about, pointer, detail });
        }
      }
    },
  );
  await showToken(service).catch(async (error) => {
    await service.close(0);
    throw error;
  });
  // Who reads that it listens may send a signal at once.
  const stopped = runUntilStopped(service, tlsFiles);
  announce(service, options);
  await Promise.all([stopped, warnOfUnusableSecrets(service.parts)]);
  // A client that does not read what it asked for would keep the process alive.
  Deno.unrefTimer(setTimeout(() => Deno.exit(), EXIT_MS));
}

async function warnOfUnusableSecrets({ triggers, closing }: Parts): Promise<void> {
  try {
    const counted = await triggers.countLocked();
    if (counted !== "none" && counted.locked > 0) {
      log.warn(
        "{locked} of {total} triggers refuse every request: their secrets cannot be decrypted with " +
          "this key. Start with the key that they were stored with, or give them anew",
        { ...counted },
      );
    }
    const { places, ...found } = await triggers.countMissing();
    if (found.missing === 0) return;
    log.warn(
      "{missing} of {total} triggers that were looked at refuse what is signed with secrets that are " +
        "missing: their environment variables are not set, or empty: {places}",
      { ...found, places: places.join(", ") },
    );
  } catch (error) {
    // A service that is stopping has closed its database meanwhile.
    if (closing.signal.aborted) return;
    log.error("Cannot look through the triggers' secrets: {error}", { error });
  }
}

/**
 * Runs a service with its periodic work until SIGTERM or SIGINT, or until another process has its
 * database. A later second signal ends it at once.
 */
export async function runUntilStopped(service: Service, tlsFiles?: TlsFiles): Promise<void> {
  const periodic = new AbortController();
  startPeriodicWork(service, periodic.signal);
  if (tlsFiles !== undefined) startRenewing(tlsFiles, service, periodic.signal);
  const { promise: stopped, resolve: stop } = Promise.withResolvers<string>();
  let asked_ms: number | undefined;
  const onSignal = (signal: Deno.Signal) => {
    const now_ms = systemClock.steady();
    asked_ms ??= now_ms;
    if (now_ms - asked_ms > REPEAT_MS) Deno.exit(1);
    stop(signal);
  };
  const onTerm = () => onSignal("SIGTERM");
  const onInt = () => onSignal("SIGINT");
  Deno.addSignalListener("SIGTERM", onTerm);
  Deno.addSignalListener("SIGINT", onInt);
  const { store: { lost }, settings: { stopTimeout_ms } } = service.parts;
  const onLost = () => stop("the loss of its database");
  lost.addEventListener("abort", onLost, { once: true });
  // It may have been lost while the service started.
  if (lost.aborted) onLost();
  log.info("Stopping after {reason}", { reason: await stopped });
  periodic.abort();
  Deno.unrefTimer(setTimeout(() => giveUp(stopTimeout_ms + HANG_MS), stopTimeout_ms + HANG_MS));
  await service.close(lost.aborted ? 0 : stopTimeout_ms);
  log.info("Stopped");
  // Whoever supervises the process is to start it again: it stands by then.
  if (lost.aborted) Deno.exitCode = 1;
  Deno.removeSignalListener("SIGTERM", onTerm);
  Deno.removeSignalListener("SIGINT", onInt);
}

/** Ends the process as it is. What it leaves is taken over at the next start, as after a kill. */
function giveUp(waited_ms: number): void {
  log.error("Not stopped after {waited_ms} ms: the process ends as it is", { waited_ms });
  Deno.exit(1);
}

function startPeriodicWork(service: Service, signal: AbortSignal): void {
  // No retries: each of them comes again by itself.
  const options = { signal, backoffSchedule: [] };
  Deno.cron("sweep", SWEEP_SCHEDULE, options, () => service.sweep());
  Deno.cron("cleanup", CLEANUP_SCHEDULE, options, async () => void await service.cleanUp());
}

function startRenewing(files: TlsFiles, service: Service, signal: AbortSignal): void {
  const options = { signal, backoffSchedule: [] };
  Deno.cron("certificate", SWEEP_SCHEDULE, options, () => files.renew(service));
}

/** Applies a configuration file to the database of a service that is starting. */
async function* applyFile(path: string, parts: Parts): AsyncGenerator<Applied> {
  const { applyText } = await import("../config/apply_text.ts");
  const { written, folder } = await readConfiguration(path);
  yield* applyText(written, path, parts, folder);
}

function settingsOf(options: ServeOptions): ServiceSettings {
  const adminToken = environment("HOOKLAUNCH_ADMIN_TOKEN");
  const secretKey = environment("HOOKLAUNCH_SECRET_KEY");
  return {
    host: options.host,
    port: options.port,
    data: options.data,
    trustedProxies: options.trustedProxy ?? [],
    dev: isDev(options),
    ...(options.publicUrl === undefined ? {} : { publicUrl: options.publicUrl }),
    payloadBytesMax: options.maxPayload,
    retention_days: options.retentionDays,
    executionsMax: options.maxExecutions,
    stopTimeout_ms: options.stopTimeout * 1_000,
    ...(adminToken === undefined ? {} : { adminToken }),
    ...(secretKey === undefined ? {} : { secretKey }),
    ...(options.kv === undefined ? {} : { kv: options.kv }),
  };
}

/** A variable that opens the door must say so in words: any value at all would not do. */
function isDev({ dev }: ServeOptions): boolean {
  const variable = environment("HOOKLAUNCH_DEV");
  if (dev !== undefined || variable === undefined || variable === "false") return dev ?? false;
  if (variable === "true") return true;
  throw new InvalidInputError("HOOKLAUNCH_DEV", `Expected true or false, found "${variable}"`);
}

function tlsFilesOf({ tlsCert, tlsKey }: ServeOptions): TlsFiles | undefined {
  if (tlsCert === undefined && tlsKey === undefined) return undefined;
  if (tlsCert === undefined || tlsKey === undefined) {
    throw new InvalidInputError(
      "the TLS settings",
      "Expected both --tls-cert and --tls-key, found only one of them",
    );
  }
  return new TlsFiles({ cert: tlsCert, key: tlsKey });
}

function announce(service: Service, { data }: ServeOptions): void {
  const { settings, exposure } = service.parts;
  log.info("Listening on {host} port {port}, reached as {url}, data in {data}", {
    host: settings.host,
    port: service.port,
    url: service.url,
    data,
  });
  if (settings.dev) {
    log.warn("Plain HTTP is accepted from this machine: --dev is for trying things out");
  } else if (!exposure.tls && settings.trustedProxies.length === 0) {
    log.warn(
      "Every request will be refused: give --tls-cert and --tls-key, or name the proxy that serves " +
        "HTTPS with --trusted-proxy, or use --dev to try things out on this machine",
    );
  } else if (settings.publicUrl === undefined) {
    log.warn(
      "Launch URLs begin with {url}, by which senders may not reach the service: --public-url names " +
        "what they use, and what those that sign their URL have signed",
      { url: service.url },
    );
  }
}

/** Shows the operators' token of a first start; where nobody can be shown it, there is none. */
async function showToken({ parts: { newToken, store } }: Service): Promise<void> {
  if (newToken === undefined) return;
  // The one time that it is shown: to the person at the terminal, not to the log. What goes to the
  // console may be sent to a collector, too.
  const shown = `\nYour operator's token, shown this once:\n\n  ${newToken}\n\n`;
  try {
    Deno.stderr.writeSync(new TextEncoder().encode(shown));
  } catch (error) {
    await removeToken(store, tokenId(newToken));
    throw error;
  }
}
