/**
 * Connections to hosts that URLs name. A host name is resolved once, its addresses are checked, and the
 * connection goes to the very address that was checked: what the name stands for a moment later does not
 * matter (DNS rebinding).
 *
 * `node:https` with a `lookup` of its own would do as much, but takes the permission to read the system's
 * certificates; `fetch` takes no address to connect to.
 *
 * @module
 */
import { isIP } from "node:net";
import { messageOf } from "../../../platform/errors.ts";
import { unlessAborted } from "../../../platform/waiting/unless_aborted.ts";
import type { Network } from "./network.ts";
import { TransientError } from "./transient.ts";

const CONNECT_MS = 10_000;
/** How many of a host's addresses are tried, one after the other. */
const ADDRESSES_MAX = 4;

/** How connections are made. */
export interface ConnectOptions {
  network: Network;
  /** Whether addresses that are not public are allowed. */
  privateNetworks: boolean;
  /** Aborted when the connection is not wanted any more. */
  signal: AbortSignal;
}

/**
 * Connects to the host of an `http:` or `https:` URL.
 *
 * @throws {TransientError} when it cannot be reached
 * @throws when it must not be reached, or cannot prove that it is the host
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
  { network, privateNetworks, signal }: ConnectOptions,
): Promise<string[]> {
  const addresses = isIP(host) ? [host] : await resolved(host, network, signal);
  if (privateNetworks) return addresses;
  const allowed = addresses.filter((address) => network.isPublic(address));
  if (allowed.length > 0 || addresses.length === 0) return allowed;
  throw new Error(
    `its address ${
      addresses[0]
    } is not of the public internet, and such addresses are fetched from ` +
      "only when the setting inputs.private_networks of the project's engine is true",
  );
}

async function resolved(host: string, network: Network, signal: AbortSignal): Promise<string[]> {
  try {
    return await unlessAborted(network.resolve(host), signal);
  } catch (error) {
    signal.throwIfAborted();
    throw new TransientError(`its host is not found: ${messageOf(error)}`);
  }
}

/** @param host whose certificate the other side has to show; none when undefined */
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
    // Of what TLS finds wrong, nothing is other the next time.
    if (error instanceof Deno.errors.InvalidData) throw new Error(`TLS fails: ${error.message}`);
    throw new TransientError(`its host cannot be reached: ${messageOf(error)}`);
  } finally {
    clearTimeout(timer);
    limit.removeEventListener("abort", stop);
  }
}

/** Closes a connection, which may be closed. */
export function close(connection: Deno.Conn | undefined): void {
  try {
    connection?.close();
  } catch {
    // It is closed.
  }
}
