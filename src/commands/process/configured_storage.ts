/**
 * The artifact store of a service, which a flag or the configuration file names.
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

/**
 * Returns the artifact store that a flag or the configuration file names.
 *
 * @throws {InvalidInputError} when the file has a mistake by which it may name another one
 */
export async function storageOf(
  { storage, config = "", strict }: StorageOptions,
  configuration: Configuration | undefined,
): Promise<Pick<ServiceSettings, "storage">> {
  if (configuration === undefined) return storage === undefined ? {} : { storage };
  const inFile = await storageIn(configuration, { config, strict, isNamed: storage !== undefined });
  if (storage !== undefined && inFile !== undefined && storage !== inFile) {
    throw new InvalidInputError("the setting --storage", `Expected the one that ${config} names`);
  }
  const named = storage ?? inFile;
  return named === undefined ? {} : { storage: named };
}

async function storageIn(
  { written, folder }: Configuration,
  { config, strict, isNamed }: { config: string; strict: boolean; isNamed: boolean },
): Promise<string | undefined> {
  const { parseConfig } = await import("../../config/document.ts");
  try {
    return parseConfig(written, config, folder).storage;
  } catch (error) {
    if (strict || !(error instanceof InvalidInputError)) throw error;
    if (isNamed) return undefined;
    const { problems } = error;
    // The start goes on with what was applied before, and tells of the mistake. In another store it would not find
    // its files.
    if (problems.every(({ pointer }) => /^\/(projects|triggers)\//.test(pointer))) {
      const { parseYaml } = await import("../../platform/yaml/parse.ts");
      const { storage } = Object(parseYaml(written, config).value);
      return typeof storage === "string" ? storage : undefined;
    }
    const text = typeof written === "string" ? written : new TextDecoder().decode(written);
    const isSyntax = problems.every(({ pointer }) => pointer === "");
    if (isSyntax && !/\bstorage\b/.test(text)) return undefined;
    throw error;
  }
}
