/**
 * Reading anew what `serve` was started with: environment files, configuration, secrets and certificate. Nothing
 * is interrupted for it. A mistake in one keeps the last good one in use.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import type { Applied } from "../../config/apply.ts";
import type { Reloaded } from "../../config/reload.ts";
import { InvalidInputError, messageOf } from "../../platform/errors.ts";
import type { Service } from "../../service/service.ts";
import { rereadEnvFiles } from "../input/env_file.ts";
import type { TlsFiles } from "../input/tls_files.ts";

/** Settings of the service itself, of which most are read at its start alone. */
const OWN_SETTING = /^(?:HOOKLAUNCH|AWS|DENO|OTEL)_/;
const NAMES_SHOWN_MAX = 10;

const log = getLogger(["hooklaunch"]);

/** The things that are read anew. */
interface ReloadingParts {
  service: Service;
  tlsFiles: TlsFiles | undefined;
  /** Applies the configuration file; undefined without one. */
  apply: (() => Promise<Applied[]>) | undefined;
}

type Outcome = Omit<Reloaded, "what">;

/** Reads everything anew, one time after the other. */
export class Reloading {
  readonly #parts: ReloadingParts;
  #latest: Promise<unknown> = Promise.resolve();

  constructor(parts: ReloadingParts) {
    this.#parts = parts;
  }

  /** Reads everything anew. Says in the log and in the answer what became of it. */
  run(): Promise<Reloaded[]> {
    const result = this.#latest.then(() => this.#run());
    this.#latest = result;
    return result;
  }

  async #run(): Promise<Reloaded[]> {
    const { service, tlsFiles, apply } = this.#parts;
    const { triggers } = service.parts;
    const all: Reloaded[] = [];
    const read = async (what: Reloaded["what"], work: () => Promise<Outcome> | Outcome) => {
      const outcome = await attempted(work);
      all.push({ what, ...outcome });
      const details = { what, ...outcome };
      if (outcome.outcome === "kept") {
        log.error("Cannot read the {what} anew, the last good one stays in use: {detail}", details);
      } else log.info("Read anew: {what} {outcome}", details);
    };
    await read("environment", () => this.#environment());
    if (apply !== undefined) await read("configuration", () => this.#configuration(apply));
    await read("secrets", () => {
      // They are read with the next request of each trigger.
      triggers.forgetPrepared();
      return { outcome: "changed", detail: "each trigger reads its own with its next request" };
    });
    if (tlsFiles !== undefined) {
      await read("certificate", async () => {
        return { outcome: await tlsFiles.reload(service) ? "changed" : "unchanged" };
      });
    }
    return all;
  }

  /** Reads the files of `--env-file`, unless a secret would be missing then. */
  async #environment(): Promise<Outcome> {
    const { triggers } = this.#parts.service.parts;
    const before = await triggers.countMissing();
    const { changed, restore } = rereadEnvFiles();
    if (changed.length === 0) return { outcome: "unchanged" };
    const after = await triggers.countMissing();
    if (after.missing > before.missing) {
      restore();
      const lost = after.places.filter((place) => !before.places.includes(place));
      throw new InvalidInputError(
        "--env-file",
        `Expected the variables of all secrets, found none for: ${lost.join(", ")}`,
      );
    }
    const own = changed.some((name) => OWN_SETTING.test(name))
      ? "; settings of the service itself count from its next start on"
      : "";
    return { outcome: "changed", detail: `${shown(changed)}${own}` };
  }

  async #configuration(apply: () => Promise<Applied[]>): Promise<Outcome> {
    if (!this.#parts.service.leads) {
      return { outcome: "unchanged", detail: "another instance leads, and applies its own file" };
    }
    const changed = (await apply()).filter(({ outcome }) => outcome !== "unchanged");
    if (changed.length === 0) return { outcome: "unchanged" };
    const names = changed.map(({ kind, name, outcome }) => `${kind} ${name} ${outcome}`);
    return { outcome: "changed", detail: shown(names) };
  }
}

async function attempted(work: () => Promise<Outcome> | Outcome): Promise<Outcome> {
  try {
    return await work();
  } catch (error) {
    return { outcome: "kept", detail: messageOf(error) };
  }
}

function shown(names: readonly string[]): string {
  const more = names.length - NAMES_SHOWN_MAX;
  const some = names.slice(0, NAMES_SHOWN_MAX).join(", ");
  return more > 0 ? `${some} and ${more} more` : some;
}
