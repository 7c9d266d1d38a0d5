/**
 * The certificate that a service gets by itself, and the port on which the authority looks for it.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import { deadline } from "@std/async/deadline";
import { CertificateKeeper } from "../acme/keeper.ts";
import { covers, firstHost, isAddress } from "../acme/names.ts";
import type { AcmeSettings } from "../acme/settings.ts";
import type { ServiceSettings, Tls } from "../config/settings.ts";
import { answerPlain } from "../http/challenge_port.ts";
import { challengePortError } from "../http/listen_error.ts";
import { messageOf } from "../platform/errors.ts";
import { ignoreTimeout } from "../platform/waiting/promises.ts";
import type { Parts } from "./composition.ts";
import { LAST_ANSWERS_MS } from "./runtime.ts";

const HTTPS_PORT = 443;

const log = getLogger(["hooklaunch", "acme"]);

/** The service that is told of certificates. */
interface Told {
  renewTls(tls: Tls): void;
  leads(): boolean;
}

/** Gets the certificate of a service, and keeps it. */
export class Certificates {
  readonly keeper: CertificateKeeper;
  readonly #acme: AcmeSettings;
  readonly #settings: ServiceSettings;
  readonly #signal: AbortSignal;
  #plain: Deno.HttpServer | undefined;
  /** The reason why challenges cannot be answered. */
  #portReason: string | undefined;
  /** The port of HTTPS. */
  #port: number | undefined;

  private constructor(
    keeper: CertificateKeeper,
    { acme, settings, signal }: {
      acme: AcmeSettings;
      settings: ServiceSettings;
      signal: AbortSignal;
    },
  ) {
    this.keeper = keeper;
    this.#acme = acme;
    this.#settings = settings;
    this.#signal = signal;
  }

  /** Reads the certificate that is stored. */
  static async open(acme: AcmeSettings, parts: Parts): Promise<Certificates> {
    const keeper = await CertificateKeeper.open(acme, parts);
    return new Certificates(keeper, {
      acme,
      settings: parts.settings,
      signal: parts.closing.signal,
    });
  }

  /** Returns the address of the service by its first name; undefined where none is the name of a host. */
  url(port: number): string | undefined {
    const name = firstHost(this.#acme);
    return name && secureUrl(name, port);
  }

  /** Begins to answer challenges, and to order. */
  start(service: Told, port: number): void {
    this.#port = port;
    this.#listen();
    this.keeper.start({
      serve: (tls) => service.renewTls(tls),
      leads: () => service.leads(),
      signal: this.#signal,
    });
  }

  /** Does what is due. Call it each minute. */
  async tick(): Promise<void> {
    this.#listen();
    await this.keeper.tick();
  }

  /** Ends once the service has begun to stop. */
  async close(): Promise<void> {
    // It also waits for bodies that do not come.
    const closed = this.#plain?.shutdown() ?? Promise.resolve();
    await deadline(closed, LAST_ANSWERS_MS).catch(ignoreTimeout);
    await this.keeper.close();
  }

  #listen(): void {
    const { port, dnsHook } = this.#acme;
    if (dnsHook !== undefined || this.#plain !== undefined || this.#signal.aborted) return;
    const { host } = this.#settings;
    try {
      this.#plain = Deno.serve(
        { hostname: host, port, onListen() {} },
        (request) =>
          answerPlain(request, {
            challenge: (token) => this.keeper.challenge(token),
            secureUrl: (name) => this.#secureUrl(name),
          }),
      );
      this.#plain.finished.catch((error) => {
        log.error("Port {port} is not answered for a moment: {error}", {
          port,
          error: messageOf(error),
        });
        this.#plain = undefined;
      });
      if (this.#portReason !== undefined) {
        log.info("The authority's challenges are answered on port {port} now", { port });
      }
      this.#portReason = undefined;
      this.keeper.notePort(undefined);
    } catch (error) {
      const reason = challengePortError(error, { host, port });
      // It is tried again each minute.
      if (reason !== this.#portReason) log.error("{reason}", { reason });
      this.#portReason = reason;
      this.keeper.notePort(reason);
    }
  }

  #secureUrl(host: string): string {
    const { publicUrl } = this.#settings;
    if (publicUrl !== undefined) return publicUrl.replace(/\/+$/, "");
    const bare = host.replace(/^\[(.*)\]$/, "$1");
    const isNamed = this.#acme.names.some((name) => covers(name, bare));
    return secureUrl(isNamed ? bare : firstHost(this.#acme) ?? bare, this.#port ?? HTTPS_PORT);
  }
}

/** Returns the address of a service that serves HTTPS for a name. */
function secureUrl(name: string, port: number): string {
  const host = isAddress(name) && name.includes(":") ? `[${name}]` : name;
  return `https://${host}${port === HTTPS_PORT ? "" : `:${port}`}`;
}
