/**
 * The keys that encrypt secrets: the current one, and the previous ones while secrets are re-encrypted.
 *
 * @module
 */
import { join } from "node:path";
import { InvalidInputError, messageOf } from "../platform/errors.ts";
import { syncFolder } from "../platform/files/durable.ts";
import { writeAll } from "../platform/files/bytes.ts";
import { KEY_BYTES, parseKeys, type SecretKey } from "./key_text.ts";
import { type SecretBox, secretBox } from "./secrets.ts";

const KEYS_MAX = 4;
/** The key file of a data folder. */
export const KEY_FILE = "secret.key";

/**
 * Reads the keys, the current one first: from `HOOKLAUNCH_SECRET_KEY`, where commas separate them, or
 * from the key file of the data folder, one a line. A missing file is created with mode 0600.
 *
 * @throws {InvalidInputError} when a key is not 32 bytes in base64 or hex, or the file cannot be read, such
 *   as one that another user created with `secret-key rotate`
 */
export async function readSecretKeys(
  folder: string,
  fromEnvironment: string | undefined,
): Promise<SecretKey[]> {
  if (fromEnvironment !== undefined) {
    return parseKeys(fromEnvironment.split(","), "HOOKLAUNCH_SECRET_KEY");
  }
  const inFile = await readKeyFile(join(folder, KEY_FILE));
  if (inFile !== undefined) return inFile;
  const key = crypto.getRandomValues(new Uint8Array(KEY_BYTES));
  await writeSecretKeys(folder, [key]);
  return [key];
}

/**
 * Makes the box from `HOOKLAUNCH_SECRET_KEY`, or from the key file of the data folder. A missing file is
 * created with mode 0600.
 *
 * @param fromEnvironment 32 bytes in base64 or hex, or undefined to use the file
 * @throws {InvalidInputError} when the key has another form
 */
export async function openSecretBox(
  folder: string,
  fromEnvironment: string | undefined,
): Promise<SecretBox> {
  return secretBox(await readSecretKeys(folder, fromEnvironment));
}

/**
 * Puts a new key before the keys in the key file, which can still decrypt. Behind several interrupted changes the
 * latest one goes on with its key: each older key may be the only one that opens some secrets.
 */
export async function addSecretKey(folder: string): Promise<void> {
  const before = await readSecretKeys(folder, undefined);
  if (before.length >= KEYS_MAX) return;
  const key = crypto.getRandomValues(new Uint8Array(KEY_BYTES));
  await writeSecretKeys(folder, [key, ...before]);
}

/** Removes all keys but the current one from the key file. */
export async function keepCurrentSecretKey(folder: string): Promise<void> {
  await writeSecretKeys(folder, (await readSecretKeys(folder, undefined)).slice(0, 1));
}

/**
 * Removes the key file when the keys are in `HOOKLAUNCH_SECRET_KEY`. Call it only when the current one of
 * these has encrypted all secrets.
 *
 * @returns true when there was a file and it was removed
 */
export async function removeSecretKeyFile(
  folder: string,
  fromEnvironment: string,
): Promise<boolean> {
  const path = join(folder, KEY_FILE);
  const [current] = await readSecretKeys(folder, fromEnvironment);
  const inFile = await readKeyFile(path);
  // The file may hold the current key, too.
  if (inFile?.some((key) => key.toHex() === current?.toHex()) ?? true) return false;
  await Deno.remove(path);
  return true;
}

async function readKeyFile(path: string): Promise<SecretKey[] | undefined> {
  const text = await Deno.readTextFile(path).catch((error) => {
    if (error instanceof Deno.errors.NotFound) return undefined;
    const detail = `Expected a file that this user can read: ${messageOf(error)}`;
    throw new InvalidInputError(path, detail);
  });
  return text === undefined ? undefined : parseKeyFile(text, path);
}

/**
 * Parses a key file.
 *
 * @throws {InvalidInputError} when a line is not 32 bytes in base64 or hex
 */
export function parseKeyFile(text: string, where: string): SecretKey[] {
  return parseKeys(text.trim().split("\n"), where);
}

/** Replaces the key file. At any moment it holds either the old keys or the new ones. */
async function writeSecretKeys(folder: string, keys: readonly SecretKey[]): Promise<void> {
  const path = join(folder, KEY_FILE);
  const temporary = `${path}.new`;
  await Deno.remove(temporary).catch(() => {
    // There is one only after an interrupted change.
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
