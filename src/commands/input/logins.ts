/**
 * The logins of `hooklaunch login`, by the addresses of their services, in a file of their own. Their tokens are in
 * the desktop's keyring, or there.
 *
 * @module
 */
import { isObject } from "../../platform/objects.ts";
import { configurationPath, readConfiguration, writeConfiguration } from "./contexts.ts";
import { lookUpInKeyring } from "./keyring.ts";

const LOGINS = "logins.json";
const WHAT = "the file of logins";

/** A login at a service. */
interface Login {
  /** The token; absent where it is in the keyring. */
  token?: string;
  /** RFC 3339. */
  expires_at: string;
}

/** Returns the key of a service's login: its address without a slash at the end. */
export function loginKey(url: string): string {
  return url.replace(/\/+$/, "");
}

/** Returns the token of a login; undefined when the keyring does not give it, or not in time. */
export function loginToken(
  url: string,
  { token }: Login,
  timeout_ms?: number,
): string | undefined {
  return token ?? lookUpInKeyring(loginKey(url), Deno.build.os, timeout_ms);
}

/** Returns the path of the file; undefined without a home. */
export function loginsPath(): string | undefined {
  return configurationPath(LOGINS);
}

/**
 * Reads the logins; none where there is no file.
 *
 * @throws {InvalidInputError} when the file cannot be read, or is damaged
 */
export function readLogins(): Record<string, Login> {
  return readConfiguration(LOGINS, { what: WHAT, by: "login", is: isLogins }) ?? {};
}

/** Writes the logins into their file. */
export async function writeLogins(logins: Record<string, Login>): Promise<void> {
  await writeConfiguration(LOGINS, WHAT, logins);
}

function isLogins(value: unknown): value is Record<string, Login> {
  return isObject(value) &&
    Object.values(value).every((each) => {
      const { token, expires_at } = Object(each);
      return ["string", "undefined"].includes(typeof token) && typeof expires_at === "string";
    });
}
