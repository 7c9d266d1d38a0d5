/**
 * The settings of a hosted service, from its variables.
 *
 * @module
 */
import { parseS3Location, s3Credentials } from "../artifacts/s3/location.ts";
import type { BackupSettings } from "../backup/scheduled/settings.ts";
import { HooklaunchError, InvalidInputError, messageOf } from "../platform/errors.ts";
import { isBaseUrl } from "../platform/network/urls.ts";
import { parseByteSize } from "../platform/text/byte_size.ts";
import { checkSettings, type ServiceSettings } from "../config/settings.ts";
import { parseKeys } from "../triggers/key_text.ts";

const MIB = 1024 * 1024;
const PAYLOAD_MAX = 16 * MIB;
const RETENTION_DAYS_MAX = 3_650;
/** An instance takes some seconds to join others: one that closes sooner is never there for long. */
const IDLE_S = 10;
const IDLE_S_MAX = 3_600;
/** The platform kills 5 s after SIGINT: this leaves the time to give the database back. */
const STOP_TIMEOUT_MS = 2_500;

/** Reads an environment variable. */
type Env = (name: string) => string | undefined;

/** The settings of a hosted service. */
export interface HostedSettings {
  service: ServiceSettings;
  /** The time without requests and work after which the service closes. */
  idle_ms: number;
  /** Things that are missing, each as a sentence without a full stop. Without them the service does not begin. */
  missing: string[];
  /** Things that work less than they could, likewise. */
  notes: string[];
}

/**
 * Reads the settings from variables.
 *
 * @param configuration the artifact store and the scheduled backups that it names
 */
export function hostedSettings(
  env: Env,
  { storage: storageInFile = "", backup }: { storage?: string; backup?: BackupSettings } = {},
): HostedSettings {
  const missing: string[] = [];
  const notes: string[] = [];
  const named = (name: string) => env(name) || (name === "HOOKLAUNCH_STORAGE" ? storageInFile : "");
  const read = <T>(name: string, parse: (text: string) => T): T | undefined => {
    const text = named(name);
    if (text === "") return undefined;
    try {
      return parse(text);
    } catch (error) {
      missing.push(`${name} is wrong: ${messageOf(error)}`);
      return undefined;
    }
  };
  const secretKey = read("HOOKLAUNCH_SECRET_KEY", (text) => {
    parseKeys(text.split(","), "HOOKLAUNCH_SECRET_KEY");
    return text;
  });
  const adminToken = read("HOOKLAUNCH_ADMIN_TOKEN", (text) => text);
  const storage = read("HOOKLAUNCH_STORAGE", storageOf(env));
  const publicUrl = read("HOOKLAUNCH_PUBLIC_URL", baseUrlOf);
  const agentUrl = read("HOOKLAUNCH_AGENT_URL", baseUrlOf) ?? publicUrl;
  const agentCa = read("HOOKLAUNCH_AGENT_CA", certificatesOf);
  const idle_s = read("HOOKLAUNCH_IDLE_SECONDS", wholeNumber(IDLE_S_MAX)) ?? IDLE_S;
  const timeline = env("DENO_TIMELINE") ?? "production";
  if (!named("HOOKLAUNCH_SECRET_KEY")) {
    missing.push(
      "The variable HOOKLAUNCH_SECRET_KEY is not set: make its value with openssl rand -base64 32",
    );
  }
  if (!named("HOOKLAUNCH_ADMIN_TOKEN")) {
    missing.push(
      "The variable HOOKLAUNCH_ADMIN_TOKEN is not set: the operators' token, at least 16 characters",
    );
  }
  const noBackups = backup && backupObstacle(backup, env);
  if (noBackups !== undefined) notes.push(`No backups are made: ${noBackups}`);
  if (!named("HOOKLAUNCH_STORAGE")) {
    notes.push(
      "The variable HOOKLAUNCH_STORAGE is not set: without an S3 bucket, steps cannot run on Slurm or Kubernetes",
    );
  }
  if (!named("HOOKLAUNCH_PUBLIC_URL")) {
    notes.push(
      "The variable HOOKLAUNCH_PUBLIC_URL is not set: launch URLs begin with the address of the first request, and " +
        "logins at identity providers and passkeys need one address",
    );
  }
  if (timeline !== "production") {
    notes.push(
      `This is the timeline ${timeline}: launches are accepted and stored, and no work is performed`,
    );
  }
  const service: ServiceSettings = {
    host: "0.0.0.0",
    port: 0,
    // Nothing is kept on a disk: errors name the database so.
    data: "the Deno KV of this platform",
    trustedProxies: read("HOOKLAUNCH_TRUSTED_PROXY", listOf) ?? [],
    dev: false,
    payloadBytesMax: read("HOOKLAUNCH_MAX_PAYLOAD", payloadBytesOf) ?? PAYLOAD_MAX,
    retention_days: read("HOOKLAUNCH_RETENTION_DAYS", wholeNumber(RETENTION_DAYS_MAX)) ?? 30,
    executionsMax: 1,
    stopTimeout_ms: STOP_TIMEOUT_MS,
    ...(timeline === "production" ? {} : { performs: false }),
    ...(secretKey === undefined ? {} : { secretKey }),
    ...(adminToken === undefined ? {} : { adminToken }),
    ...(storage === undefined ? {} : { storage }),
    ...(backup === undefined || noBackups !== undefined ? {} : { backup }),
    ...(publicUrl === undefined ? {} : { publicUrl }),
    ...(agentUrl === undefined ? {} : {
      agent: { url: agentUrl, ...(agentCa === undefined ? {} : { ca: agentCa }) },
    }),
  };
  try {
    checkSettings(service);
  } catch (error) {
    if (!(error instanceof HooklaunchError)) throw error;
    missing.push(error.message);
  }
  const since_ms = Date.now();
  const told = { ...service, notes: notes.map((text) => ({ text, since_ms })) };
  return { service: told, idle_ms: idle_s * 1_000, missing, notes };
}

