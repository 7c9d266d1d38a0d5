/**
 * `hooklaunch serve`: runs the service.
 *
 * @module
 */
import type { Command } from "commander";
import { getLogger } from "@logtape/logtape";
import { firstHost } from "../acme/names.ts";
import { systemClock } from "../platform/clock.ts";
import { ConflictError, InvalidInputError } from "../platform/errors.ts";
import { withBrackets } from "../platform/network/urls.ts";
import { type Parts, type Prepare, Service, type ServiceSettings } from "../service/service.ts";
import { FolderTakenError } from "../store/file/folder_lock.ts";
import { setUpLogging } from "./console/logging.ts";
import { acmeOf, type AcmeOptions, acmeOptions, publicAddress } from "./input/acme_options.ts";
import { agentOf, type AgentOptions, agentOptions } from "./input/agent_options.ts";
import { environment } from "./input/environment.ts";
import { byteSize, isSet, list, option, readConfiguration, wholeNumber } from "./input/options.ts";
import { TlsFiles } from "./input/tls_files.ts";
import { allVariables, unknownVariables } from "./input/variables.ts";
import { applyAtStart, applyFile } from "./process/apply_file.ts";
import { tellFirstToken } from "./process/first_token.ts";
import { startSettingsOf } from "./process/configured_settings.ts";
import { Reloading } from "./process/reloading.ts";

const MIB = 1024 * 1024;
const PAYLOAD_BYTES_MAX = 256 * MIB;
const CLEANUP_SCHEDULE = "17 * * * *";
const SWEEP_SCHEDULE = "* * * * *";

/**
 * A signal this soon after the first is the same one: the Ctrl-C of a terminal reaches the whole process
 * group, and `deno task` forwards it once more.
 */
const REPEAT_MS = 500;
const VARIABLES = `
Variables without a flag:
  HOOKLAUNCH_ADMIN_TOKEN  the operators' token, at least 16 characters; one is
                          created at the first start when not set, and
                          shown at a terminal or else written to a file
  HOOKLAUNCH_SECRET_KEY   the key that encrypts stored secrets, 32 bytes in base64
                          or hex; secret.key in the data folder when not set`;

/** The time that the process gets to end by itself once everything is closed. */
const EXIT_MS = 500;
/** The time after its deadline that a stop may take: a remote database may not answer. */
const HANG_MS = 10_000;

const log = getLogger(["hooklaunch"]);

interface ServeOptions extends AgentOptions, AcmeOptions {
  host: string;
  port: number;
  data: string;
  config?: string;
  strict?: boolean;
  tlsCert?: string;
  tlsKey?: string;
  trustedProxy?: string[];
  publicUrl?: string;
  maxPayload: number;
  retentionDays: number;
  maxExecutions: number;
  stopTimeout: number;
  kv?: string;
  storage?: string;
  instanceUrl?: string;
  dev?: boolean;
  mcp: boolean;
  wait?: boolean;
  logFormat: "text" | "json";
  logLevel: "debug" | "info" | "warning" | "error";
}

/** Defines the command. */
export function defineServe(command: Command): void {
  const isTerminal = Deno.stderr.isTerminal();
  command
    .addOption(option("--host <address>", "address to listen on").default("127.0.0.1"))
    .addOption(
      option("--port <number>", "port to listen on; 0 takes any free port")
        .argParser(wholeNumber(0, 65_535)).default(8000),
    )
    .addOption(option("--data <folder>", "folder for all data").default("./data"))
    .addOption(option("--config <file>", "projects and triggers to apply at start"))
    .option(
      "--strict",
      "end when that file has a mistake; without it, the last good one stays in use (env: HOOKLAUNCH_STRICT=true)",
    )
    .addOption(option("--tls-cert <file>", "certificate chain, PEM"))
    .addOption(option("--tls-key <file>", "private key of the certificate, PEM"));
  for (const each of acmeOptions()) command.addOption(each);
  command
    .addOption(
      option(
        "--trusted-proxy <cidr>",
        "a proxy to trust: address or range (repeatable; separate several in the variable with commas)",
      ).argParser(list),
    )
    .addOption(option("--public-url <url>", "the address of the service as senders see it"))
    .addOption(
      option("--max-payload <size>", "the longest body of a launch")
        .argParser(byteSize(PAYLOAD_BYTES_MAX)).default(16 * MIB, "16MiB"),
    )
    .addOption(
      option(
        "--retention-days <number>",
        "days to keep ended runs, where trigger and project say nothing else",
      )
        .argParser(wholeNumber(1, 3_650)).default(30),
    )
    .addOption(
      option("--max-executions <number>", "executions that run at once")
        .argParser(wholeNumber(1, 1_000)).default(navigator.hardwareConcurrency, "one a core"),
    )
    .addOption(
      option("--stop-timeout <seconds>", "time for work under way when the service stops")
        .argParser(wholeNumber(0, 3_600)).default(8),
    )
    .addOption(
      option("--kv <url>", "a remote Deno KV for the database (with DENO_KV_ACCESS_TOKEN)"),
    )
    .addOption(
      option(
        "--storage <url>",
        "an S3 bucket for artifacts (with AWS_ACCESS_KEY_ID and so on), or a shared folder",
      ),
    );
  for (const each of agentOptions()) command.addOption(each);
  command
    .addOption(
      option("--instance-url <url>", "with --kv, where other instances reach this one"),
    )
    .option(
      "--wait",
      "wait for a data folder that another process uses; the default under systemd (env: HOOKLAUNCH_WAIT=true)",
    )
    .option("--no-mcp", "answer no agents at /mcp (env: HOOKLAUNCH_MCP=false)")
    .option("--dev", "accept plain HTTP from this machine (env: HOOKLAUNCH_DEV=true)")
    .addOption(
      option("--log-format <format>", "format of log lines").choices(["text", "json"])
        .default(isTerminal ? "text" : "json", "text in a terminal, else json"),
    )
    .addOption(
      option("--log-level <level>", "the least level to log")
        .choices(["debug", "info", "warning", "error"]).default("info"),
    )
    .addHelpText("after", VARIABLES)
    .action(serve);
}

