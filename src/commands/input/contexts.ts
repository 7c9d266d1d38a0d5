/**
 * The services that somebody uses, by names: address and token of each, in a file of their own.
 *
 * @module
 */
import { readFileSync } from "node:fs";
import { dirname, isAbsolute, join } from "node:path";
import { replaceFile } from "../../platform/files/durable.ts";
import { InvalidInputError, messageOf, NotFoundError } from "../../platform/errors.ts";
import { environment } from "./environment.ts";

const FILE_MODE = 0o600;
const FOLDER_MODE = 0o700;
const CONTEXTS = "contexts.json";
const WHAT = "the file of contexts";

/** A service, and the token for it. */
export interface Context {
  url: string;
  token?: string | undefined;
}

/** The services by their names, and the one that commands use where they are told no other. */
export interface Contexts {
  current?: string | undefined;
  contexts: Record<string, Context>;
}

/** Returns the path of the file; undefined without a home. */
export function contextsPath(): string | undefined {
  return configurationPath(CONTEXTS);
}

/** Returns the path of a file with settings of who runs commands; undefined without a home. */
export function configurationPath(name: string): string | undefined {
  // A relative path there has no meaning (XDG Base Directory Specification).
  const folder = [environment("XDG_CONFIG_HOME")].find((path) => path && isAbsolute(path));
  const home = environment("HOME");
  const config = folder ?? (home && join(home, ".config"));
  return config && join(config, "hooklaunch", name);
}

/**
 * Reads the contexts; none where there is no file.
 *
 * @throws {InvalidInputError} when the file cannot be read, or is damaged
 */
export function readContexts(): Contexts {
  return readConfiguration(CONTEXTS, { what: WHAT, by: "context", is: isContexts }) ??
    { contexts: {} };
}

/** Writes the contexts into their file. */
export async function writeContexts(contexts: Contexts): Promise<void> {
  await writeConfiguration(CONTEXTS, WHAT, contexts);
}

/**
 * Reads a file with settings of who runs commands; undefined where there is none.
 *
 * @param by the command that writes it
 * @throws {InvalidInputError} when it cannot be read, or is damaged
 */
export function readConfiguration<T>(
  name: string,
  { what, by, is }: { what: string; by: string; is(value: unknown): value is T },
): T | undefined {
  const path = configurationPath(name);
  try {
    if (path === undefined) return undefined;
    const read: unknown = JSON.parse(readFileSync(path, "utf8"));
    if (is(read)) return read;
    const detail = `Expected what hooklaunch ${by} writes in ${path}, found other JSON`;
    throw new InvalidInputError(what, detail);
  } catch (error) {
    const isMissing = error instanceof Deno.errors.NotCapable ||
      error instanceof Error && "code" in error && error.code === "ENOENT";
    if (isMissing) return undefined;
    if (error instanceof InvalidInputError) throw error;
    // The error of JSON would show a part of it.
    const why = error instanceof SyntaxError ? "it is no JSON" : messageOf(error);
    throw new InvalidInputError(what, `Cannot read ${path}: ${why}`);
  }
}

/**
 * Writes a file with settings of who runs commands, which its owner alone may read.
 *
 * @throws {InvalidInputError} when it cannot be written
 */
export async function writeConfiguration(name: string, what: string, value: object): Promise<void> {
  const path = configurationPath(name);
  if (path === undefined) {
    const detail = "Expected a home folder in HOME, or XDG_CONFIG_HOME: found neither";
    throw new InvalidInputError(what, detail);
  }
  try {
    await Deno.mkdir(dirname(path), { recursive: true, mode: FOLDER_MODE });
    await replaceFile(path, `${JSON.stringify(value, null, 2)}\n`, FILE_MODE);
  } catch (error) {
    throw new InvalidInputError(what, `Cannot write ${path}: ${messageOf(error)}`);
  }
}

/** @throws {NotFoundError} when there is no context of this name */
export function contextNamed({ contexts }: Contexts, name: string): Context {
  const found = Object.hasOwn(contexts, name) ? contexts[name] : undefined;
  if (found !== undefined) return found;
  const names = Object.keys(contexts).join(", ") || "none";
  throw new NotFoundError(`There is no context "${name}"; there are: ${names}`);
}

/** Tells whether JSON is a file of contexts. Libraries that could say where it is not take long to load. */
function isContexts(value: unknown): value is Contexts {
  const { current, contexts } = Object(value);
  return (current === undefined || typeof current === "string") &&
    typeof contexts === "object" && contexts !== null &&
    Object.values<unknown>(contexts).every((each) => {
      const { url, token } = Object(each);
      return typeof url === "string" && (token === undefined || typeof token === "string");
    });
}
