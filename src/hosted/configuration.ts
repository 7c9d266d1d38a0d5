/**
 * The configuration of a hosted service: a file of the deployment, or variables, which hold 16 KB each.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import { createHash } from "node:crypto";
import type { BackupSettings } from "../backup/scheduled/settings.ts";
import { applyFile } from "../commands/process/apply_file.ts";
import { InvalidInputError, messageOf } from "../platform/errors.ts";
import type { Parts } from "../service/service.ts";
import { keys } from "../store/keys.ts";

const FILE_DEFAULT = "hooklaunch.yaml";
/** The variables that hold parts of the text, in this order: `HOOKLAUNCH_CONFIG_YAML`, `…_2` and on. */
const VARIABLE = "HOOKLAUNCH_CONFIG_YAML";
const VARIABLES_MAX = 20;
/** A line that may be a setting of the service: only then the text is read before it is applied. */
const NAMES_SETTING = /^["'{]?\s*["']?(?:storage|backup)\b/m;

const log = getLogger(["hooklaunch"]);

/** A configuration. */
export interface Configuration {
  /** The file or the variable, for errors. */
  path: string;
  text: string;
  /** The artifact store that it names; empty when it names none. */
  storage: string;
  /** The scheduled backups that it has. */
  backup?: BackupSettings;
  /** The reason why these settings cannot be read, as a sentence without a full stop. */
  mistake?: string;
}

/** Reads the configuration; undefined where there is none, and the API alone changes projects and triggers. */
export async function readHostedConfiguration(
  env: (name: string) => string | undefined,
): Promise<Configuration | undefined> {
  const parts = Array.from(
    { length: VARIABLES_MAX },
    (_, index) => env(index === 0 ? VARIABLE : `${VARIABLE}_${index + 1}`) ?? "",
  );
  const inVariables = parts.join("");
  if (inVariables !== "") return await configurationOf(VARIABLE, inVariables);
  const named = env("HOOKLAUNCH_CONFIG");
  const path = named ?? FILE_DEFAULT;
  try {
    return await configurationOf(path, await Deno.readTextFile(path));
  } catch (error) {
    if (named === undefined && error instanceof Deno.errors.NotFound) return undefined;
    const mistake = `The configuration file ${path} cannot be read: ${messageOf(error)}`;
    return { path, text: "", storage: "", mistake };
  }
}

async function configurationOf(path: string, text: string): Promise<Configuration> {
  if (!NAMES_SETTING.test(text)) return { path, text, storage: "" };
  const { parseConfig } = await import("../config/document.ts");
  const { parseYaml } = await import("../platform/yaml/parse.ts");
  const read = (written: string): Configuration => {
    const { storage = "", backup } = parseConfig(written, path);
    return { path, text, storage, ...(backup !== undefined && { backup }) };
  };
  try {
    return read(text);
  } catch (error) {
    if (!(error instanceof InvalidInputError)) throw error;
    try {
      // A mistake elsewhere in it is told when it is applied.
      const { storage, backup } = Object(parseYaml(text, path).value);
      return read(JSON.stringify({ storage, backup }));
    } catch {
      return { path, text, storage: "", mistake: error.message };
    }
  }
}

/**
 * Applies a configuration, unless it is the one that was applied last: a service opens often. After a mistake, what
 * was applied before stays in use.
 */
export async function applyConfiguration(
  { path, text }: Configuration,
  parts: Parts,
): Promise<void> {
  const { kv, committer } = parts.store;
  const key = keys.appliedConfiguration();
  const digest = createHash("sha256").update(text).digest("hex");
  if ((await kv.get(key)).value === digest) return;
  try {
    await applyFile(path, { written: new TextEncoder().encode(text), folder: "/" }, parts);
    await committer.write([{ key, value: digest }]);
  } catch (error) {
    if (!(error instanceof InvalidInputError)) throw error;
    log.error("The configuration has a mistake: the last good one stays in use. {detail}", {
      detail: error.message,
    });
  }
}
