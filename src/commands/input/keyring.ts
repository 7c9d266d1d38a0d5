/**
 * The keyring of the desktop, by the program that reaches it: `secret-tool` of libsecret, or macOS's `security`. A
 * token goes to it through standard input, since others see the arguments of a command.
 *
 * @module
 */
import { spawnSync } from "node:child_process";
import { messageOf } from "../../platform/errors.ts";

/** Scripts of the shell, whose first argument is the address of a service. */
interface KeyringProgram {
  store: string;
  /** The standard input of `store`. */
  input(address: string, token: string): string;
  lookup: string;
  remove: string;
}

/** An operating system, as Deno calls it. */
type Os = typeof Deno.build.os;

const PROGRAMS: Readonly<Partial<Record<Os, KeyringProgram>>> = {
  linux: {
    store: 'exec secret-tool store --label="Hooklaunch at $1" service hooklaunch url "$1"',
    input: (_, token) => token,
    lookup: 'exec secret-tool lookup service hooklaunch url "$1"',
    remove: 'exec secret-tool clear service hooklaunch url "$1"',
  },
  darwin: {
    // It reads commands: its option for a password asks at the terminal, or takes it as an argument.
    store: "exec security -i",
    input: (address, token) =>
      `add-generic-password -U -s hooklaunch -a '${address}' -w '${token}'\n`,
    lookup: 'exec security find-generic-password -s hooklaunch -a "$1" -w',
    remove: 'exec security delete-generic-password -s hooklaunch -a "$1"',
  },
};
/** The exit code of a shell whose program is not there. */
const NOT_FOUND = 127;

/** A keyring did not take a token. The reason is one line; empty where there is no keyring. */
interface NotStored {
  reason: string;
}

/** Stores the token of a service; undefined when it is stored. */
export async function storeInKeyring(
  url: string,
  token: string,
  os: Os = Deno.build.os,
): Promise<NotStored | undefined> {
  const program = PROGRAMS[os];
  if (program === undefined) return { reason: "" };
  try {
    const child = new Deno.Command("sh", {
      args: argsOf(program.store, url),
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    const writer = child.stdin.getWriter();
    // A program that is not there reads nothing.
    const written = writer.write(new TextEncoder().encode(program.input(addressOf(url), token)))
      .then(() => writer.close()).catch(() => {});
    const [{ code, stderr }] = await Promise.all([child.output(), written]);
    if (code === NOT_FOUND) return { reason: "" };
    if (code !== 0) return { reason: firstLine(stderr) || `it ended with ${code}` };
  } catch (error) {
    // Without the right to run a shell there is no way to it.
    if (error instanceof Deno.errors.NotCapable) return { reason: "" };
    return { reason: messageOf(error) };
  }
  // Some programs end with 0 though they have stored nothing.
  return lookUpInKeyring(url, os) === token ? undefined : { reason: "it does not give it back" };
}

/**
 * Reads the token of a service; undefined when the keyring does not give one.
 *
 * @param timeout_ms the time in which it must give it: a keyring that is locked may ask a person at another screen
 */
export function lookUpInKeyring(
  url: string,
  os: Os = Deno.build.os,
  timeout_ms?: number,
): string | undefined {
  const answer = output(PROGRAMS[os]?.lookup, url, timeout_ms);
  if (answer?.status !== 0) return undefined;
  return new TextDecoder().decode(answer.stdout).trim() || undefined;
}

/** Removes the token of a service, if there is one. */
export function removeFromKeyring(url: string, os: Os = Deno.build.os): void {
  output(PROGRAMS[os]?.remove, url);
}

function output(script: string | undefined, url: string, timeout?: number) {
  try {
    return script === undefined
      ? undefined
      : spawnSync("sh", argsOf(script, url), { stdio: ["ignore", "pipe", "pipe"], timeout });
  } catch {
    // It gives nothing then, which is told.
    return undefined;
  }
}

function argsOf(script: string, url: string): string[] {
  return ["-c", script, "sh", addressOf(url)];
}

/** The address as the name of its token: nothing in it means anything to a shell or a program. */
function addressOf(url: string): string {
  return url.replaceAll(
    /[^\w.:/~@[\]-]/g,
    (each) => `%${each.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

function firstLine(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes).trim().split("\n")[0] ?? "";
}
