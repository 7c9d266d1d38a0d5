/**
 * A cache of fetched files in a folder of this machine.
 *
 * @module
 */
import { join } from "node:path";
import { CacheFiles } from "./cache_files.ts";
import type { FetchCache } from "./remote_files.ts";
import { UrlIndex } from "./url_index.ts";

/** Makes the cache of a folder, which is created for the first file. */
export function diskCache(folder: string): FetchCache {
  return { files: new CacheFiles(join(folder, "files")), urls: new UrlIndex(join(folder, "urls")) };
}
