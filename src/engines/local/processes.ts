/**
 * Processes of other sessions: the service may start `sh`, but may neither signal processes that it did
 * not start nor read what the system tells of them, so `sh` does.
 *
 * @module
 */
import { shell } from "../../platform/shell.ts";
import { IDENTITY_FUNCTION } from "./wrapper.ts";

/** What the engine has to know of the machine. */
export interface Machine {
  /** Another one after each start of the machine; empty when the machine does not tell. */
  bootId: string;
  /** The shell that runs commands: bash where there is one. */
  shell: string;
  /** The words before a command line that have it begin a session; none where no program does that. */
  beginSession: readonly string[];
}

const decoder = new TextDecoder();

const MACHINE = `
command -v bash || command -v sh
command -v setsid || echo
if [ -r /proc/sys/kernel/random/boot_id ]; then cat /proc/sys/kernel/random/boot_id
else sysctl -n kern.bootsessionuuid || sysctl -n kern.boottime; fi
`;

/** Prints the identity of the process $1. */
const IDENTITY = `${IDENTITY_FUNCTION}identity_of "$1"; echo "$identity"`;

/**
 * Sends the signal $1 to all processes of the sessions $2…: to the session's own process group, and to
 * those that have left it for another. When $1 begins with "+" a session whose leader lives is passed
 * over: it is not the one that ended.
 */
const SIGNAL = `
signal=\${1#+} mode=$1
shift
[ "$mode" != "$signal" ] || for session; do kill "-$signal" "-$session"; done
[ -e /proc/self/stat ] || exit 0
found=$(cat /proc/[0-9]*/stat 2>/dev/null | awk -v sessions=" $* " -v mode="$mode" '{
  pid = $1
  sub(/^.*\\) /, "")
  if ($1 == "Z" || !index(sessions, " " $4 " ")) next
  if (mode ~ /^[+]/) { if (pid == $4) led[$4] = 1 } else if ($3 == $4) next
  session[pid] = $4
} END { for (pid in session) if (!led[session[pid]]) print pid }')
[ -z "$found" ] || kill "-$signal" $found
`;

/** Looks at the machine. */
export async function lookAtMachine(): Promise<Machine> {
  const [shell, setsid, ...boot] = (await sh(MACHINE)).split("\n");
  return {
    shell: shell || "/bin/sh",
    beginSession: setsid ? sessionWords(setsid) : [],
    bootId: boot.join(" ").trim(),
  };
}

/** Where the service may start `sh` and not the program itself, a shell becomes it, which takes longer. */
function sessionWords(setsid: string): string[] {
  const { state } = Deno.permissions.querySync({ name: "run", command: setsid });
  return state === "granted" ? [setsid] : ["sh", "-c", 'exec "$@"', "sh", setsid];
}

/**
 * Whether a process lives.
 *
 * @param identity what the process told of itself, so that a later one of its id is not taken for it
 */
export async function isAlive(pid: number, identity: string): Promise<boolean> {
  if (identity === "") return false;
  return (await sh(IDENTITY, String(pid))).trim() === identity;
}

/** Sends a signal to everything in a session. */
export async function signalSession(session: number, signal: "TERM" | "KILL"): Promise<void> {
  // 0 would be the service's own group, and 1 everything.
  if (session > 1) await sh(SIGNAL, signal, String(session));
}

/** Kills what is left of sessions whose leaders have ended. */
export async function killSessions(sessions: readonly number[]): Promise<void> {
  const ended = sessions.filter((session) => session > 1);
  if (ended.length > 0) await sh(SIGNAL, "+KILL", ...ended.map(String));
}

/** What a folder takes on disk. */
export interface FolderUse {
  mb: number;
  /** Whether all of it was there to be looked into. */
  isComplete: boolean;
}

/** Measures what a folder takes on disk. */
export async function folderUse(path: string, signal: AbortSignal): Promise<FolderUse> {
  const script = 'exec du -skx -- "$1" 2>/dev/null';
  const { stdout, success } = await shell(script, [path], { signal });
  return { mb: Number.parseInt(decoder.decode(stdout)) / 1_024 || 0, isComplete: success };
}

async function sh(script: string, ...args: string[]): Promise<string> {
  return decoder.decode((await shell(script, args)).stdout);
}
