/**
 * The machine and its processes. The service may start `sh`, but may neither signal processes that it did not
 * start nor read their state, so `sh` does.
 *
 * @module
 */
import { shell } from "../../platform/run_script.ts";
import { IDENTITY_FUNCTION } from "./wrapper.ts";

/** The facts about the machine that the engine needs. */
export interface Machine {
  /** Changes with each start of the machine; empty when unknown. */
  bootId: string;
  /** The shell that runs commands: bash if it is installed. */
  shell: string;
  /** The words before a command line that make it begin a session; none when no program does that. */
  beginSession: readonly string[];
  /** The words before a command line that give it a low priority; none when no program does that. */
  lowPriority: readonly string[];
}

const decoder = new TextDecoder();

const MACHINE = `
command -v bash || command -v sh
command -v setsid || echo
command -v nice || echo
if [ -r /proc/sys/kernel/random/boot_id ]; then cat /proc/sys/kernel/random/boot_id
else sysctl -n kern.bootsessionuuid || sysctl -n kern.boottime; fi
`;

/** Prints the identity of the process $1. */
const IDENTITY = `${IDENTITY_FUNCTION}identity_of "$1"; echo "$identity"`;

/**
 * Sends the signal $1 to all processes of the sessions $2…: to the session's own process group, and to those
 * that have moved to another group. If $1 begins with "+", skips a session whose leader lives: its id was
 * used again.
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

/**
 * Kills what a command that has ended has left in its session $1, and then the session, unless what captures the
 * output has something to do: on a busy machine it may not have begun yet. What sleeps has read all that was printed.
 */
const END_REST = `
[ -e /proc/self/stat ] || { kill -KILL "-$1"; exit; }
# The captures are children of the leader; what the command has left has another parent.
list() {
  cat /proc/[0-9]*/stat 2>/dev/null | awk -v leader="$1" -v captures="$2" '{
    pid = $1
    sub(/^.*\\) /, "")
    if ($4 != leader || pid == leader || $1 == "Z") next
    if (captures ? $2 == leader && $1 ~ /[RD]/ : $2 != leader) print pid
  }'
}
found=$(list "$1" 0)
[ -z "$found" ] || kill -KILL $found 2>/dev/null
[ -n "$(list "$1" 1)" ] || kill -KILL "-$1"
`;

/**
 * Kills what commands have left in the sessions of wrappers that have ended, whose work folders are in $1. The number
 * of a session may be used again, so a process counts only if the mark in the folder that it was given names its session.
 */
const KILL_LEFT = `
[ -e /proc/self/stat ] || exit 0
given="VH_OUTPUTS_DIR=$1/" root=$1
for environ in $(grep -lsF "$given" /proc/[0-9]*/environ); do
  pid=\${environ#/proc/} pid=\${pid%/environ}
  read -r stat <"/proc/$pid/stat" || continue
  # Field 6 of proc_pid_stat(5), of which two are gone.
  set -- \${stat##*) }
  session=$4 leader=
  [ ! -e "/proc/$session" ] || continue
  id=$(tr '\\0' '\\n' <"$environ" | grep -F "$given") id=\${id#"$given"}
  read -r leader _identity <"$root/\${id%%/*}/control/started"
  [ "$leader" != "$session" ] || kill -KILL "$pid"
done 2>/dev/null
`;

/**
 * Reads the facts about the machine.
 *
 * @param folder of an instance that is one of several. Those on one machine see the same start of it, and each
 * only what is in its own folder
 */
export async function lookAtMachine(folder?: string): Promise<Machine> {
  const [shell, setsid, nice, ...boot] = (await sh(MACHINE)).split("\n");
  return {
    shell: shell || "/bin/sh",
    beginSession: setsid ? sessionWords(setsid) : [],
    lowPriority: nice ? [nice] : [],
    bootId: await bootIdOf(boot.join(" ").trim(), folder),
  };
}

async function bootIdOf(bootId: string, folder: string | undefined): Promise<string> {
  if (folder === undefined || bootId === "") return bootId;
  const { dev, ino } = await Deno.stat(folder);
  return `${bootId} ${dev}.${ino}`;
}

/** If the service may start only `sh`, a shell becomes the program, which takes longer. */
function sessionWords(setsid: string): string[] {
  const { state } = Deno.permissions.querySync({ name: "run", command: setsid });
  return state === "granted" ? [setsid] : ["sh", "-c", 'exec "$@"', "sh", setsid];
}

/**
 * Tells if a process lives.
 *
 * @param identity tells the process from a later one of the same id
 */
export async function isAlive(pid: number, identity: string): Promise<boolean> {
  if (identity === "") return false;
  return (await sh(IDENTITY, String(pid))).trim() === identity;
}

/** Sends a signal to everything in a session. */
export async function signalSession(session: number, signal: "TERM" | "KILL"): Promise<void> {
  // Session 0 would be the service's own group, and 1 every process.
  if (session > 1) await sh(SIGNAL, signal, String(session));
}

/** Kills what a command that has ended has left in its session, and what captures its output once that has all of it. */
export async function endRest(session: number): Promise<void> {
  if (session > 1) await sh(END_REST, String(session));
}

/** Kills the rest of sessions whose leaders have ended. */
export async function killSessions(sessions: readonly number[]): Promise<void> {
  const ended = sessions.filter((session) => session > 1);
  if (ended.length > 0) await sh(SIGNAL, "+KILL", ...ended.map(String));
}

/** Kills what commands have left that an earlier service has started, and that ended before it could. */
export async function killLeft(root: string): Promise<void> {
  await sh(KILL_LEFT, root);
}

/** The disk use of a folder. */
interface FolderUse {
  mb: number;
  /** False when a part of the folder could not be read. */
  isComplete: boolean;
}

/** Measures the disk use of a folder. */
export async function folderUse(path: string, signal: AbortSignal): Promise<FolderUse> {
  const script = 'exec du -skx -- "$1" 2>/dev/null';
  const { stdout, success } = await shell(script, [path], { signal });
  return { mb: Number.parseInt(decoder.decode(stdout)) / 1_024 || 0, isComplete: success };
}

async function sh(script: string, ...args: string[]): Promise<string> {
  return decoder.decode((await shell(script, args)).stdout);
}
