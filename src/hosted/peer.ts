/**
 * The sender of a request that came by a platform, which serves HTTPS itself.
 *
 * @module
 */
import { type Exposure, type Peer, peerOf } from "../http/peer.ts";

/**
 * Returns the sender of a request. The platform's word counts: `https:` in the URL, or in `X-Forwarded-Proto`, is
 * proof. An explicit `http` there is none, whatever the URL says.
 */
export function hostedPeerOf(
  { url, headers }: Request,
  { hostname }: Deno.NetAddr,
  exposure: Exposure,
): Peer {
  const forwarded = headers.get("x-forwarded-proto")?.split(",").at(-1)?.trim().toLowerCase();
  const secure = forwarded === undefined ? url.startsWith("https:") : forwarded === "https";
  return { ip: peerOf(headers, hostname, exposure).ip, secure };
}
