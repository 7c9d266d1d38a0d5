/**
 * The sender of a request: its address, and whether it came over HTTPS.
 *
 * @module
 */
import { isIP } from "node:net";
import { type AddressRanges, canonicalAddress, isLoopback } from "../platform/network/ip_ranges.ts";

/** The ways in which the service is reached. */
export interface Exposure {
  /** The service itself serves TLS. */
  tls: boolean;
  /** Accepts plain HTTP from loopback addresses; for trying things out. */
  dev: boolean;
  /** The proxies that are believed. */
  trustedProxies: AddressRanges;
}

/** The sender of a request. */
export interface Peer {
  /** The client's address; {@linkcode UNKNOWN_ADDRESS} where a proxy could not name it. */
  ip: string;
  /** True when the request came over HTTPS as far as the service can see. */
  secure: boolean;
}

/** The address of a client that a trusted proxy could not name. It is in no range of addresses. */
const UNKNOWN_ADDRESS = "unknown";

/** Returns the sender of a request. Headers are believed from trusted proxies alone. */
export function peerOf(headers: Headers, remoteAddress: string, exposure: Exposure): Peer {
  const address = plainAddress(remoteAddress);
  if (!exposure.trustedProxies.has(address)) {
    return { ip: address, secure: exposure.tls || (exposure.dev && isLoopback(address)) };
  }
  // Each proxy appends to these lists, so what the nearest one saw stands at the right.
  const protocol = headers.get("x-forwarded-proto")?.split(",").at(-1)?.trim().toLowerCase();
  return { ip: clientAddress(headers, address, exposure), secure: protocol === "https" };
}

/** Tells whether a request came over plain HTTP, and from no proxy that could know better. */
export function isPlainHttp(remoteAddress: string, { tls, trustedProxies }: Exposure): boolean {
  return !tls && !trustedProxies.has(plainAddress(remoteAddress));
}

/**
 * Reads the client's address from `X-Forwarded-For`: counted from the right, the first that is no trusted
 * proxy. The client wrote what stands further left, which proves nothing; so a hop that cannot be read
 * leaves the client unknown.
 */
function clientAddress(headers: Headers, proxy: string, exposure: Exposure): string {
  const list = headers.get("x-forwarded-for")?.trim() ?? "";
  if (list === "") return proxy;
  let client = proxy;
  for (const hop of list.split(",").toReversed()) {
    client = plainAddress(hop.trim());
    if (isIP(client) === 0) return UNKNOWN_ADDRESS;
    if (!exposure.trustedProxies.has(client)) break;
  }
  return client;
}

/** Returns an address without brackets, port and zone, in the one way to write it. */
function plainAddress(text: string): string {
  const bracketed = /^\[([^\]]*)\](?::\d+)?$/.exec(text)?.[1];
  if (bracketed !== undefined) return canonicalAddress(bracketed);
  return canonicalAddress(/^[\d.]+:\d+$/.test(text) ? text.slice(0, text.indexOf(":")) : text);
}
