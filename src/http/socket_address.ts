/**
 * The sender of requests that came by the socket in the data folder.
 *
 * @module
 */
import type { Peer } from "./peer.ts";

/** The address of all requests that came by the socket: this object, and no other with the same fields. */
export const SOCKET_ADDRESS: Deno.NetAddr = { transport: "tcp", hostname: "127.0.0.1", port: 0 };

/** The sender of these requests: the user of the service, whose bytes no network carries. */
export const SOCKET_PEER: Peer = { ip: SOCKET_ADDRESS.hostname, secure: true };