async function serve(given: ServeOptions, command: Command): Promise<void> {
  const options = { ...given, ...publicAddress(given, command) };
  await setUpLogging({ format: options.logFormat, level: options.logLevel });
  const { config } = options;
  const strict = isSet("HOOKLAUNCH_STRICT", options.strict);
  const tlsFiles = tlsFilesOf(options);
  const tls = await tlsFiles?.read();
  const configuration = config === undefined ? undefined : await readConfiguration(config);
  warnOfUnknownVariables(configuration?.written);
  const agent = await agentOf(options);
  const acme = await acmeOf(options);
  const service = await startedService(
    options,
    {
      ...settingsOf(options),
      ...(agent === undefined ? {} : { agent }),
      ...await startSettingsOf({ ...options, strict }, configuration),
      ...(tls === undefined ? {} : { tls }),
      ...(acme === undefined ? {} : { acme }),
    },
    async (parts) => {
      if (config === undefined || configuration === undefined) return;
      await applyAtStart(config, configuration, parts, { strict });
    },
  );
  await tellFirstToken(service.parts).catch(async (error) => {
    await service.close(0);
    throw error;
  });
  const { parts } = service;
  const reloading = new Reloading({
    service,
    tlsFiles,
    apply: config === undefined
      ? undefined
      : async () => await applyFile(config, await readConfiguration(config), parts),
  });
  parts.reload = () => reloading.run();
  // Before the line that says so: its reader may send a signal at once.
  const stopped = runUntilStopped(service, { tlsFiles, reloading });
  announce(service, options);
  await Promise.all([stopped, service.leads && warnOfUnusableSecrets(parts)]);
  // A client that does not read its answer would keep the process alive.
  Deno.unrefTimer(setTimeout(() => Deno.exit(), EXIT_MS));
}

/** Starts the service, once the data folder is free where it is to be waited for. */
async function startedService(
  { wait, data }: ServeOptions,
  settings: ServiceSettings,
  prepare: Prepare,
): Promise<Service> {
  const isChosen = wait !== undefined || environment("HOOKLAUNCH_WAIT") !== undefined;
  // systemd sets this variable for what it starts.
  const waits = isChosen
    ? isSet("HOOKLAUNCH_WAIT", wait)
    : environment("INVOCATION_ID") !== undefined;
  for (let isLogged = false;; isLogged = true) {
    try {
      return await Service.start(settings, { clock: systemClock, env: environment }, prepare);
    } catch (error) {
      if (!(error instanceof FolderTakenError)) throw error;
      if (!waits) throw new ConflictError(`${error.message}, or wait for its end with --wait`);
      if (!isLogged) log.info("Waiting for the process that uses the data folder {data}", { data });
    }
  }
}

/** Warns of variables that look like settings, unless a secret of the configuration file is in them. */
function warnOfUnknownVariables(configuration: Uint8Array | undefined): void {
  const named = new TextDecoder().decode(configuration);
  for (const { name, detail } of unknownVariables(allVariables())) {
    if (!named.includes(`env:${name}}`)) log.warn("{detail}", { detail });
  }
}

async function warnOfUnusableSecrets({ triggers, closing }: Parts): Promise<void> {
  try {
    const counted = await triggers.countLocked();
    if (counted !== "none" && counted.locked > 0) {
      log.warn(
        "{locked} of {total} triggers refuse every request: this key cannot decrypt their secrets. " +
          "Start with the key that encrypted them, or save the secrets again",
        { ...counted },
      );
    }
    const { places, ...found } = await triggers.countMissing();
    if (found.missing === 0) return;
    log.warn(
      "{missing} of {total} checked triggers have secrets in environment variables that are not set, or " +
        "empty. They refuse requests signed with these: {places}",
      { ...found, places: places.join(", ") },
    );
  } catch (error) {
    // A stopping service closes its database.
    if (closing.signal.aborted) return;
    log.error("Cannot check the triggers' secrets: {error}", { error });
  }
}

