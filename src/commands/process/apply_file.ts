/**
 * Applying the configuration file of `serve`, at its start and when it is read anew.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import type { Applied } from "../../config/apply.ts";
import type { Parts } from "../../service/service.ts";
import type { readConfiguration } from "../input/options.ts";

const log = getLogger(["hooklaunch"]);

/** The text of a configuration file, and the folder that its paths start at. */
export type Configuration = Awaited<ReturnType<typeof readConfiguration>>;

/**
 * Applies a configuration file to the database of a service, and logs each outcome.
 *
 * @throws {InvalidInputError} with everything that is wrong with it
 */
export async function applyFile(
  path: string,
  { written, folder }: Configuration,
  parts: Parts,
): Promise<Applied[]> {
  const { applyText } = await import("../../config/apply_text.ts");
  const all: Applied[] = [];
  for await (const applied of applyText(written, path, parts, folder)) {
    const { kind, name, outcome, warnings } = applied;
    const about = { [kind]: name };
    log.info(`${kind} {${kind}}: {outcome}`, { ...about, outcome });
    for (const { pointer, detail } of warnings) {
      log.warn(`${kind} {${kind}}: {pointer}: {detail}`, { ...about, pointer, detail });
    }
    all.push(applied);
  }
  return all;
}
