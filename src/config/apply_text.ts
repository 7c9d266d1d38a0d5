/**
 * Applying the text of a configuration file to the database of a service that is starting.
 *
 * @module
 */
import { type Applied, applyConfig } from "./apply.ts";
import { parseConfig } from "./document.ts";
import { type LocalService, localTarget } from "./local_target.ts";

/**
 * Applies the text of a configuration file.
 *
 * @param path where the text is from
 * @throws {InvalidInputError} with everything that is wrong with it
 */
export function applyText(
  written: string | Uint8Array,
  path: string,
  service: LocalService,
): AsyncGenerator<Applied> {
  return applyConfig(parseConfig(written, path), localTarget(service));
}
