/**
 * Logins of command lines by the device flow (RFC 8628): the command shows a code, and a person who is logged in to
 * the console confirms it. The token that the command gets rests on the login of that person.
 *
 * @module
 */
import { isIP } from "node:net";
import type { Clock } from "../platform/clock.ts";
import { NotFoundError, UnavailableError } from "../platform/errors.ts";
import { networkOf } from "../platform/network/ip_ranges.ts";
import {
  type DeviceLogin,
  deviceLoginKey,
  getDeviceLogin,
  listDeviceLogins,
  putDeviceLogin,
  removeDeviceLogins,
} from "../store/records/device_logins.ts";
import type { Grant } from "../store/records/passkeys.ts";
import {
  createToken,
  lesserScope,
  listGranted,
  removeToken,
  type Scope,
} from "../store/records/tokens.ts";
import type { Store } from "../store/store.ts";

/** The time in which a login is confirmed. */
export const DEVICE_LOGIN_MS = 10 * 60_000;
/** The least time between two questions of a command, in seconds. */
export const INTERVAL_S = 1;
const TOKEN_MS = 30 * 24 * 60 * 60_000;
/** The most that wait to be confirmed: in all, and of one network, which must keep no other one out. */
const WAITING_MAX = 200;
const WAITING_OF_NETWORK_MAX = 50;
const DEVICE_LENGTH_MAX = 64;
/** The name of a computer that tells none. */
const UNNAMED = "a computer";
/** Consonants: no code is a word, and none looks like a digit. */
const LETTERS = "BCDFGHJKLMNPQRSTVWXZ";
const CODE_LENGTH = 8;
/** Bytes from here on would make some letters more likely. */
const BYTE_END = 256 - 256 % LETTERS.length;

/** The parts of the service that these logins use. */
interface DeviceParts {
  store: Store;
  clock: Pick<Clock, "now">;
}

/** A login that has begun, for the command. */
interface BegunDeviceLogin {
  device_code: string;
  user_code: string;
}

/** The answer to a command that asks for its token. */
type DeviceAnswer =
  | { error: "authorization_pending" | "access_denied" | "expired_token" }
  | { token: string; scope: Scope; name: string; expires_at: string };

/** Returns what somebody may do on some grounds now; undefined when these have ended. */
type AccessCheck = (grant: Grant) => Promise<{ scope: Scope; name: string } | undefined>;

/** Changes of logins, one after the other: a login is confirmed once, and its token fetched once. */
let latest: Promise<unknown> = Promise.resolve();

function inTurn<T>(act: () => Promise<T>): Promise<T> {
  const result = latest.then(act);
  latest = result.catch(() => undefined);
  return result;
}

/**
 * Begins a login.
 *
 * @throws {UnavailableError} when too many wait
 */
export function beginDeviceLogin(
  { store, clock }: DeviceParts,
  { device, remote_ip, scope }: { device: string; remote_ip: string; scope: Scope | undefined },
): Promise<BegunDeviceLogin> {
  return inTurn(async () => {
    const now_ms = clock.now();
    const all = await listDeviceLogins(store);
    const over = all.filter(([, login]) => !isCurrent(login, now_ms));
    await removeDeviceLogins(store, over.map(([key]) => key));
    const waiting = all.filter((each) => !over.includes(each));
    const network = networkOf(remote_ip);
    const own = waiting.filter(([, login]) => networkOf(login.remote_ip) === network);
    // Nothing tells clients apart whose address cannot be read.
    const isOneTooMany = isIP(remote_ip) !== 0 && own.length >= WAITING_OF_NETWORK_MAX;
    if (isOneTooMany || waiting.length >= WAITING_MAX) {
      throw new UnavailableError("Too many logins wait to be confirmed", DEVICE_LOGIN_MS / 1_000);
    }
    const device_code = crypto.getRandomValues(new Uint8Array(32)).toHex();
    const user_code = newUserCode();
    await putDeviceLogin(store, deviceLoginKey(device_code), {
      user_code,
      device: device.replaceAll(/\p{C}/gu, "").trim().slice(0, DEVICE_LENGTH_MAX) || UNNAMED,
      remote_ip,
      ...(scope && { scope }),
      created_at: new Date(now_ms).toISOString(),
      expires_at: new Date(now_ms + DEVICE_LOGIN_MS).toISOString(),
    });
    return { device_code, user_code };
  });
}

