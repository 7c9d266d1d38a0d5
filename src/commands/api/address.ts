/**
 * The address of a service: a URL, or the socket in its data folder.
 *
 * @module
 */
import process from "node:process";
import { socketOfUrl, socketUrl } from "../../platform/network/own_socket.ts";
import { environment } from "../input/environment.ts";

const DATA_FOLDER = "./data";
const DEFAULT_URL = "http://127.0.0.1:8000";
/** No name is looked up: the socket is the address. This one never leads anywhere (RFC 6761). */
const SOCKET_BASE = "http://hooklaunch.invalid";
/** Variables with hosts for which Deno uses no socket. */
const NO_PROXY = ["NO_PROXY", "no_proxy"];

/** The address of a service, as `fetch` takes it. */
export interface ServiceAddress {
  /** Without a slash at the end. */
  base: string;
  /** The name of the service in messages. */
  shown: string;
  /** Options of `fetch`. */
  init: { client?: Deno.HttpClient };
}

/** Returns the URL of this machine's service: its socket, where one is in the data folder. */
export function ownServiceUrl(): string {
  return socketUrl(environment("HOOKLAUNCH_DATA") ?? DATA_FOLDER) ?? DEFAULT_URL;
}

/** Returns the address that a URL names. */
export function addressOf(url: string): ServiceAddress {
  const path = socketOfUrl(url);
  if (path === undefined) {
    return { base: url.replace(/\/+$/, ""), shown: new URL(url).origin, init: {} };
  }
  return { base: SOCKET_BASE, shown: path, init: { client: socketClient(path) } };
}

/** Makes a client for a socket. It reads the variables now. */
function socketClient(path: string): Deno.HttpClient {
  const before = NO_PROXY.map((name) => [name, process.env[name]] as const);
  for (const name of NO_PROXY) delete process.env[name];
  try {
    return Deno.createHttpClient({ proxy: { transport: "unix", path } });
  } finally {
    for (const [name, value] of before) if (value !== undefined) process.env[name] = value;
  }
}
