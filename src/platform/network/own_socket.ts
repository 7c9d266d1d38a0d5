/**
 * The socket in the data folder by which the command line finds the service of this machine. Its user alone may use
 * it, so that no token travels over TCP, and no certificate is needed.
 *
 * @module
 */
import { lstatSync } from "node:fs";
import { join } from "node:path";

const SOCKET_FILE = "hooklaunch.sock";
/** URLs of sockets begin with this; their path follows. */
const SCHEME = "unix:";
/** The bits of a file's mode that are for other users. */
const FOR_OTHERS = 0o077;

/** Returns the path of a data folder's socket. */
export function socketPath(dataFolder: string): string {
  return join(dataFolder, SOCKET_FILE);
}

/** Returns the URL of a data folder's socket; undefined when there is none, or not for its user alone. */
export function socketUrl(dataFolder: string): string | undefined {
  const path = socketPath(dataFolder);
  const found = lstatSync(path, { throwIfNoEntry: false });
  const isPrivate = found?.isSocket() && (found.mode & FOR_OTHERS) === 0;
  return isPrivate ? SCHEME + path : undefined;
}

/** Returns the path of a socket that a URL names; undefined for any other URL. */
export function socketOfUrl(url: string): string | undefined {
  return url.startsWith(SCHEME) ? url.slice(SCHEME.length) : undefined;
}
