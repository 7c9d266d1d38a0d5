/**
 * Where a repository is fetched from. Credentials of an `https://user:password@…` address are taken out
 * of it, so that they are in no process list and no message; git asks for them through its environment.
 *
 * @module
 */
import { ActionError } from "../errors.ts";

const SECRET_LENGTH_MIN = 4;
/** Answers git's question for credentials, from the environment alone. */
const HELPER = "!f() { test \"$1\" = get && printf 'username=%s\\npassword=%s\\n' " +
  '"$HOOKLAUNCH_GIT_USERNAME" "$HOOKLAUNCH_GIT_PASSWORD"; }; f';

/** An address that git may be given. */
export interface Remote {
  /** Without credentials. */
  url: string;
  /** What git needs in its environment to reach it. */
  env: Record<string, string>;
  /** Takes credentials out of what git said. */
  redact(text: string): string;
}

/**
 * Reads an address.
 *
 * @throws {ActionError} when it could be taken for an option or names a program to run
 */
export function remoteOf(address: string): Remote {
  if (/^-|^[\w+.-]+::|[\0\r\n]/.test(address) || address === "") {
    throw new ActionError(
      `Cannot use the repository address ${JSON.stringify(hideUserInfo(address))}: ` +
        "expected a URL, host:path or a path",
    );
  }
  const parsed = /^https?:\/\//i.test(address) ? URL.parse(address) : null;
  if (parsed === null || (parsed.username === "" && parsed.password === "")) {
    return { url: address, env: {}, redact: hideUserInfo };
  }
  const username = decode(parsed.username);
  const password = decode(parsed.password);
  if (/[\0\r\n]/.test(username + password)) {
    throw new ActionError("Cannot use the repository address: its credentials hold a line break");
  }
  const secrets = [parsed.password, password, parsed.password === "" ? username : ""]
    .filter((secret) => secret.length >= SECRET_LENGTH_MIN);
  parsed.username = "";
  parsed.password = "";
  return {
    url: parsed.href,
    env: {
      HOOKLAUNCH_GIT_USERNAME: username,
      HOOKLAUNCH_GIT_PASSWORD: password,
      // An empty helper forgets those of the person's own settings. Ours is asked for this host alone.
      GIT_CONFIG_COUNT: "2",
      GIT_CONFIG_KEY_0: "credential.helper",
      GIT_CONFIG_VALUE_0: "",
      GIT_CONFIG_KEY_1: `credential.${parsed.origin}.helper`,
      GIT_CONFIG_VALUE_1: HELPER,
    },
    redact: (text) =>
      secrets.reduce((redacted, secret) => redacted.replaceAll(secret, "***"), hideUserInfo(text)),
  };
}

function hideUserInfo(text: string): string {
  return text.replace(/([a-z][a-z0-9+.-]*:\/\/)[^\s/@]*@/gi, "$1***@");
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
