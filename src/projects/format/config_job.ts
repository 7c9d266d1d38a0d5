/**
 * The reading of a project configuration file as heavy work.
 *
 * @module
 */
import { InvalidInputError } from "../../platform/errors.ts";
import { readConfigFile } from "./config_file.ts";
import { encodeConfig } from "./config_json.ts";
import type { ConfigJobInput, ConfigJobOutput } from "./config_reader.ts";

/** Reads a project configuration file in a Worker. */
export function readConfigJob({ bytes, path }: ConfigJobInput): ConfigJobOutput {
  try {
    return { json: encodeConfig(readConfigFile(bytes, path)) };
  } catch (error) {
    if (error instanceof InvalidInputError) return { problems: error.problems };
    throw error;
  }
}
