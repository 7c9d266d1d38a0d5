/**
 * The addresses of the public internet. Senders and operators choose URLs that the service fetches: without
 * this check a URL could reach what only this machine and its network can reach (SSRF).
 *
 * @module
 */
import { isIP } from "node:net";
import { AddressRanges, isLoopback } from "./ip_ranges.ts";

/** The ranges of the IPv4 special-purpose registry (RFC 6890) that are not public. */
const SPECIAL_V4 = [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/4",
  "240.0.0.0/4",
];
/**
 * Addresses among the public ones at which a cloud serves its machines alone: Azure's WireServer, with metadata and
 * keys of the machine. Those of others are in the ranges above, or are no global unicast.
 */
const CLOUD_V4 = ["168.63.129.16/32"];
const REFUSED_V4 = [...SPECIAL_V4, ...CLOUD_V4];
/** Global unicast (RFC 4291 section 2.4). The rest is mapped, local or multicast. */
const GLOBAL_V6 = ["2000::/3"];
/** Protocol assignments (with Teredo), documentation, 6to4, documentation again. */
const SPECIAL_V6 = ["2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"];
/** The prefix for IPv4 addresses behind NAT64, in the last 32 bits (RFC 6052). */
const NAT64 = "64:ff9b::";

/** The names of this machine (RFC 6761 section 6.3). */
const LOCALHOST = /(?:^|\.)localhost\.?$/;

const specialV4 = new AddressRanges(REFUSED_V4);
const globalV6 = new AddressRanges([...GLOBAL_V6, `${NAT64}/96`]);
const specialV6 = new AddressRanges([...SPECIAL_V6, ...REFUSED_V4.map(throughNat64)]);

/** Tells if an address belongs to the public internet; false for text that is no address. */
export function isPublic(address: string): boolean {
  if (isIP(address) === 4) return !specialV4.has(address);
  return globalV6.has(address) && !specialV6.has(address);
}

/** Tells whether a URL may lead to a public address, as far as its host says so. */
export function hasPublicHost(text: string): boolean {
  const host = hostOf(text);
  return !LOCALHOST.test(host) && (isIP(host) === 0 || isPublic(host));
}

/** Tells whether a host is the machine itself, as far as its name or address says so. */
export function isLocalHost(host: string): boolean {
  return LOCALHOST.test(host) || isLoopback(host);
}

/** Returns the host of a URL, an address of IPv6 without its brackets; "" for what is no URL. */
export function hostOf(text: string): string {
  return URL.parse(text)?.hostname.replace(/^\[|\]$/g, "") ?? "";
}

function throughNat64(range: string): string {
  const [address = "", bits] = range.split("/");
  return `${NAT64}${address}/${96 + Number(bits)}`;
}
