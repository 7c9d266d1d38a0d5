/**
 * The keys that secrets are encrypted with: the current one, and while it is being changed the one
 * before.
 *
 * @module
 */
import { join } from "node:path";
import { InvalidInputError, messageOf } from "../platform/errors.ts";
import { syncFolder } from "../platform/files/durable.ts";
import { writeAll } from "../platform/files/bytes.ts";

const KEY_BYTES = 32;
const KEYS_MAX = 4;
/** The key file of a data folder. */
export const KEY_FILE = "secret.key";

type Key = Uint8Array<ArrayBuffer>;

/**
 * Reads the keys, the current one first: from `HOOKLAUNCH_SECRET_KEY`, where commas separate them, or
 * from the key file of the data folder, one a line. The file is made with mode 0600 when it is missing.
 *
 * @throws {InvalidInputError} when one of them is not 32 bytes in base64 or hex, or the file is there
 *   but cannot be read, such as one that `secret-key rotate` has made as another user
 */
export async function readSecretKeys(
  folder: string,
  fromEnvironment: string | undefined,
): Promise<Key[]> {
  if (fromEnvironment !== undefined) {
    return parseKeys(fromEnvironment.split(","), "HOOKLAUNCH_SECRET_KEY");
  }
  const inFile = await readKeyFile(join(folder, KEY_FILE));
  if (inFile !== undefined) return inFile;
  const key = crypto.getRandomValues(new Uint8Array(KEY_BYTES));
  await writeSecretKeys(folder, [key]);
  return [key];
}

/** Puts a new key before those in the key file; what they encrypted can still be read. */
export async function addSecretKey(folder: string): Promise<void> {
  const before = await readSecretKeys(folder, undefined);
  const key = crypto.getRandomValues(new Uint8Array(KEY_BYTES));
  await writeSecretKeys(folder, [key, ...before].slice(0, KEYS_MAX));
}

/** Forgets all keys in the key file but the current one. */
export async function keepCurrentSecretKey(folder: string): Promise<void> {
  await writeSecretKeys(folder, (await readSecretKeys(folder, undefined)).slice(0, 1));
}

/**
 * Removes the key file when the keys are in `HOOKLAUNCH_SECRET_KEY`. Only when nothing is encrypted any
 * more but with the current one of these may it be called.
 *
 * @returns whether there was a file, and it is gone
 */
export async function removeSecretKeyFile(
  folder: string,
  fromEnvironment: string,
): Promise<boolean> {
  const path = join(folder, KEY_FILE);
  const [current] = await readSecretKeys(folder, fromEnvironment);
  const inFile = await readKeyFile(path);
  // The one that is in force may be kept there, too.
  if (inFile?.some((key) => key.toHex() === current?.toHex()) ?? true) return false;
  await Deno.remove(path);
  return true;
}

async function readKeyFile(path: string): Promise<Key[] | undefined> {
  const text = await Deno.readTextFile(path).catch((error) => {
    if (error instanceof Deno.errors.NotFound) return undefined;
    const detail = `Expected a file that this user can read: ${messageOf(error)}`;
    throw new InvalidInputError(path, detail);
  });
  return text === undefined ? undefined : parseKeyFile(text, path);
}

/**
 * Reads the text of a key file.
 *
 * @throws {InvalidInputError} when a line of it is not 32 bytes in base64 or hex
 */
export function parseKeyFile(text: string, where: string): Key[] {
  return parseKeys(text.trim().split("\n"), where);
}

/** Replaces the key file; at any moment it holds either the old keys or the new ones. */
async function writeSecretKeys(folder: string, keys: readonly Key[]): Promise<void> {
  const path = join(folder, KEY_FILE);
  const temporary = `${path}.new`;
  await Deno.remove(temporary).catch(() => {
    // There is one only where an earlier change was cut off.
  });
  const file = await Deno.open(temporary, { write: true, createNew: true, mode: 0o600 });
  try {
    const text = keys.map((key) => `${key.toBase64()}\n`).join("");
    await writeAll(file, new TextEncoder().encode(text));
    await file.sync();
  } finally {
    file.close();
  }
  await Deno.rename(temporary, path);
  await syncFolder(folder);
}

function parseKeys(texts: readonly string[], where: string): Key[] {
  return texts.map((text) => {
    const trimmed = text.trim();
    try {
      const key = /^[0-9a-f]{64}$/i.test(trimmed)
        ? Uint8Array.fromHex(trimmed)
        : Uint8Array.fromBase64(trimmed);
      if (key.length === KEY_BYTES) return key;
    } catch {
      // Neither hex nor base64: said below.
    }
    throw new InvalidInputError(
      where,
      `Expected ${KEY_BYTES} bytes in base64 or hex, found another value; ` +
        "make one with: openssl rand -base64 32",
    );
  });
}
