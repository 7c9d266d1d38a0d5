/**
 * The script that runs an execution's command in its container. It needs no service: it takes the mark that
 * lets a command start once only, captures what is printed up to a limit, ends all that is left of
 * the command, gives the files to the service's user, and leaves the exit code at last.
 *
 * @module
 */
import { blocksOf, LEAVE, MARK_IS_TAKEN, RESERVE_CUT } from "../wrapper.ts";

interface ContainerWrapperOptions {
  /** True when the command names its own interpreter. */
  hasShebang: boolean;
  /** Limit of stdout that is kept, and of stderr. */
  streamBytesMax: number;
}

/** The arguments with which an image's shell becomes a wrapper, as the first process of its container. */
export function containerWrapperArguments(
  { hasShebang, streamBytesMax }: ContainerWrapperOptions,
): string[] {
  const blocks = String(blocksOf(streamBytesMax));
  return ["-c", WRAPPER, "hooklaunch-execution", hasShebang ? "shebang" : "", blocks];
}

/**
 * A shell function that writes what it reads into the file `control/$1`, up to $2 blocks.
 */
const CAPTURE = `
# Everything beyond the limit is read and dropped, so that the command is neither blocked nor ended by
# a broken pipe. A full disk is treated alike.
capture() {
  trap '' XFSZ
  ulimit -f "$2"
  ${RESERVE_CUT}
  cat >>"control/$1" || {
    echo cut >>"control/$1.cut"
    cat >/dev/null
  }
}
`;

/**
 * Gives the files to the service's user, as the container knows it: to the one who owns what the container
 * cannot change. Those of an engine without root are known by other numbers within.
 */
const HAND_OVER = `
hand_over() {
  set -- $(ls -dn config)
  chown -hR "$3:$4" control home inputs outputs repository tmp 2>/dev/null
  chmod u+rwx control 2>/dev/null
}
`;

/** The arguments with which an image's shell does that alone. */
export const handOverScript: readonly string[] = ["-c", `${HAND_OVER}hand_over`];

const WRAPPER = `
umask 022
# With noclobber a redirection creates its file or fails: of two wrappers only one comes through.
set -C
{ echo taken >control/started; } 2>/dev/null || exit ${MARK_IS_TAKEN}
set +C

# Until there is something that a signal could be passed on to.
trap '' HUP INT TERM
${CAPTURE}
${LEAVE}
${HAND_OVER}

run() {
  # Caught instead of ignored, the signals have their default action again for the command. The shell
  # sees to a trap only after the command that it waits for.
  trap : HUP INT
  told=
  trap told=yes TERM
  (
    # A shell ignores these for what runs in its background. Some can take that back, and where this
    # one cannot, the program env can, except in the smallest images.
    trap - INT QUIT
    set -- "$1" "$PWD/control/command"
    if [ -n "$1" ]; then set -- "$2"
    else set -- "$(command -v bash || command -v sh)" -e "$2"; fi
    if env --default-signal=INT,QUIT true 2>/dev/null; then
      set -- "$(command -v env)" --default-signal=INT,QUIT "$@"
    fi
    cd repository || exit 1
    . ../control/environment
    # With 9 also what prints elsewhere holds a pipe, and has its time to end when it is told to.
    exec "$@" 9>&1
  )
  leave "$?" code
  # What ends already is not told again: a second SIGTERM would break off what it does about the first.
  [ -z "$told" ] || return 0
  # What the command has left running ends too, or else holds the pipes for a second more.
  kill -TERM -1
  { sleep 1; kill -USR1 1; } </dev/null >/dev/null 2>&1 &
}

# stderr goes through the inner pipe, and stdout past it through the outer one. Of a shell within
# brackets nothing is kept that would hold the pipes.
{
  { (run "$1") 2>&1 >&3 3>&- | capture stderr "$2" 3>&-; } 3>&1 | capture stdout "$2"
} &
running=$!

# A signal to the first process is for all of them, and only what this one waits for in the
# background, does not hold it up.
trap '[ -e control/code ] || true >control/told; kill -TERM -1' HUP INT TERM
late=
trap 'late=yes' USR1
# A shell may answer for ever that a job was killed, as by a command that kills all processes.
while wait "$running"; [ "$?" -gt 128 ] && [ -z "$late" ] && kill -0 "$running" 2>/dev/null; do :; done
trap '' HUP INT TERM USR1
kill -KILL -1 2>/dev/null

# Both kinds of control groups count what was killed for want of memory.
for file in /sys/fs/cgroup/memory.events /sys/fs/cgroup/memory/memory.oom_control; do
  [ -r "$file" ] || continue
  while read -r key count; do
    [ "$key" != oom_kill ] || [ "$count" = 0 ] || true >control/oom
  done <"$file"
done
hand_over
[ -f control/code ] && read -r code <control/code && leave "$code" exit_code
`;
