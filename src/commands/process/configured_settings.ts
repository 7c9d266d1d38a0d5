/**
 * The settings of a service that its configuration file may have: the artifact store, which a flag may name as well, and
 * the scheduled backups.
 *
 * @module
 */
import { InvalidInputError } from "../../platform/errors.ts";
import type { ServiceSettings } from "../../service/service.ts";
import type { Configuration } from "./apply_file.ts";

/** The settings that name it. */
interface StorageOptions {
  storage?: string;
  config?: string;
  /** True to end with a mistake anywhere in the file. */
  strict: boolean;
}

/** The settings of a service that its configuration file may have. */
type StartSettings = Pick<ServiceSettings, "storage" | "backup">;

/** A file with a mistake in its syntax may have one of these settings. */
const NAMES_BACKUP = /^\s*["'{]?\s*["']?backup["']?\s*:/m;

/**
 * Returns the artifact store that a flag or the configuration file names, and the backups of the file.
 *
 * @throws {InvalidInputError} when the file has a mistake by which it may name others
 */
export async function startSettingsOf(
  { storage, config = "", strict }: StorageOptions,
  configuration: Configuration | undefined,
): Promise<StartSettings> {
  if (configuration === undefined) return storage === undefined ? {} : { storage };
  const isNamed = storage !== undefined;
  const inFile = await settingsIn(configuration, { config, strict, isNamed });
  if (storage !== undefined && inFile.storage !== undefined && storage !== inFile.storage) {
    throw new InvalidInputError("the setting --storage", `Expected the one that ${config} names`);
  }
  return storage === undefined ? inFile : { ...inFile, storage };
}

async function settingsIn(
  { written, folder }: Configuration,
  { config, strict, isNamed }: { config: string; strict: boolean; isNamed: boolean },
): Promise<StartSettings> {
  const { parseConfig } = await import("../../config/document.ts");
  try {
    const { storage, backup } = parseConfig(written, config, folder);
    return { ...(storage !== undefined && { storage }), ...(backup !== undefined && { backup }) };
  } catch (error) {
    if (strict || !(error instanceof InvalidInputError)) throw error;
    const { problems } = error;
    // The start goes on with what was applied before, and tells of the mistake. In another store it would not find
    // its files.
    if (problems.every(({ pointer }) => /^\/(projects|triggers)\//.test(pointer))) {
      return await settingsBeside(written, config, folder);
    }
    const text = typeof written === "string" ? written : new TextDecoder().decode(written);
    const isSyntax = problems.every(({ pointer }) => pointer === "");
    const mayHaveBackup = isSyntax
      ? NAMES_BACKUP.test(text)
      : problems.some(({ pointer }) => pointer.startsWith("/backup"));
    if (isNamed && !mayHaveBackup) return {};
    if (isSyntax && !/\bstorage\b/.test(text) && !mayHaveBackup) return {};
    throw error;
  }
}

/** Reads the settings of a file that has mistakes elsewhere. */
async function settingsBeside(
  written: string | Uint8Array,
  config: string,
  folder: string,
): Promise<StartSettings> {
  const { parseYaml } = await import("../../platform/yaml/parse.ts");
  const { storage, backup } = Object(parseYaml(written, config).value);
  const { parseBackup } = await import("../../backup/scheduled/settings.ts");
  return {
    ...(typeof storage === "string" && { storage }),
    ...(backup && { backup: parseBackup(backup, folder) }),
  };
}
