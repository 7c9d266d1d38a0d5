/**
 * The artifact store of a service: a folder, or an S3 bucket.
 *
 * @module
 */
import { isAbsolute, join } from "node:path";
import { InvalidInputError } from "../platform/errors.ts";
import { FolderStore } from "./folder.ts";
import type { Env } from "./s3/location.ts";
import type { ArtifactStore } from "./store.ts";

/** The folder of artifacts in the data folder. */
const ARTIFACTS_FOLDER = "artifacts";

/**
 * Opens the artifact store that a setting names.
 *
 * @param storage such as `s3://bucket/prefix`, or the path of a folder; one in the data folder when absent
 * @throws {InvalidInputError} when the setting, or an `AWS_*` variable, is wrong
 */
export async function openArtifactStore(
  storage: string | undefined,
  { data, env }: { data: string; env: Env },
): Promise<ArtifactStore> {
  if (storage === undefined) return new FolderStore(join(data, ARTIFACTS_FOLDER));
  if (isAbsolute(storage)) return await sharedFolder(storage);
  const { openS3 } = await import("./s3/open.ts");
  return openS3(storage, env);
}

/**
 * Opens a folder that all instances share, such as of a network disk. It has to be there: in the place of one that
 * is not mounted, a new one would be on another disk.
 */
async function sharedFolder(path: string): Promise<ArtifactStore> {
  const isFolder = await Deno.stat(path).then(({ isDirectory }) => isDirectory, () => false);
  if (isFolder) return new FolderStore(path, { isShared: true });
  throw new InvalidInputError(
    "the setting storage",
    `Expected a folder that exists, found "${path}"`,
  );
}