/** Files that are read anew while a service runs. */
interface ServedFiles {
  tlsFiles?: TlsFiles | undefined;
  reloading?: Reloading;
}

/**
 * Runs a service with its periodic work until SIGTERM or SIGINT, or until it loses its database. A later
 * second signal ends the process at once.
 */
export async function runUntilStopped(
  service: Service,
  { tlsFiles, reloading }: ServedFiles = {},
): Promise<void> {
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
  const hadTerminal = Deno.stderr.isTerminal();
  const onHangUp = () => {
    // Its terminal is gone, with who has started it there.
    if (reloading === undefined || hadTerminal && !Deno.stderr.isTerminal()) onSignal("SIGHUP");
    else void reloading.run();
  };
  Deno.addSignalListener("SIGHUP", onHangUp);
  Deno.addSignalListener("SIGTERM", onTerm);
  Deno.addSignalListener("SIGINT", onInt);
  const { store: { lost }, settings: { stopTimeout_ms } } = service.parts;
  const onLost = () => stop("the loss of its database");
  lost.addEventListener("abort", onLost, { once: true });
  // The database may have been lost during the start.
  if (lost.aborted) onLost();
  log.info("Stopping after {reason}", { reason: await stopped });
  periodic.abort();
  Deno.unrefTimer(setTimeout(() => giveUp(stopTimeout_ms + HANG_MS), stopTimeout_ms + HANG_MS));
  await service.close(lost.aborted ? 0 : stopTimeout_ms);
  log.info("Stopped");
  // A supervisor restarts the process, which then stands by.
  if (lost.aborted) Deno.exitCode = 1;
  Deno.removeSignalListener("SIGHUP", onHangUp);
  Deno.removeSignalListener("SIGTERM", onTerm);
  Deno.removeSignalListener("SIGINT", onInt);
}

/** Ends the process at once. The next start takes over its work, as after a kill. */
function giveUp(waited_ms: number): void {
  log.error("The service did not stop within {waited_ms} ms: ending the process", { waited_ms });
  Deno.exit(1);
}

function startPeriodicWork(service: Service, signal: AbortSignal): void {
  // No retries: the schedule repeats each.
  const options = { signal, backoffSchedule: [] };
  Deno.cron("sweep", SWEEP_SCHEDULE, options, () => service.sweep());
  Deno.cron("cleanup", CLEANUP_SCHEDULE, options, async () => {
    await (service.leads ? service.cleanUp() : service.tidy());
  });
}

function startRenewing(files: TlsFiles, service: Service, signal: AbortSignal): void {
  const options = { signal, backoffSchedule: [] };
  Deno.cron("certificate", SWEEP_SCHEDULE, options, () => files.renew(service));
}

function settingsOf(options: ServeOptions): ServiceSettings {
  const adminToken = environment("HOOKLAUNCH_ADMIN_TOKEN");
  const secretKey = environment("HOOKLAUNCH_SECRET_KEY");
  return {
    host: options.host,
    port: options.port,
    data: options.data,
    trustedProxies: options.trustedProxy ?? [],
    dev: isSet("HOOKLAUNCH_DEV", options.dev),
    mcp: options.mcp &&
      (environment("HOOKLAUNCH_MCP") === undefined || isSet("HOOKLAUNCH_MCP", undefined)),
    ...(options.publicUrl === undefined ? {} : { publicUrl: options.publicUrl }),
    payloadBytesMax: options.maxPayload,
    retention_days: options.retentionDays,
    executionsMax: options.maxExecutions,
    stopTimeout_ms: options.stopTimeout * 1_000,
    ...(adminToken === undefined ? {} : { adminToken }),
    ...(secretKey === undefined ? {} : { secretKey }),
    ...(options.kv === undefined ? {} : { kv: options.kv }),
    ...(options.instanceUrl === undefined
      ? {}
      : { instanceUrl: withBrackets(options.instanceUrl) }),
  };
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
    log.warn("Accepting plain HTTP from this machine: use --dev only to try things out");
    // Deno's server refuses a request with a body that asks for an upgrade before anyone sees it.
    log.info(
      "A POST over plain HTTP that asks for an upgrade to HTTP/2 gets an empty 400. Java's HttpClient asks " +
        "for it: set its version to HTTP_1_1, or use HTTPS",
    );
  } else if (!exposure.tls && settings.trustedProxies.length === 0) {
    log.warn(
      "The service refuses every request: give --acme, or --tls-cert and --tls-key, or name the proxy that serves " +
        "HTTPS with --trusted-proxy, or use --dev to try things out on this machine",
    );
  } else if (settings.publicUrl === undefined && !(settings.acme && firstHost(settings.acme))) {
    log.warn(
      "Launch URLs begin with {url}, which senders may not reach. Set --public-url to the address that " +
        "senders use; schemes that sign the URL need it too",
      { url: service.url },
    );
  }
}
