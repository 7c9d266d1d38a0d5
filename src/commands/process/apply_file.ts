/**
 * Applying the configuration file of `serve`, at its start and when it is read anew.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import type { Applied } from "../../config/apply.ts";
import { InvalidInputError } from "../../platform/errors.ts";
import type { Parts } from "../../service/service.ts";
import { listProjects } from "../../store/records/projects.ts";
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

/**
 * Applies a configuration file as the service starts. After a mistake, what was applied before stays in use, and the log
 * says so.
 *
 * @throws {InvalidInputError} when it has a mistake, and nothing was applied before or `strict` is set
 */
export async function applyAtStart(
  path: string,
  configuration: Configuration,
  parts: Parts,
  { strict }: { strict: boolean },
): Promise<void> {
  try {
    await applyFile(path, configuration, parts);
  } catch (error) {
    if (strict || !(error instanceof InvalidInputError) || await isNew(parts)) throw error;
    log.error(
      "The configuration file has a mistake: the last good one stays in use. Mend it, and reload; " +
        "--strict ends the service instead. {detail}",
      { detail: error.message },
    );
  }
}

/** Returns true for a service without projects and triggers. */
async function isNew({ store, triggers }: Parts): Promise<boolean> {
  if ((await listProjects(store)).length > 0) return false;
  for await (const _trigger of triggers.all()) return false;
  return true;
}
