/**
 * What fetching takes of its surroundings.
 *
 * @module
 */
import { lookup } from "node:dns/promises";
import { isPublic } from "./allowed_addresses.ts";

/** The network, as fetching sees it. */
export interface Network {
  /** The addresses of a host name, as the system resolves it. */
  resolve(host: string): Promise<string[]>;
  /** Whether an address may be fetched from by everyone. */
  isPublic(address: string): boolean;
  /** Certificates in PEM that are trusted beside those that Deno trusts. */
  caCerts: string[];
  /** How long to wait after each try that failed, in milliseconds; the last try is one more. */
  backoff_ms: readonly number[];
  /** After how long without a byte those who wait are told, in milliseconds. */
  silence_ms: number;
}

/** The machine's network. */
export const systemNetwork: Network = {
  resolve: async (host) => (await lookup(host, { all: true })).map(({ address }) => address),
  isPublic,
  caCerts: [],
  backoff_ms: [500, 2_000],
  silence_ms: 30_000,
};
