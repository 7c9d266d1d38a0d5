/**
 * The settings of a service, and their check.
 *
 * @module
 */
import { type AcmeSettings, checkAcme } from "../acme/settings.ts";
import type { ArtifactStore } from "../artifacts/store.ts";
import type { BackupSettings } from "../backup/scheduled/settings.ts";
import { type AgentAddress, checkAgentAddress } from "../engines/remote/agent.ts";
import type { Network } from "../platform/network/connection.ts";
import type { PaceLimit } from "../store/records/pace.ts";
import { isAddressRange, isLoopback } from "../platform/network/ip_ranges.ts";
import { hideUserInfo, isBaseUrl } from "../platform/network/urls.ts";
import type { Clock } from "../platform/clock.ts";
import { InvalidInputError } from "../platform/errors.ts";

const ADMIN_TOKEN = /^[\x21-\x7e]{16,512}$/;

/** Certificate chain and private key, both PEM. */
export interface Tls {
  cert: string;
  key: string;
}

/** The settings of a service. */
export interface ServiceSettings {
  host: string;
  /** 0 takes any free port. */
  port: number;
  /** The data folder. */
  data: string;
  /** The certificate at the start; see `Service.renewTls`. */
  tls?: Tls;
  /** The settings by which the service gets its certificate by itself. */
  acme?: AcmeSettings;
  /** Addresses and CIDR ranges of proxies whose `X-Forwarded-*` headers are trusted. */
  trustedProxies: readonly string[];
  /** Accept plain HTTP from loopback addresses. */
  dev: boolean;
  /** False to answer no agents at `/mcp`. */
  mcp?: boolean;
  /** The address of the service as senders see it, such as `https://hooks.example.com`. */
  publicUrl?: string;
  payloadBytesMax: number;
  retention_days: number;
  /** The number of executions that run at once. */
  executionsMax: number;
  /** The time that requests, runs and executions under way get when the service stops. */
  stopTimeout_ms: number;
  /** `HOOKLAUNCH_ADMIN_TOKEN`. */
  adminToken?: string;
  /** `HOOKLAUNCH_SECRET_KEY`. */
  secretKey?: string;
  /** The address at which jobs of other machines reach the service. */
  agent?: AgentAddress;
  /** The artifact store, such as `s3://bucket/prefix`; a folder of the data folder when absent. */
  storage?: string;
  /** The scheduled backups; none when absent. */
  backup?: BackupSettings;
  /** False to accept launches and perform nothing, as where a platform runs a branch. Default true. */
  performs?: boolean;
  /** Lower limits of runs that wait for their turn. Tests set them. */
  paceLimits?: Partial<Record<PaceLimit, number>>;
  /** The URL of a remote Deno KV for the database; a file in the data folder when absent. */
  kv?: string;
  /** The address at which other instances of the service reach this one. */
  instanceUrl?: string;
  /** Settings without which less works. */
  notes?: readonly SettingNote[];
}

/** A setting without which less works. */
interface SettingNote {
  /** A sentence without a full stop. */
  text: string;
  /** The time since which it is so, in milliseconds since the epoch. */
  since_ms: number;
}

/** The clock and the environment of a service. */
export interface Surroundings {
  clock: Clock;
  env(name: string): string | undefined;
  /** The artifact store. Default: the one that the settings name. */
  artifacts?: ArtifactStore;
  /** The network to which actions send requests. Default: that of the system. */
  network?: Network;
}

/**
 * Checks the settings of a service.
 *
 * @throws {InvalidInputError} when a setting is wrong
 */
export function checkSettings(settings: ServiceSettings): void {
  const { adminToken, host, dev, publicUrl, trustedProxies, kv, secretKey, agent } = settings;
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
        `password, found "${hideUserInfo(publicUrl)}"`,
    );
  }
  if (settings.acme !== undefined) {
    checkAcme(settings.acme);
    if (settings.tls !== undefined || dev) {
      throw new InvalidInputError(
        "--acme",
        `Expected it without ${
          dev ? "--dev" : "--tls-cert"
        }: it serves HTTPS with a certificate of its own`,
      );
    }
  }
  if (agent !== undefined) checkAgentAddress(agent, { isElsewhere: false });
  if (kv !== undefined) checkRemote(kv, secretKey);
  const { instanceUrl } = settings;
  if (instanceUrl !== undefined && !isBaseUrl(instanceUrl)) {
    throw new InvalidInputError(
      "--instance-url",
      "Expected a URL such as http://10.0.0.5:8000, without a query, a fragment or a password, " +
        `found "${hideUserInfo(instanceUrl)}"`,
    );
  }
}

/**
 * Checks the settings that a remote Deno KV needs.
 *
 * @throws {InvalidInputError} when its URL is not one, or the key that its machines share is missing
 */
export function checkRemote(kv: string, secretKey: string | undefined): void {
  checkRemoteUrl(kv);
  if (secretKey === undefined) {
    throw new InvalidInputError(
      "HOOKLAUNCH_SECRET_KEY",
      "Expected a key, found none: with --kv each machine needs the same key. " +
        "Create one with: openssl rand -base64 32",
    );
  }
}

/**
 * Checks the URL of a remote Deno KV.
 *
 * @throws {InvalidInputError} when it is not one
 */
export function checkRemoteUrl(kv: string): void {
  // Deno takes any other text as the name of a file.
  if (isBaseUrl(kv)) return;
  throw new InvalidInputError(
    "--kv",
    "Expected the URL of a Deno KV such as https://kv.example.com, without a query, a fragment or a " +
      "password (its token is in DENO_KV_ACCESS_TOKEN), found something else",
  );
}
