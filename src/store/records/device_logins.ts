/**
 * Logins of command lines that wait until somebody confirms them in the console (RFC 8628).
 *
 * @module
 */
import { hash } from "node:crypto";
import { keys } from "../keys.ts";
import { readValue, scan } from "../read/scan.ts";
import type { Store } from "../store.ts";
import type { Grant } from "./passkeys.ts";
import type { Scope } from "./tokens.ts";

/** A login that waits, or was decided and is not fetched yet. All times are RFC 3339. */
export interface DeviceLogin {
  /** The code that a person types, such as `BCDF-GHJK`. */
  user_code: string;
  /** The name of the computer, as it calls itself. */
  device: string;
  remote_ip: string;
  /** The scope that is asked for; absent for that of the person. */
  scope?: Scope;
  created_at: string;
  expires_at: string;
  decision?: "denied" | { grant: Grant; scope: Scope; name: string };
}

/** Returns the key of a login: the SHA-256 of its device code, in hex. */
export function deviceLoginKey(deviceCode: string): string {
  return hash("sha256", deviceCode);
}

/** Reads a login; undefined when there is none. */
export async function getDeviceLogin(store: Store, key: string): Promise<DeviceLogin | undefined> {
  const value = await readValue(store.kv, keys.deviceLogin(key));
  return isDeviceLogin(value) ? value : undefined;
}

/** Lists all logins with their keys, those that have expired among them. */
export async function listDeviceLogins(store: Store): Promise<[key: string, DeviceLogin][]> {
  const found: [string, DeviceLogin][] = [];
  for await (const { key, value } of scan(store.kv, ["device_login"])) {
    if (isDeviceLogin(value)) found.push([String(key[1]), value]);
  }
  return found;
}

/** Stores a login. It resolves when the record is on disk. */
export async function putDeviceLogin(store: Store, key: string, login: DeviceLogin): Promise<void> {
  await store.committer.write([{ key: keys.deviceLogin(key), value: login }]);
}

/** Removes logins. */
export async function removeDeviceLogins(store: Store, all: readonly string[]): Promise<void> {
  if (all.length > 0) {
    await store.committer.write(all.map((key) => ({ key: keys.deviceLogin(key) })));
  }
}

function isDeviceLogin(value: unknown): value is DeviceLogin {
  const { user_code, device, remote_ip, created_at, expires_at } = Object(value);
  return [user_code, device, remote_ip, created_at, expires_at]
    .every((each) => typeof each === "string");
}
