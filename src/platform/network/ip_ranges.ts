/**
 * IP addresses and ranges of them.
 *
 * @module
 */
import { BlockList, isIP } from "node:net";

/**
 * Returns true for an address such as `192.0.2.7`, and for a range such as `10.0.0.0/8` or
 * `fd00::/8`.
 */
export function isAddressRange(text: string): boolean {
  const [address = "", prefix, ...rest] = text.split("/");
  const family = isIP(address);
  // A zone, as in fe80::1%eth0, has a meaning on one machine only.
  if (family === 0 || rest.length > 0 || address.includes("%")) return false;
  if (prefix === undefined) return true;
  return /^\d{1,3}$/.test(prefix) && Number(prefix) <= (family === 6 ? 128 : 32);
}

/** A set of IP addresses. */
export class AddressRanges {
  readonly #list = new BlockList();
  readonly #isEmpty: boolean;

  /** @param ranges addresses and ranges for which {@linkcode isAddressRange} is true */
  constructor(ranges: readonly string[]) {
    this.#isEmpty = ranges.length === 0;
    for (const range of ranges) {
      const [address = "", prefix] = range.split("/");
      const isV6 = isIP(address) === 6;
      const bits = prefix === undefined ? (isV6 ? 128 : 32) : Number(prefix);
      this.#list.addSubnet(address, bits, isV6 ? "ipv6" : "ipv4");
    }
  }

  /** Returns true if a text is an address in one of the ranges. */
  has(address: string): boolean {
    if (this.#isEmpty) return false;
    const family = isIP(address);
    return family !== 0 && this.#list.check(address, family === 6 ? "ipv6" : "ipv4");
  }
}

/**
 * Returns true for an address of the machine itself (RFC 1122 section 3.2.1.3, RFC 4291 section
 * 2.5.3).
 */
export function isLoopback(address: string): boolean {
  return address === "::1" || (isIP(address) === 4 && address.startsWith("127."));
}

/**
 * Returns an address in the one way to write it (RFC 5952), without its zone; IPv4 that is mapped into IPv6 as
 * IPv4. Text that is no address stays as it is.
 */
export function canonicalAddress(text: string): string {
  if (isIP(text) !== 6) return text;
  const [address = ""] = text.split("%");
  const written = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const [, high, low] = /^::ffff:([\da-f]+):([\da-f]+)$/.exec(written) ?? [];
  if (high === undefined || low === undefined) return written;
  return [high, low].flatMap((part) => {
    const bits = parseInt(part, 16);
    return [bits >> 8, bits & 255];
  }).join(".");
}

/**
 * Returns the network that an address belongs to, as far as one sender can have many addresses: of
 * IPv6 the first 64 bits (RFC 4291 section 2.5.1), of IPv4 the address itself.
 */
export function networkOf(text: string): string {
  const address = canonicalAddress(text);
  if (isIP(address) !== 6) return address;
  const [front = "", back] = address.split("::");
  const groups = front === "" ? [] : front.split(":");
  const end = back === undefined || back === "" ? [] : back.split(":");
  const zeros = back === undefined ? 0 : 8 - groups.length - end.length;
  const all = [...groups, ...new Array<string>(zeros).fill("0"), ...end];
  return `${all.slice(0, 4).join(":")}::/64`;
}
