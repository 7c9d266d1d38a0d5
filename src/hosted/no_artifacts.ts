/**
 * The artifact store of a service without one.
 *
 * @module
 */
import type { ArtifactStore, OpenArtifact, PresignedPut } from "../artifacts/store.ts";
import { UnavailableError } from "../platform/errors.ts";

const RETRY_AFTER_S = 60;

/** Has no artifacts, and takes none. Payloads are in the database then. */
export class NoArtifacts implements ArtifactStore {
  readonly name = "none";
  readonly isShared = false;
  readonly failure = undefined;

  put(): Promise<never> {
    const detail = "Cannot store a file: there is no bucket. Set HOOKLAUNCH_STORAGE";
    return Promise.reject(new UnavailableError(detail, RETRY_AFTER_S));
  }

  add(): Promise<never> {
    return this.put();
  }

  open(): Promise<OpenArtifact | undefined> {
    return Promise.resolve(undefined);
  }

  verify(): Promise<boolean> {
    return Promise.resolve(false);
  }

  remove(): Promise<void> {
    return Promise.resolve();
  }

  presignGet(): Promise<string | undefined> {
    return Promise.resolve(undefined);
  }

  presignPut(): Promise<PresignedPut | undefined> {
    return Promise.resolve(undefined);
  }

  probe(): Promise<string | undefined> {
    return Promise.resolve(undefined);
  }

  [Symbol.dispose](): void {}
}
