/**
 * The facts that several checks need, each found out once, when the first check asks.
 *
 * @module
 */
import { isIP } from "node:net";
import type { Cause } from "../../attention/cause.ts";
import type { ServiceState } from "../../http/api/service.ts";
import { HooklaunchError, messageOf } from "../../platform/errors.ts";
import type { Network } from "../../platform/network/connection.ts";
import { socketOfUrl } from "../../platform/network/own_socket.ts";
import { hostOf, isLocalHost } from "../../platform/network/public_addresses.ts";
import { addressOf, type ServiceAddress } from "../api/address.ts";
import { type ApiClient, ApiError } from "../api/client.ts";
import { type Certificate, certificateAt } from "./shown_certificate.ts";
import { askAt, type HttpAnswer } from "./http_answer.ts";
import { NotCheckedError } from "./result.ts";

/** The token does not allow it. */
export const FORBIDDEN = 403;
/** The number of a host's addresses that are tried. */
const ADDRESSES_MAX = 8;

/** The surroundings of the checks. Tests replace parts of them. */
export interface Surroundings {
  /** The address of the service, as `--url` has it. */
  url: string;
  /** The data folder, on the service's machine. */
  data: string | undefined;
  /** Makes a client of the API. Throws where there is no token. */
  client(): ApiClient;
  network: Network;
  /** The clock of this machine, in milliseconds since the epoch. */
  now(): number;
  /** The time that a connection, a handshake or an answer may take. */
  timeout_ms: number;
}

/** The addresses of the public host, and those that take a connection. */
interface Reached {
  port: number;
  addresses: string[];
  /** The reasons why others take none, by address. */
  failures: Map<string, string>;
}

/** The facts of a service. */
export class Facts implements Disposable {
  readonly #clients: Deno.HttpClient[] = [];
  readonly #ownAddress: () => Promise<ServiceAddress>;
  readonly #publicAddress: () => Promise<ServiceAddress>;
  readonly surroundings: Surroundings;
  readonly service: () => Promise<ServiceState>;
  readonly causes: () => Promise<Cause[]>;
  /** The URL of the service as senders see it. */
  readonly publicUrl: () => Promise<URL>;
  /** The same for checks behind the first, which says why there is none. */
  readonly knownUrl: () => Promise<URL>;
  /** The addresses of its host. */
  readonly addresses: () => Promise<string[]>;
  readonly reached: () => Promise<Reached>;
  readonly certificate: () => Promise<Certificate>;
  /** The answer of `/healthz` at the address of `--url`. */
  readonly ownHealth: () => Promise<HttpAnswer>;
  /** The answer of `/healthz` at the public URL. */
  readonly publicHealth: () => Promise<HttpAnswer>;

