/**
 * The files of a prepared trigger's secrets. They are looked at now and then, so that a new secret in a file takes
 * effect without a restart.
 *
 * @module
 */
import { SECRET_FILE, type SecretSetting, secretText } from "../conditions/secret.ts";
import { fileVersion } from "../platform/files/secret_file.ts";

/** The time between two looks at the files of a trigger. */
const LOOK_MS = 1_000;

/** The files of some secrets, as they are when this is made: before the secrets are read. */
export class SecretFiles {
  readonly #versions: ReadonlyMap<string, string | undefined>;
  #looked_ms: number;

  constructor(secrets: readonly SecretSetting[], now_ms: number) {
    const paths = secrets.flatMap((secret) => SECRET_FILE.exec(secretText(secret))?.[1] ?? []);
    this.#versions = new Map(paths.map((path) => [path, fileVersion(path)]));
    this.#looked_ms = now_ms;
  }

  /** Returns true when a file has changed. It looks at most once a second. */
  haveChanged(now_ms: number): boolean {
    if (this.#versions.size === 0 || Math.abs(now_ms - this.#looked_ms) < LOOK_MS) return false;
    this.#looked_ms = now_ms;
    return [...this.#versions].some(([path, version]) => fileVersion(path) !== version);
  }
}
