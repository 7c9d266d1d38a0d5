/**
 * Input files of `http:` and `https:` URLs.
 *
 * @module
 */
import { abortable } from "@std/async/abortable";
import { formatBytes } from "../../../platform/text/display.ts";
import type { StagedFile } from "../config_files.ts";
import { NO_NAME } from "./names.ts";
import { redactedUrl, withoutUserInfo } from "../../../platform/network/urls.ts";
import type { StagingContext, UrlFile } from "./source.ts";

/**
 * Fetches a file, or takes it from the cache, and writes that to the execution's log.
 *
 * @throws {StagingError} when it cannot be fetched
 */
export async function stageRemote(
  file: UrlFile,
  url: URL,
  { settings, sources, budget, folder, keeper }: StagingContext,
): Promise<StagedFile> {
  const { clock, remote, logEvent } = sources;
  const began_ms = clock.steady();
  const tooMuch = new AbortController();
  const signal = AbortSignal.any([budget.signal, tooMuch.signal]);
  await logEvent(`Fetching ${file.name} from ${redactedUrl(url)}`);
  const waiter = {
    signal,
    // Other executions that wait for the same file may have a higher limit, so only this one gives up.
    onBytes: (total: number) => {
      try {
        budget.check(total);
      } catch (error) {
        tooMuch.abort(error);
      }
    },
    onNote: (message: string) => void logEvent(`Fetching ${file.name}: ${message}`),
  };
  return await remote.use(url, settings.private_networks ?? false, waiter, async (found) => {
    budget.take(found.size);
    signal.throwIfAborted();
    const wanted = file.name === NO_NAME ? found.suggestedName ?? NO_NAME : file.name;
    const { name, path } = folder.place(wanted);
    // The command may write into its inputs, so it gets a copy.
    await remote.makingRoom(() => abortable(keeper.copy(path, found), signal));
    const took_s = ((clock.steady() - began_ms) / 1_000).toFixed(1);
    await logEvent(
      found.wasKept
        ? `${name} was in the cache`
        : `Fetched ${name}: ${formatBytes(found.size)} in ${took_s} s`,
    );
    const { size, sha256, artifact } = found;
    const uri = withoutUserInfo(url).href;
    return { name, size, sha256, uri, ...(artifact === undefined ? {} : { artifact }) };
  });
}