  constructor(surroundings: Surroundings) {
    this.surroundings = surroundings;
    const { url } = surroundings;
    this.#ownAddress = once(() => Promise.resolve(this.#trusting(addressOf(url))));
    this.#publicAddress = once(async () => this.#trusting(addressOf((await this.knownUrl()).href)));
    this.service = once(() => this.ask((api) => api.request<ServiceState>("GET", "service/")));
    this.causes = once(() => this.ask((api) => api.list<Cause>("attention/")));
    this.publicUrl = once(() => this.#findPublicUrl());
    this.knownUrl = once(() =>
      this.publicUrl().catch((error) => {
        if (!(error instanceof NotCheckedError)) throw error;
        throw new NotCheckedError("There is no public URL, or it is not known: see dns");
      })
    );
    this.addresses = once(() => this.#resolve());
    this.reached = once(() => this.#reach());
    this.certificate = once(() => this.#readCertificate());
    this.ownHealth = once(() => this.askOwn("/healthz"));
    this.publicHealth = once(() => this.askPublic("/healthz"));
  }

  /**
   * Makes a client of the API.
   *
   * @throws {NotCheckedError} when there is no token
   */
  client(): ApiClient {
    try {
      return this.surroundings.client();
    } catch (error) {
      throw new NotCheckedError(messageOf(error));
    }
  }

  /**
   * Asks the API.
   *
   * @throws {NotCheckedError} when it does not answer, or the token does not allow it
   */
  async ask<T>(question: (api: ApiClient) => Promise<T>): Promise<T> {
    try {
      return await question(this.client());
    } catch (error) {
      if (!(error instanceof HooklaunchError)) throw error;
      if (error instanceof NotCheckedError) {
        throw new NotCheckedError("The API is not asked: see the check api");
      }
      if (error instanceof ApiError && error.status === FORBIDDEN) {
        throw new NotCheckedError(error.message, "Use a token with the scope admin and no limits");
      }
      throw new NotCheckedError("The API does not answer: see the check api");
    }
  }

  /** Closes its connections. */
  [Symbol.dispose](): void {
    for (const client of this.#clients) client.close();
  }

  /** Asks for a path at the address of `--url`. */
  async askOwn(path: string): Promise<HttpAnswer> {
    return await askAt(await this.#ownAddress(), path, this.surroundings);
  }

  /** Asks for a path at the public URL. */
  async askPublic(path: string): Promise<HttpAnswer> {
    return await askAt(await this.#publicAddress(), path, this.surroundings);
  }

  /** Makes an address one whose certificate may be of an authority of the surroundings. */
  #trusting(address: ServiceAddress): ServiceAddress {
    const { caCerts } = this.surroundings.network;
    if (caCerts.length === 0 || address.init.client !== undefined) return address;
    const client = Deno.createHttpClient({ caCerts });
    this.#clients.push(client);
    return { ...address, init: { client } };
  }

  async #findPublicUrl(): Promise<URL> {
    const { url } = this.surroundings;
    const told = await this.service().then((service) => service.url, () => undefined);
    const text = told ?? (socketOfUrl(url) === undefined ? url : undefined);
    const found = text === undefined ? undefined : new URL(text);
    // A service that is being tried out: nobody else is to reach it.
    const isOwn = found?.protocol === "http:" && isLocalHost(hostOf(found.href));
    if (found === undefined || (isOwn && told === undefined)) {
      throw new NotCheckedError(
        "The public URL is not known: the API does not tell it",
        "Give it as --url, such as https://hooks.example.com",
      );
    }
    if (isOwn) {
      throw new NotCheckedError(
        `The service has no public URL: ${text} is this machine's own`,
        "Once senders are to reach it, start it with --acme, or with --public-url behind a proxy",
      );
    }
    return found;
  }

  async #resolve(): Promise<string[]> {
    const host = hostOf((await this.knownUrl()).href);
    if (isIP(host) !== 0) return [host];
    const found = await this.surroundings.network.resolve(host).catch(() => []);
    return [...new Set(found)].slice(0, ADDRESSES_MAX);
  }

  async #reach(): Promise<Reached> {
    const { port, protocol } = await this.knownUrl();
    const addresses = await this.addresses();
    if (addresses.length === 0) throw new NotCheckedError("The name has no address: see dns");
    const at = Number(port || (protocol === "https:" ? 443 : 80));
    const tried = await Promise.all(
      addresses.map(async (address) =>
        [address, await whyUnreachable(address, at, this.surroundings.timeout_ms)] as const
      ),
    );
    return {
      port: at,
      addresses: tried.flatMap(([address, why]) => why === undefined ? [address] : []),
      failures: new Map(
        tried.flatMap(([address, why]) => why === undefined ? [] : [[address, why]]),
      ),
    };
  }

  async #readCertificate(): Promise<Certificate> {
    const { href, protocol } = await this.knownUrl();
    if (protocol === "http:") {
      throw new NotCheckedError("The public URL is without TLS: see plain_http");
    }
    const { addresses: [address], port } = await this.reached();
    if (address === undefined) throw new NotCheckedError("No address can be reached: see port");
    const { network: { caCerts }, timeout_ms } = this.surroundings;
    return await certificateAt({ address, port, host: hostOf(href), caCerts }, timeout_ms);
  }
}

/** Returns why an address takes no connection; undefined when it does. */
async function whyUnreachable(
  hostname: string,
  port: number,
  timeout_ms: number,
): Promise<string | undefined> {
  const late = AbortSignal.timeout(timeout_ms);
  try {
    (await Deno.connect({ hostname, port, signal: late })).close();
    return undefined;
  } catch (error) {
    return late.aborted ? `no answer within ${timeout_ms / 1_000} s` : messageOf(error);
  }
}

function once<T>(find: () => Promise<T>): () => Promise<T> {
  let found: Promise<T> | undefined;
  return () => found ??= find();
}
