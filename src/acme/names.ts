/**
 * The names of a certificate: domains and IP addresses.
 *
 * @module
 */
import { isIP, isIPv4 } from "node:net";
import { canonicalAddress } from "../platform/network/ip_ranges.ts";

const NAMES_MAX = 100;
const LABEL = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?";
const DOMAIN = new RegExp(`^(?:\\*\\.)?(?:${LABEL}\\.)+${LABEL}$`);
const DOMAIN_LENGTH_MAX = 253;

/** Returns true for an IP address. */
export function isAddress(name: string): boolean {
  return isIP(name) !== 0;
}

/** Returns the bytes of an IP address. */
export function addressBytes(address: string): Uint8Array<ArrayBuffer> {
  if (isIPv4(address)) return Uint8Array.from(address.split(".").map(Number));
  // The URL parser writes an address of version 6 with an IPv4 part in hexadecimal digits alone.
  const [head = "", tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split("::");
  const groups = (text: string) =>
    text === "" ? [] : text.split(":").map((each) => parseInt(each, 16));
  const before = groups(head);
  const behind = groups(tail ?? "");
  const zeros = tail === undefined ? 0 : 8 - before.length - behind.length;
  const all = [...before, ...new Array<number>(zeros).fill(0), ...behind];
  return Uint8Array.from(all.flatMap((group) => [group >> 8, group & 0xff]));
}

/** Returns the first name that is not one for several hosts. */
export function firstHost({ names }: { names: readonly string[] }): string | undefined {
  return names.find((name) => !name.startsWith("*."));
}

/** Returns true when a name of a certificate, such as `*.example.com`, is that of a host. */
export function covers(name: string, host: string): boolean {
  return name === host || name.startsWith("*.") && name.slice(1) === host.slice(host.indexOf("."));
}

/**
 * Reads the names of a certificate: in lower case, each once.
 *
 * @returns what is wrong, as a sentence without a full stop, when they cannot be ordered
 */
export function readNames(given: readonly string[]): { names: string[] } | { wrong: string } {
  const names: string[] = [];
  for (const text of given) {
    const bare = text.replace(/^\[(.*)\]$/, "$1").replace(/\.$/, "").toLowerCase();
    const name = isAddress(bare) ? canonicalAddress(bare) : bare;
    if (!isAddress(name) && !(DOMAIN.test(name) && name.length <= DOMAIN_LENGTH_MAX)) {
      return {
        wrong: `Expected a domain such as hooks.example.com or an IP address, found "${text}"` +
          (/[^\x21-\x7e]/.test(name) ? "; write a domain with other letters as xn--…" : ""),
      };
    }
    if (!names.includes(name)) names.push(name);
  }
  if (names.length > NAMES_MAX) {
    return { wrong: `Expected at most ${NAMES_MAX} names, found ${names.length}` };
  }
  return { names };
}
