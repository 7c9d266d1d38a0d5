/**
 * The artifact store of a service: a folder, or an S3 bucket.
 *
 * @module
 */
import { join } from "node:path";
import { FolderStore } from "./folder.ts";
import type { Env } from "./s3/location.ts";
import type { ArtifactStore } from "./store.ts";

/** The folder of artifacts in the data folder. */
export const ARTIFACTS_FOLDER = "artifacts";

/**
 * Opens the artifact store that a setting names.
 *
 * @param storage such as `s3://bucket/prefix`; a folder of the data folder when absent
 * @throws {InvalidInputError} when the setting, or an `AWS_*` variable, is wrong
 */
export async function openArtifactStore(
  storage: string | undefined,
  { data, env }: { data: string; env: Env },
): Promise<ArtifactStore> {
  if (storage === undefined) return new FolderStore(join(data, ARTIFACTS_FOLDER));
  const [{ S3Store }, { parseS3Location, s3Credentials }] = await Promise.all([
    import("./s3/mod.ts"),
    import("./s3/location.ts"),
  ]);
  return new S3Store({ location: parseS3Location(storage, env), credentials: s3Credentials(env) });
}