/** Returns why backups cannot be made here; undefined when they can. */
function backupObstacle({ to }: BackupSettings, env: Env): string | undefined {
  if (!to.startsWith("s3:")) {
    return `backup.to is ${to}, expected a bucket such as s3://bucket/prefix, as files are not kept here`;
  }
  try {
    parseS3Location(to, env);
    s3Credentials(env);
    return undefined;
  } catch (error) {
    if (!(error instanceof HooklaunchError)) throw error;
    return error.message;
  }
}

function storageOf(env: Env): (text: string) => string {
  return (text) => {
    if (!text.startsWith("s3://")) {
      throw expected("a bucket such as s3://bucket/prefix, as files are not kept here", text);
    }
    parseS3Location(text, env);
    s3Credentials(env);
    return text;
  };
}

function baseUrlOf(text: string): string {
  if (isBaseUrl(text)) return text.replace(/\/+$/, "");
  throw expected(
    "a URL such as https://hooks.example.com, without a query or a password",
    "another",
  );
}

function certificatesOf(path: string): string {
  const text = Deno.readTextFileSync(path);
  if (text.includes("-----BEGIN CERTIFICATE-----")) return text;
  throw expected("a file with certificates in PEM", `another one at ${path}`);
}

function listOf(text: string): string[] {
  return text.split(",").map((part) => part.trim()).filter(Boolean);
}

function payloadBytesOf(text: string): number {
  const bytes = parseByteSize(text);
  if (bytes >= 1 && bytes <= PAYLOAD_MAX) return bytes;
  throw expected("a size up to 16MiB", text);
}

function wholeNumber(max: number): (text: string) => number {
  return (text) => {
    const value = /^\d+$/.test(text) ? Number(text) : NaN;
    if (value >= 1 && value <= max) return value;
    throw expected(`a whole number from 1 to ${max}`, text);
  };
}

function expected(what: string, found: string): InvalidInputError {
  return new InvalidInputError("it", `Expected ${what}, found ${found}`);
}
