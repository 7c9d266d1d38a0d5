/**
 * The script that runs an execution's command. It outlives the service: it takes the mark that lets a
 * command start once only, captures what is printed up to a limit, and leaves the exit code.
 *
 * @module
 */

/** The exit code of a wrapper that found the mark taken. It has done nothing then. */
export const MARK_IS_TAKEN = 97;

export interface WrapperOptions {
  /** The shell that runs the command; empty when the command names its own interpreter. */
  shell: string;
  /** Limit of stdout that is kept, and of stderr. */
  streamBytesMax: number;
}

/**
 * The arguments with which a POSIX shell becomes a wrapper, in a prepared work folder, as the leader of a
 * session of its own, with nothing as stdin, stdout and stderr.
 */
export function wrapperArguments({ shell, streamBytesMax }: WrapperOptions): string[] {
  return ["-c", WRAPPER, "hooklaunch-execution", shell, String(blocksOf(streamBytesMax))];
}

/** The unit of a shell's limit of file size. */
const BLOCK_BYTES = 512;

/** So many bytes as a shell's limit of file size. */
export function blocksOf(bytes: number): number {
  return Math.ceil(bytes / BLOCK_BYTES);
}

/** Returns the limit of a stream in whole blocks, as a wrapper keeps them. */
export function keptBytesMax(streamBytesMax: number): number {
  return blocksOf(streamBytesMax) * BLOCK_BYTES;
}

/**
 * A shell function that sets `identity` to what tells a process from a later one of the same id: the
 * time it started. Empty when there is no such process.
 */
export const IDENTITY_FUNCTION = `
identity_of() {
  identity=
  if [ -e /proc/self/stat ]; then
    { read -r stat <"/proc/$1/stat"; } 2>/dev/null || return 0
    # The program's name before the bracket may hold anything.
    stat=\${stat##*) }
    set -- $stat
    # Field 22 of proc_pid_stat(5), of which two are gone. Z has ended.
    [ "$1" = Z ] || identity=\${20}
  else
    identity=$(ps -o lstart= -p "$1" 2>/dev/null)
  fi
}
`;

/** The size of the mark of a cut stream $1 before the stream is cut. The mark has its room before a disk is full. */
export const RESERVED_BYTES = 1;

/** Reserves it. */
export const RESERVE_CUT = `{ echo >"control/$1.cut"; } 2>/dev/null`;

/** The time after which a wrapper that cannot do its work ends by itself. */
const GIVE_UP_S = 24 * 60 * 60;

/**
 * Shell functions. `leave` leaves the exit code $1 in the file `control/$2`. The line break at its end says that it
 * is whole. `go_on` waits for a moment; it is false when the wrapper is to end by itself.
 */
export const LEAVE = `
go_on() {
  [ -e control ] && [ "$waited" -lt ${GIVE_UP_S} ] || return 1
  pause=1
  [ "$waited" -lt 60 ] || pause=10
  sleep "$pause"
  waited=$((waited + pause))
}

# On a full disk it waits for room, or else nobody would know how the command ended. What the command has
# taken of its owner's rights to the folders is given back, and what it has put in the file's place is
# removed: to write into a pipe would wait for a reader.
leave() {
  if [ -e "control/$2" ] || [ -L "control/$2" ]; then rm -rf "control/$2"; fi
  waited=0
  until { echo "$1" >"control/$2"; } 2>/dev/null; do
    chmod u+rwx "$PWD" "$PWD/control" 2>/dev/null
    go_on || break
  done
}
`;

/**
 * A shell function that opens a pipe at the file descriptors $1, to read, and $2, to write. Most shells make a pipe
 * for the text of a here-document, which saves a process. Else it has a name for a moment.
 */
const OPEN_PIPE = `
open_pipe() {
  eval "exec $1<<END

END"
  if [ -p "/proc/$$/fd/$1" ]; then
    # It is empty without its text.
    eval "read -r text <&$1; exec $2>/proc/$$/fd/$1"
  else
    mkfifo control/pipe || exit
    eval "exec $2<>control/pipe $1<control/pipe $2>control/pipe"
    rm control/pipe
  fi
}
`;

const WRAPPER = `
# With noclobber a redirection creates its file or fails: of two wrappers only one comes through.
${IDENTITY_FUNCTION}
identity_of "$PPID"
service=$identity
identity_of $$
set -C
echo "$$ $identity" 2>/dev/null >control/started || exit ${MARK_IS_TAKEN}
set +C

# Whatever ends the command must not end what captures its output and leaves its exit code.
trap '' HUP INT TERM

${LEAVE}
${OPEN_PIPE}
# Beside this shell there is one process for each stream. \`tee\` reads on when its file takes no more, so that
# the command is neither blocked nor ended by a broken pipe. What it says about that is the mark of a stream
# that is cut.
capture() {
  ${RESERVE_CUT}
  (
    trap '' XFSZ
    ulimit -f "$2"
    mark=control/$1.cut
    [ -f "$mark" ] || mark=/dev/null
    exec tee -a "control/$1" <&"$3" >/dev/null 2>>"$mark" 3<&- 4>&- 5<&- 6>&-
  ) &
}
open_pipe 3 4
open_pipe 5 6
capture stdout "$2" 3
stdout=$!
capture stderr "$2" 5
stderr=$!

# Caught instead of ignored, the signals have their default action again for the command. The shell
# sees to a trap only after the command that it waits for.
trap : HUP INT
told=
trap told=yes TERM
(
  # From here on what is sent to the session ends this shell, or the command that it becomes.
  echo begun 2>/dev/null >>control/started
  set -- "$1" "$PWD/control/command"
  export TMPDIR="$PWD/tmp"
  # The same folder, by a name that is short enough for sockets.
  [ ! -d "/proc/$$/cwd/tmp" ] || TMPDIR="/proc/$$/cwd/tmp"
  cd repository || exit 1
  . ../control/environment
  # Linux may share out the processors among sessions, and then heeds no priority within one but the session's
  # own (sched(7), "The autogroup feature"). What comes before the command does not wait behind others.
  { echo 10 >/proc/self/autogroup; } 2>/dev/null
  # With 9 also what prints elsewhere holds a pipe, and has its time to end when it is told to.
  [ -z "$1" ] || exec "$1" -e "$2" 9>&1
  exec "$2" 9>&1
) >&4 2>&6 3<&- 4>&- 5<&- 6>&-
code=$?
exec 3<&- 4>&- 5<&- 6>&-
leave "$code" exit_code
# What the command has left running ends too, or else holds the pipes and is killed by the service.
# What ends already is not told again: a second SIGTERM would break off what it does about the first.
trap '' HUP INT TERM
[ -n "$told" ] || kill -TERM "-$$"

has_ended() {
  identity_of "$1"
  [ -z "$identity" ]
}
# The service kills what still holds the pipes, if there is one.
guard=
if ! { has_ended "$stdout" && has_ended "$stderr"; }; then
  {
    waited=0
    while go_on; do :; done
    kill -KILL "-$$"
  } >/dev/null 2>&1 &
  guard=$!
fi
wait "$stdout" "$stderr"
# The service writes the results to disk. The machine may be restarted before the next one does.
identity_of "$PPID"
if [ "$identity" != "$service" ]; then
  { sync -f control outputs || sync; } 2>/dev/null && true >control/on_disk
fi
kill -KILL $guard "-$$"
`;
