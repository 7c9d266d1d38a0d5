/**
 * Confirming a handshake: some providers ask for a request to a URL of theirs.
 *
 * @module
 */
import { UnavailableError } from "../../platform/errors.ts";
import { type Network, systemNetwork } from "../../platform/network/connection.ts";
import { fetchPublic } from "../../platform/network/fetch_public.ts";

const TIMEOUT_MS = 5_000;
const AGAIN_S = 5;

/** The surroundings of a confirmation. */
export interface ConfirmOptions {
  /** Default: that of the system. */
  network?: Network;
}

/**
 * Fetches the URL by which a provider wants its handshake confirmed; returns false when it is not the provider's.
 *
 * @param host the hosts of the provider
 * @throws {UnavailableError} when the provider does not answer with success
 */
export async function isConfirmed(
  text: string | undefined,
  host: RegExp,
  { network = systemNetwork }: ConfirmOptions,
): Promise<boolean> {
  const url = URL.parse(text ?? "");
  const isOfProvider = url?.protocol === "https:" && url.port === "" && url.username === "" &&
    url.password === "" && host.test(url.hostname);
  if (!isOfProvider) return false;
  let status: number;
  try {
    using answer = await fetchPublic(url, {
      followsRedirects: false,
      network,
      privateNetworks: false,
      setting: "",
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    status = answer.status;
  } catch (cause) {
    throw unconfirmed(`${url.hostname} does not answer`, cause);
  }
  if (status < 200 || status > 299) throw unconfirmed(`${url.hostname} answers ${status}`);
  return true;
}

function unconfirmed(why: string, cause?: unknown): UnavailableError {
  return new UnavailableError(`Cannot confirm the handshake: ${why}`, AGAIN_S, { cause });
}
