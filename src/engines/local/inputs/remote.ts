/**
 * Input files of `http:` and `https:` URLs.
 *
 * @module
 */
import { shownSize } from "../../../platform/text/format_bytes.ts";
import type { Bringing, BroughtFile, UrlFile } from "./source.ts";
import { NO_NAME } from "./names.ts";
import { shownUrl, withoutUserInfo } from "./redacted_url.ts";

/**
 * Fetches a file, or takes it from what is kept of earlier ones, and tells the execution's log.
 *
 * @throws when it cannot be had
 */
export async function bringRemote(
  file: UrlFile,
  url: URL,
  { settings, sources, allowance, folder }: Bringing,
): Promise<BroughtFile> {
  const { clock, remote, tell } = sources;
  const began_ms = clock.steady();
  const tooMuch = new AbortController();
  const signal = AbortSignal.any([allowance.signal, tooMuch.signal]);
  await tell(`Fetching ${file.name} from ${shownUrl(url)}`);
  const waiter = {
    signal,
    // Others who want the same may be allowed more, so only this one gives up.
    onBytes: (total: number) => {
      try {
        allowance.check(total);
      } catch (error) {
        tooMuch.abort(error);
      }
    },
    onNote: (message: string) => void tell(`Fetching ${file.name}: ${message}`),
  };
  return await remote.use(url, settings.private_networks ?? false, waiter, async (found) => {
    allowance.take(found.size);
    signal.throwIfAborted();
    const wanted = file.name === NO_NAME ? found.suggestedName ?? NO_NAME : file.name;
    const { name, path } = folder.place(wanted);
    // A copy: the command may write into it.
    await remote.makingRoom(() => Deno.copyFile(found.path, path));
    const took_s = ((clock.steady() - began_ms) / 1_000).toFixed(1);
    await tell(
      found.wasKept
        ? `${name} was in the cache`
        : `Fetched ${name}: ${shownSize(found.size)} in ${took_s} s`,
    );
    const { size, sha256 } = found;
    return { name, size, sha256, uri: withoutUserInfo(url).href };
  });
}
