/**
 * Where a repository is fetched from. No address holds a password: an https one names environment
 * variables, `https://user:{env:NAME}@…`, and git asks for what they hold through its own environment,
 * so that it is in no record, no process list, no file of the mirror and no message.
 *
 * @module
 */
import { isAbsolute } from "node:path";
import { ActionError, type Problem } from "../../platform/errors.ts";
import { hideUserInfo, percentDecode, redactUrls } from "../../platform/network/urls.ts";
import { shellQuote } from "../../platform/shell.ts";

const SECRET_LENGTH_MIN = 4;
const SCHEMES = ["https", "http", "ssh", "git+ssh", "ssh+git", "git", "file"];
const SCHEME = /^([a-z][a-z0-9+.-]*):\/\//i;
const VARIABLE = /^\{env:([A-Za-z_][A-Za-z0-9_]*)\}$/;
/** A user name and a password, each a text or a variable. */
const USER_INFO = /^(\{env:[A-Za-z_]\w*\}|[^:{}]*)(?::(\{env:[A-Za-z_]\w*\}|[^{}]*))?$/;
const VARIABLE_EXPECTED = "the name of an environment variable of the service in place of " +
  'a password or token, such as "https://user:{env:GIT_TOKEN}@git.example.com/x.git"';
/** Answers git's question for credentials, from the environment alone. */
const HELPER = "!f() { test \"$1\" = get && printf 'username=%s\\npassword=%s\\n' " +
  '"$HOOKLAUNCH_GIT_USERNAME" "$HOOKLAUNCH_GIT_PASSWORD"; }; f';

/** Where the code of a project comes from, as its owner wrote it: free of secrets. */
export interface Origin {
  /** Its address, which may name variables that hold credentials. */
  repository: string;
  /** The path of the private key that opens it. */
  deploy_key?: string;
}

/** A remote that git may be given. */
export interface Remote {
  /** Without credentials. */
  url: string;
  /** What git needs in its environment to reach it. */
  env: Record<string, string>;
  /** Takes credentials out of what git said. */
  redact(text: string): string;
}

/** What opening a remote takes from its surroundings. */
export interface RemoteAccess {
  /** Reads an environment variable, for credentials written as `{env:NAME}`. */
  env(name: string): string | undefined;
  /** The file that keeps the keys of ssh servers that a deploy key was used with. */
  knownHostsFile: string;
}

interface Address {
  url: string;
  username: string;
  password: string;
}

/** What an address must be and is not, to follow "expected"; undefined when git may be given it. */
export function addressProblem(address: string): string | undefined {
  const read = readAddress(address);
  return typeof read === "string" ? read : undefined;
}

/** Whether an address is one that ssh is used for. */
export function isSshAddress(address: string): boolean {
  const scheme = SCHEME.exec(address)?.[1]?.toLowerCase();
  return scheme === undefined ? /^[^/]+:/.test(address) : scheme.includes("ssh");
}

/** Whether an address is a path from the current folder, which git has in the mirror. */
export function isRelativePath(address: string): boolean {
  return !SCHEME.test(address) && !isSshAddress(address) && !isAbsolute(address);
}

/**
 * The address without credentials.
 *
 * @throws {ActionError} when git must not be given it
 */
export function urlOf(address: string): string {
  return checked(address).url;
}

/**
 * Looks up what it takes to reach a remote.
 *
 * @throws {ActionError} when git must not be given the address, or what opens it is not there
 */
export async function openRemote(
  { repository, deploy_key: deployKey }: Origin,
  { env, knownHostsFile }: RemoteAccess,
): Promise<Remote> {
  const { url, username, password } = checked(repository);
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
  // As git sends them: an answer may show the request that it is to.
  secrets.push(new TextEncoder().encode(`${user}:${secret}`).toBase64());
  return {
    url,
    env: {
      HOOKLAUNCH_GIT_USERNAME: user,
      HOOKLAUNCH_GIT_PASSWORD: secret,
      // An empty helper forgets those of the person's own settings. Ours is asked for this host alone.
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

/** Returns what is missing to reach a remote, with pointers into the project. */
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
  if (deployKey !== undefined) await look("deploy_key", { repository, deploy_key: deployKey });
  return problems;
}

function checked(address: string): Address {
  const read = readAddress(address);
  if (typeof read !== "string") return read;
  throw new ActionError(
    `Cannot use the repository address ${JSON.stringify(hideUserInfo(address))}: expected ${read}`,
  );
}

/** Takes an address apart; a text says what it should have been. */
function readAddress(address: string): Address | string {
  // git would take these for an option, or for the name of a program to run.
  if (/^-|^[\w+.-]+::|\p{Cc}/u.test(address) || address === "") {
    return "a URL, host:path or a path";
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
  // A name alone is a token too, to many servers.
  if (!VARIABLE.test(password === "" ? username : password)) return VARIABLE_EXPECTED;
  return { url: url.href, username, password };
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
 * How ssh uses a key: this one and no other, without a question. A server that is new is believed and
 * its key kept; one whose key has changed is refused, as is one that the service's own user knows by
 * another key.
 */
function sshCommand(keyFile: string, knownHostsFile: string): string {
  const options = [
    `IdentityFile=${sshPath(keyFile)}`,
    "IdentitiesOnly=yes",
    "BatchMode=yes",
    "StrictHostKeyChecking=accept-new",
    `UserKnownHostsFile=${sshPath(knownHostsFile)} ~/.ssh/known_hosts`,
    // A connection that is open already may have been opened by another key.
    "ControlPath=none",
  ];
  return ["ssh", ...options.map((option) => `-o ${shellQuote(option)}`)].join(" ");
}

/** A path as ssh_config(5) reads it. */
function sshPath(path: string): string {
  return `"${path.replace(/["\\]/g, "\\$&").replaceAll("%", "%%")}"`;
}
