/**
 * The job that reads a project configuration file in a Worker.
 *
 * @module
 */
import { InvalidInputError } from "../../platform/errors.ts";
import type { ConfigJobInput, ConfigJobOutput } from "../config_reader.ts";
import { readConfigFile } from "./config_file.ts";
import { encodeConfig } from "./config_json.ts";

/** Reads a project configuration file. */
export function readConfigJob({ bytes, path }: ConfigJobInput): ConfigJobOutput {
  try {
    return { json: encodeConfig(readConfigFile(bytes, path)) };
  } catch (error) {
    if (error instanceof InvalidInputError) return { problems: error.problems };
    throw error;
  }
}
