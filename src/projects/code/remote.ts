/**
 * Remotes: the addresses of repositories. An address contains no password. One of https names
 * environment variables, `https://user:{env:NAME}@…`, whose values git gets through its own
 * environment: they are in no record, no process list, no file of the mirror and no message.
 *
 * @module
 */
import { existsSync } from "node:fs";
import { isAbsolute } from "node:path";
import { ActionError, type Problem } from "../../platform/errors.ts";
import { hideUserInfo, percentDecode, redactUrls } from "../../platform/network/urls.ts";
import { shellQuote } from "../../platform/shell.ts";
import type { Project } from "../../store/records/projects.ts";

const SECRET_LENGTH_MIN = 4;
const SCHEMES = ["https", "http", "ssh", "git+ssh", "ssh+git", "git", "file"];
const SCHEME = /^([a-z][a-z0-9+.-]*):\/\//i;
/** A user, a host or a path that ssh takes for an option. */
const OPTION = /^\[?(?:[^:/]*@)?\[?-|^[^:]*:-/;
const VARIABLE = /^\{env:([A-Za-z_][A-Za-z0-9_]*)\}$/;
/** A user name and a password, each a text or a variable. */
const USER_INFO = /^(\{env:[A-Za-z_]\w*\}|[^:{}]*)(?::(\{env:[A-Za-z_]\w*\}|[^{}]*))?$/;
const VARIABLE_EXPECTED = "the name of an environment variable of the service in place of " +
  'a password or token, such as "https://user:{env:GIT_TOKEN}@git.example.com/x.git"';
/** A credential helper that takes credentials from git's environment. */
const HELPER = "!f() { test \"$1\" = get && printf 'username=%s\\npassword=%s\\n' " +
  '"$HOOKLAUNCH_GIT_USERNAME" "$HOOKLAUNCH_GIT_PASSWORD"; }; f';

/** The origin of a project's code, as its owner wrote it. It contains no secrets. */
export interface Origin {
  /** Its address, which may name variables that hold credentials. */
  repository: string;
  /** The path of the private key that opens it. */
  deploy_key?: string;
}

/** Returns the origin of a project's repository. */
export function originOf({ repository = "", deploy_key: deployKey }: Project): Origin {
  return { repository, ...(deployKey === undefined ? {} : { deploy_key: deployKey }) };
}

/** A remote for git. */
export interface Remote {
  /** Without credentials. */
  url: string;
  /** The variables that git needs to reach it. */
  env: Record<string, string>;
  /** Removes credentials from the output of git. */
  redact(text: string): string;
}

/** Access to the environment of the service, for opening a remote. */
interface RemoteAccess {
  /** Reads an environment variable, for credentials written as `{env:NAME}`. */
  env(name: string): string | undefined;
  /** The file with the keys of the ssh servers to which a deploy key was sent. */
  knownHostsFile: string;
}

interface Address {
  url: string;
  username: string;
  password: string;
}

/** Returns the expected form of an address that is not allowed; undefined for one that is. */
export function addressProblem(address: string): string | undefined {
  const read = readAddress(address);
  return typeof read === "string" ? read : undefined;
}

/** Returns true for an address that is reached by ssh. */
export function isSshAddress(address: string): boolean {
  const scheme = SCHEME.exec(address)?.[1]?.toLowerCase();
  return scheme === undefined ? /^[^/]+:/.test(address) : scheme.includes("ssh");
}

/** Returns true for a relative path, which git would resolve in the mirror. */
export function isRelativePath(address: string): boolean {
  return !SCHEME.test(address) && !isSshAddress(address) && !isAbsolute(address);
}

/**
 * Returns an address without credentials.
 *
 * @throws {ActionError} when it is not allowed
 */
export function urlOf(address: string): string {
  return parseAddress(address).url;
}

/**
 * Finds the credentials of a remote.
 *
 * @throws {ActionError} when the address is not allowed, or its key or a variable is missing
 */
export async function openRemote(
  { repository, deploy_key: deployKey }: Origin,
  { env, knownHostsFile }: RemoteAccess,
): Promise<Remote> {
  const { url, username, password } = parseAddress(repository);
  if (deployKey !== undefined && isSshAddress(repository)) {
    await checkDeployKey(deployKey);
    const command = sshCommand(deployKey, knownHostsFile);
    return { url, env: { GIT_SSH_COMMAND: command }, redact: redactUrls };
  }
  if (username === "" && password === "") return { url, env: {}, redact: redactUrls };
  const credentials = [username, password].map((text) => valueOf(text, env));
  const [user = "", secret = ""] = credentials;
  const secrets = [username, password].flatMap((text, index) => {
    const value = credentials[index] ?? "";
    return VARIABLE.test(text) ? [value, encodeURIComponent(value)] : [];
  }).filter((text) => text.length >= SECRET_LENGTH_MIN);
  // The form in which git sends them: a server's answer may show the request.
  secrets.push(new TextEncoder().encode(`${user}:${secret}`).toBase64());
  return {
    url,
    env: {
      HOOKLAUNCH_GIT_USERNAME: user,
      HOOKLAUNCH_GIT_PASSWORD: secret,
      // An empty helper removes those of the user's settings. Ours is for this host only.
      GIT_CONFIG_COUNT: "2",
      GIT_CONFIG_KEY_0: "credential.helper",
      GIT_CONFIG_VALUE_0: "",
      GIT_CONFIG_KEY_1: `credential.${new URL(url).origin}.helper`,
      GIT_CONFIG_VALUE_1: HELPER,
    },
    redact: (text) =>
      secrets.reduce((redacted, secret) => redacted.replaceAll(secret, "***"), redactUrls(text)),
  };
}

/** Returns the token in the credentials of a remote: the password, or a user name that stands alone. */
export function tokenOf({ env }: Remote): string | undefined {
  return env.HOOKLAUNCH_GIT_PASSWORD || env.HOOKLAUNCH_GIT_USERNAME || undefined;
}

/**
 * Returns the folder, the variables and the keys that are missing to reach a remote, as problems with pointers into
 * the project.
 */
export async function originProblems(
  { repository, deploy_key: deployKey }: Origin,
  env: RemoteAccess["env"],
): Promise<Problem[]> {
  const problems: Problem[] = [];
  const look = async (field: string, origin: Origin) => {
    await openRemote(origin, { env, knownHostsFile: "" }).catch((error) => {
      if (!(error instanceof ActionError)) throw error;
      problems.push({ pointer: `/${field}`, detail: `Cannot be fetched: ${error.message}` });
    });
  };
  await look("repository", { repository });
  const folder = folderOf(repository);
  // git adds the ending by itself.
  if (folder !== undefined && ![folder, `${folder}.git`].some((path) => existsSync(path))) {
    problems.push({
      pointer: "/repository",
      detail: `Cannot be fetched: ${folder} does not exist, or cannot be read`,
    });
  }
  if (deployKey !== undefined) await look("deploy_key", { repository, deploy_key: deployKey });
  return problems;
}

/** Returns the path of a repository on this machine; undefined for any other address. */
function folderOf(address: string): string | undefined {
  if (/^file:\/\/\//i.test(address)) return percentDecode(address.slice("file://".length));
  return isAbsolute(address) ? address : undefined;
}

function parseAddress(address: string): Address {
  const read = readAddress(address);
  if (typeof read !== "string") return read;
  throw new ActionError(
    `Cannot use the repository address ${JSON.stringify(hideUserInfo(address))}: expected ${read}`,
  );
}

/** Parses an address; returns the expected form if it is not allowed. */
function readAddress(address: string): Address | string {
  // git would take these for an option, or for a program to run.
  if (/^-|^[\w+.-]+::|\p{Cc}/u.test(address) || address === "") {
    return "a URL, host:path or a path";
  }
  if (isSshAddress(address) && OPTION.test(partsForSsh(address))) {
    return 'a user, a host and a path that do not begin with "-", which ssh takes for an option';
  }
  const plain = { url: address, username: "", password: "" };
  const scheme = SCHEME.exec(address)?.[1]?.toLowerCase();
  if (scheme === undefined) return address.includes("{env:") ? VARIABLE_EXPECTED : plain;
  if (!SCHEMES.includes(scheme)) return `one of ${SCHEMES.join(", ")} before "://"`;
  const authority = address.slice(scheme.length + 3).replace(/[/?#].*$/, "");
  const userInfo = authority.slice(0, Math.max(0, authority.lastIndexOf("@")));
  const rest = address.slice(scheme.length + 3 + (userInfo === "" ? 0 : userInfo.length + 1));
  if (!scheme.startsWith("http")) {
    return /[:{]/.test(userInfo) || rest.includes("{env:")
      ? "no password: a deploy_key or an ssh agent opens it"
      : plain;
  }
  const url = URL.parse(`${scheme}://${rest}`);
  if (url === null || url.username !== "" || url.password !== "") return "a URL";
  if (rest.includes("{env:")) return VARIABLE_EXPECTED;
  if (userInfo === "") return plain;
  const [, username = "", password = ""] = USER_INFO.exec(userInfo) ?? [];
  // Many servers take a token as the name alone.
  if (!VARIABLE.test(password === "" ? username : password)) return VARIABLE_EXPECTED;
  return { url: url.href, username, password };
}

/** Returns the user, host and path of an address as git hands them to ssh. */
function partsForSsh(address: string): string {
  const [, afterScheme] = /:\/\/(.*)$/.exec(address) ?? [];
  // git decodes those of a URL.
  return afterScheme === undefined ? address : percentDecode(afterScheme.replace(/[/?#].*$/, ""));
}

function valueOf(written: string, env: RemoteAccess["env"]): string {
  const name = VARIABLE.exec(written)?.[1];
  const value = name === undefined ? percentDecode(written) : env(name) ?? "";
  const where = name === undefined ? "its user name" : `the environment variable ${name}`;
  if (name !== undefined && value === "") throw new ActionError(`${where} is not set`);
  if (/[\0\r\n]/.test(value)) throw new ActionError(`${where} holds a line break`);
  return value;
}

async function checkDeployKey(path: string): Promise<void> {
  const isFile = await Deno.stat(path).then((info) => info.isFile, () => false);
  if (!isFile) {
    throw new ActionError(
      `its deploy_key ${JSON.stringify(path)} does not exist, is no file or cannot be read`,
    );
  }
}

/**
 * Returns the ssh command for a key. ssh uses no other key and asks nothing. It trusts a new server
 * and keeps its key, and refuses a server whose key has changed, or that the service's user knows
 * by another key.
 */
function sshCommand(keyFile: string, knownHostsFile: string): string {
  const options = [
    `IdentityFile=${sshPath(keyFile)}`,
    "IdentitiesOnly=yes",
    "BatchMode=yes",
    "StrictHostKeyChecking=accept-new",
    `UserKnownHostsFile=${sshPath(knownHostsFile)} ~/.ssh/known_hosts`,
    // A shared connection may use another key.
    "ControlPath=none",
  ];
  return ["ssh", ...options.map((option) => `-o ${shellQuote(option)}`)].join(" ");
}

/** Escapes a path for ssh_config(5). */
function sshPath(path: string): string {
  return `"${path.replace(/["\\]/g, "\\$&").replaceAll("%", "%%")}"`;
}
