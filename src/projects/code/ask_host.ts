/**
 * Requests to the host of a repository.
 *
 * @module
 */
import type { Network } from "../../platform/network/connection.ts";
import { fetchPublic } from "../../platform/network/fetch_public.ts";

/** A request to a host. */
interface HostRequest {
  url: string;
  method?: string;
  headers: Record<string, string>;
  body?: Uint8Array | undefined;
  /** The header `Authorization`, which goes to the origin of the URL alone. */
  authorization: string | undefined;
  network: Network;
  signal: AbortSignal;
}

/**
 * Sends a request to a host that an admin has named. Those behind it are chosen by whoever answers: a redirect leads
 * to the same host or to a public address, and from https to https alone.
 */
export function askHost(
  { url, method, headers, body, authorization, network, signal }: HostRequest,
): ReturnType<typeof fetchPublic> {
  const start = new URL(url);
  const own = authorization === undefined ? headers : { ...headers, authorization };
  return fetchPublic(start, {
    ...(method !== undefined && { method }),
    ...(body !== undefined && { body }),
    headersFor: ({ origin }) => origin === start.origin ? own : headers,
    network,
    privateNetworks: true,
    othersAreStrangers: true,
    keepsTls: true,
    setting: undefined,
    signal,
  });
}