/** Finds the login of a code that a person has typed; undefined when none waits. */
export async function findDeviceLogin(
  { store, clock }: DeviceParts,
  typed: string,
): Promise<DeviceLogin | undefined> {
  return (await found({ store, clock }, typed))?.[1];
}

/**
 * Confirms or denies a login.
 *
 * @throws {NotFoundError} when none with this code waits
 */
export function decideDeviceLogin(
  parts: DeviceParts,
  typed: string,
  decision: NonNullable<DeviceLogin["decision"]>,
): Promise<DeviceLogin> {
  return inTurn(async () => {
    const [key, login] = await found(parts, typed) ?? [];
    if (key === undefined || login === undefined) {
      throw new NotFoundError("No login with this code waits: it was decided, or is too old");
    }
    await putDeviceLogin(parts.store, key, { ...login, decision });
    return login;
  });
}

/** Answers a command that asks for its token: it gets it once. */
export function fetchDeviceToken(
  { store, clock }: DeviceParts,
  device_code: string,
  checkGrant: AccessCheck,
): Promise<DeviceAnswer> {
  return inTurn(async () => {
    const key = deviceLoginKey(device_code);
    const login = await getDeviceLogin(store, key);
    const now_ms = clock.now();
    if (login === undefined || !isCurrent(login, now_ms)) {
      return { error: "expired_token" };
    }
    const { decision } = login;
    if (decision === undefined) return { error: "authorization_pending" };
    await removeDeviceLogins(store, [key]);
    if (decision === "denied") return { error: "access_denied" };
    // It may have ended since.
    const access = await checkGrant(decision.grant);
    if (access === undefined) return { error: "access_denied" };
    const name = `${access.name} on ${login.device}`;
    // Any number of computers may be without a name.
    if (login.device !== UNNAMED) await removeEarlier(store, name, decision.grant);
    const made = {
      name,
      created_at: new Date(now_ms).toISOString(),
      expires_at: new Date(now_ms + TOKEN_MS).toISOString(),
      scope: lesserScope(decision.scope, access.scope),
      granted_by: decision.grant,
    };
    const token = await createToken(store, made);
    return { token, scope: made.scope, name: access.name, expires_at: made.expires_at };
  });
}

/** Removes the token of an earlier login of the same person on the same computer. */
async function removeEarlier(store: Store, name: string, grant: Grant): Promise<void> {
  const earlier = (await listGranted(store, grant)).filter((each) => each.name === name);
  for (const { id } of earlier) await removeToken(store, id);
}

async function found(
  { store, clock }: DeviceParts,
  typed: string,
): Promise<[string, DeviceLogin] | undefined> {
  const letters = typed.toUpperCase().replaceAll(/[^A-Z]/g, "");
  // An instance beside the leader removes none of those that have expired.
  return (await listDeviceLogins(store)).find(([, login]) =>
    isCurrent(login, clock.now()) && login.decision === undefined &&
    login.user_code.replace("-", "") === letters
  );
}

function isCurrent({ expires_at }: DeviceLogin, now_ms: number): boolean {
  return Date.parse(expires_at) > now_ms;
}

function newUserCode(): string {
  let code = "";
  while (code.length < CODE_LENGTH) {
    const [byte = 0] = crypto.getRandomValues(new Uint8Array(1));
    if (byte < BYTE_END) code += LETTERS[byte % LETTERS.length];
  }
  return `${code.slice(0, 4)}-${code.slice(4)}`;
}
