/**
 * Who sends a request, and whether it came over HTTPS.
 *
 * @module
 */
import { isIP } from "node:net";
import { type AddressRanges, isLoopback } from "../platform/network/ip_ranges.ts";

/** How the service is reached. */
export interface Exposure {
  /** The service itself serves TLS. */
  tls: boolean;
  /** Accept plain HTTP from loopback addresses; for trying things out. */
  dev: boolean;
  /** The proxies that are believed. */
  trustedProxies: AddressRanges;
}

/** What is known of a request's sender. */
export interface Peer {
  /** The client's address. */
  ip: string;
  /** Whether the request came over HTTPS all the way that can be seen. */
  secure: boolean;
}

/** Tells who sent a request. Headers are believed from trusted proxies alone. */
export function peerOf(headers: Headers, remoteAddress: string, exposure: Exposure): Peer {
  const address = plainAddress(remoteAddress);
  if (!exposure.trustedProxies.has(address)) {
    return { ip: address, secure: exposure.tls || (exposure.dev && isLoopback(address)) };
  }
  // Each proxy appends to these lists, so what the nearest one saw stands at the right.
  const protocol = headers.get("x-forwarded-proto")?.split(",").at(-1)?.trim().toLowerCase();
  return { ip: clientAddress(headers, address, exposure), secure: protocol === "https" };
}

/**
 * The client's address by `X-Forwarded-For`: counted from the right, the first that is no trusted
 * proxy. What stands further left was written by the client and proves nothing.
 */
function clientAddress(headers: Headers, proxy: string, exposure: Exposure): string {
  let client = proxy;
  const hops = headers.get("x-forwarded-for")?.split(",") ?? [];
  for (const hop of hops.toReversed()) {
    const address = plainAddress(hop.trim());
    if (isIP(address) === 0) break;
    client = address;
    if (!exposure.trustedProxies.has(address)) break;
  }
  return client;
}

/** An address without brackets, port or zone; IPv4 that is mapped into IPv6 as IPv4. */
function plainAddress(text: string): string {
  let address = /^\[([^\]]*)\](?::\d+)?$/.exec(text)?.[1] ?? text;
  if (/^[\d.]+:\d+$/.test(address)) address = address.slice(0, address.indexOf(":"));
  const zone = address.indexOf("%");
  if (zone >= 0) address = address.slice(0, zone);
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address);
  return mapped?.[1] ?? address;
}
