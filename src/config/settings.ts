/**
 * What a service is told, and what of it cannot be.
 *
 * @module
 */
import { isAddressRange, isLoopback } from "../platform/network/ip_ranges.ts";
import { hidePassword, isBaseUrl } from "../platform/network/urls.ts";
import type { Clock } from "../platform/clock.ts";
import { InvalidInputError } from "../platform/errors.ts";

const ADMIN_TOKEN = /^[\x21-\x7e]{16,512}$/;

/** Certificate chain and private key, both PEM. */
export interface Tls {
  cert: string;
  key: string;
}

/** What a service is told. */
export interface ServiceSettings {
  host: string;
  /** 0 takes any free port. */
  port: number;
  /** The data folder. */
  data: string;
  /** As it is at the start; see `Service.renewTls`. */
  tls?: Tls;
  /** Addresses and CIDR ranges of proxies that are believed. */
  trustedProxies: readonly string[];
  /** Accept plain HTTP from loopback addresses. */
  dev: boolean;
  /** How the service is reached from outside, such as `https://hooks.example.com`. */
  publicUrl?: string;
  payloadBytesMax: number;
  retention_days: number;
  /** How many executions run at once. */
  executionsMax: number;
  /** How long requests, runs and executions under way may take when the service stops. */
  stopTimeout_ms: number;
  /** `HOOKLAUNCH_ADMIN_TOKEN`. */
  adminToken?: string;
  /** `HOOKLAUNCH_SECRET_KEY`. */
  secretKey?: string;
  /** The URL of the remote Deno KV that is the database; without it, it is a file in the data folder. */
  kv?: string;
}

/** What a service takes from its surroundings. */
export interface Surroundings {
  clock: Clock;
  env(name: string): string | undefined;
}

/**
 * Checks what a service is told.
 *
 * @throws {InvalidInputError} when a setting is not what it must be
 */
export function checkSettings(settings: ServiceSettings): void {
  const { adminToken, host, dev, publicUrl, trustedProxies, kv, secretKey } = settings;
  if (adminToken !== undefined && !ADMIN_TOKEN.test(adminToken)) {
    throw new InvalidInputError(
      "HOOKLAUNCH_ADMIN_TOKEN",
      "Expected 16 to 512 letters, digits or punctuation marks without blanks, " +
        `found ${adminToken.length} characters`,
    );
  }
  if (dev && !isLoopback(host) && host !== "localhost") {
    throw new InvalidInputError(
      "--dev",
      `Expected a loopback address such as 127.0.0.1 as --host, found "${host}"`,
    );
  }
  for (const range of trustedProxies) {
    if (isAddressRange(range)) continue;
    throw new InvalidInputError(
      "--trusted-proxy",
      `Expected an IP address or a range such as 10.0.0.0/8, found "${range}"`,
    );
  }
  if (publicUrl !== undefined && !isBaseUrl(publicUrl)) {
    throw new InvalidInputError(
      "--public-url",
      "Expected a URL such as https://hooks.example.com, without a query, a fragment or a " +
        `password, found "${hidePassword(publicUrl)}"`,
    );
  }
  if (kv !== undefined) checkRemote(kv, secretKey);
}

/**
 * Checks what a remote Deno KV needs.
 *
 * @throws {InvalidInputError} when its URL is none, or there is no key that all its machines have
 */
export function checkRemote(kv: string, secretKey: string | undefined): void {
  // Deno would take any other text for the name of a file.
  if (!isBaseUrl(kv)) {
    throw new InvalidInputError(
      "--kv",
      "Expected the URL of a Deno KV such as https://kv.example.com, without a query, a fragment or a " +
        "password (its token is DENO_KV_ACCESS_TOKEN), found another text",
    );
  }
  if (secretKey === undefined) {
    throw new InvalidInputError(
      "HOOKLAUNCH_SECRET_KEY",
      "Expected a key, as --kv is given: each machine that is to use the database needs the same one, " +
        "found none; make one with: openssl rand -base64 32",
    );
  }
}
