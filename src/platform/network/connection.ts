/**
 * Connections to the hosts of URLs that senders and operators name. The host name is resolved once, its addresses are checked, and the
 * connection goes to a checked address: so DNS rebinding has no effect.
 *
 * `node:https` with its own `lookup` needs the permission to read the system's certificates, and `fetch`
 * cannot connect to a given address. So the connection is made here.
 *
 * @module
 */
import { abortable } from "@std/async/abortable";
import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { messageOf } from "../errors.ts";
import { FetchError, TransientError } from "./fetch_errors.ts";
import { isPublic } from "./public_addresses.ts";

const CONNECT_MS = 10_000;
/** The number of a host's addresses that are tried, one after the other. */
const ADDRESSES_MAX = 4;

/** The network and its limits. Tests replace parts of it. */
export interface Network {
  /** Resolves a host name to addresses. */
  resolve(host: string): Promise<string[]>;
  /** Tells if everyone may fetch from an address. */
  isPublic(address: string): boolean;
  /** Certificates in PEM that are trusted in addition to Deno's. */
  caCerts: string[];
}

/** The machine's network. */
export const systemNetwork: Network = {
  resolve: async (host) => (await lookup(host, { all: true })).map(({ address }) => address),
  isPublic,
  caCerts: [],
};

/** Options of a connection. */
export interface ConnectOptions {
  network: Network;
  /** True when addresses that are not public are allowed. */
  privateNetworks: boolean;
  /** The setting that allows them, for the message; undefined behind a redirect where none does. */
  setting: string | undefined;
  /** Aborted when the connection is not needed any more. */
  signal: AbortSignal;
}

/**
 * Connects to the host of an `http:` or `https:` URL.
 *
 * @throws {TransientError} when the host cannot be reached
 * @throws {FetchError} when the host must not be reached, or its certificate is not valid
 */
export async function connect(url: URL, options: ConnectOptions): Promise<Deno.Conn> {
  const isSecure = url.protocol === "https:";
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const port = Number(url.port || (isSecure ? 443 : 80));
  const addresses = await allowedAddresses(host, options);
  let failure: unknown;
  for (const address of addresses.slice(0, ADDRESSES_MAX)) {
    try {
      return await connectTo(address, port, isSecure ? host : undefined, options);
    } catch (error) {
      options.signal.throwIfAborted();
      failure = error;
    }
  }
  throw failure ?? new TransientError("its host has no address");
}

async function allowedAddresses(
  host: string,
  { network, privateNetworks, setting, signal }: ConnectOptions,
): Promise<string[]> {
  const addresses = isIP(host) ? [host] : await resolved(host, network, signal);
  if (privateNetworks) return addresses;
  const allowed = addresses.filter((address) => network.isPublic(address));
  if (allowed.length > 0 || addresses.length === 0) return allowed;
  const hint = setting === undefined
    ? "a redirect to another origin must lead to one"
    : `to allow others, set ${setting} to true`;
  throw new FetchError(`its host has no public address: ${hint}`);
}

async function resolved(host: string, network: Network, signal: AbortSignal): Promise<string[]> {
  try {
    return await abortable(network.resolve(host), signal);
  } catch (error) {
    signal.throwIfAborted();
    throw new TransientError(`its host is not found: ${messageOf(error)}`);
  }
}

/** @param host the host that the certificate must name; undefined for a connection without TLS */
async function connectTo(
  address: string,
  port: number,
  host: string | undefined,
  { network, signal }: ConnectOptions,
): Promise<Deno.Conn> {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), CONNECT_MS);
  const limit = AbortSignal.any([signal, late.signal]);
  let connection: Deno.Conn | undefined;
  const stop = () => close(connection);
  limit.addEventListener("abort", stop);
  try {
    const plain = connection = await Deno.connect({ hostname: address, port, signal: limit });
    if (host === undefined) return plain;
    const { caCerts } = network;
    const secure = connection = await Deno.startTls(plain, { hostname: host, caCerts });
    await secure.handshake();
    return secure;
  } catch (error) {
    close(connection);
    if (late.signal.aborted) {
      throw new TransientError(`its host does not answer within ${CONNECT_MS / 1_000} s`);
    }
    // A certificate does not become valid by a second try.
    if (error instanceof Deno.errors.InvalidData) {
      throw new FetchError(`TLS fails: ${error.message}`);
    }
    throw new TransientError(`its host cannot be reached: ${messageOf(error)}`);
  } finally {
    clearTimeout(timer);
    limit.removeEventListener("abort", stop);
  }
}

/** Closes a connection, unless it is closed. */
export function close(connection: Deno.Conn | undefined): void {
  try {
    connection?.close();
  } catch {
    // It is closed.
  }
}
