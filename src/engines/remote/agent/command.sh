# A part of the agent: running the command, its limits and its end.

# One look at the command: what it prints, its limits, and a message to the service.
look() {
  mark
  if [ "$state" = ended ]; then
    # The rest of the log is sent elsewhere, in its order.
    if [ "$((steady - last_answer))" -lt "$silence" ] || [ "$steady" -lt "$next_beat" ]; then return; fi
    : >control/part
    post stdout "$acked_stdout" "$steady" || next_beat=$((steady + 1))
    return
  fi
  if [ -n "$main" ] && [ -e "$main/terminated" ]; then terminated=yes; fi
  if [ -z "$ending" ]; then
    if [ -n "$terminated" ]; then ending=terminated
    elif [ -n "$limit_time" ] && [ "$((steady - began))" -ge "$limit_time" ]; then ending=time_limit
    elif [ -n "$limit_silence" ] && [ "$state" = running ] &&
      [ "$((steady - printed))" -ge "$limit_silence" ]; then ending=no_output
    fi
  fi
  if [ -n "$ending" ] && [ "$state" = running ]; then stop_command; fi
  if [ "$steady" -ge "$next_beat" ]; then beat; fi
}

read_session() {
  if [ -z "$session" ] && [ -s control/session ]; then read -r session <control/session; fi
}

# Sends a signal to all processes of the command's session.
signal_session() {
  if [ -n "$main" ]; then
    echo "$1" >&6
    return
  fi
  kill -s "$1" -- "-$session" 2>/dev/null
  for process in /proc/[0-9]*; do
    { read -r facts <"$process/stat"; } 2>/dev/null || continue
    # proc_pid_stat(5): state, parent, group and session stand behind the name, which may hold anything.
    facts=${facts##*) }
    set -- "$1" $facts
    if [ "$5" = "$session" ] && [ "$4" != "$session" ] && [ "$2" != Z ]; then
      kill -s "$1" "${process#/proc/}" 2>/dev/null
    fi
  done
}

# Asks the command to end, and kills it when its time for that is over.
stop_command() {
  read_session
  if [ -z "$session" ]; then return; fi
  if [ -z "$kill_at" ]; then
    signal_session TERM
  elif [ "$steady" -ge "$kill_at" ]; then
    signal_session KILL
  else
    return
  fi
  kill_at=$((steady + limit_grace))
}

# Copies what it reads into the file control/$1, up to a limit. The rest is read and dropped, so that the
# command is neither blocked nor ended by a broken pipe. A full disk is treated alike.
capture() {
  trap '' HUP INT TERM XFSZ
  ulimit -f "$(((limit_stream + 511) / 512))"
  cat >>"control/$1" || {
    true >"control/$1.cut"
    cat >/dev/null
  }
}

# The first program of the command's session, in the job's folder. $1 is the interpreter, or empty; $2 the
# agent's process, by which the folder for temporary files has a name that is short enough for sockets. With 9
# also what prints elsewhere holds a pipe, and has its time to end when it is told to.
FIRST='
echo "$$" >control/session
export TMPDIR="$PWD/tmp"
[ ! -d "/proc/$2/cwd/tmp" ] || TMPDIR="/proc/$2/cwd/tmp"
set -- "$1" "$PWD/control/command"
cd repository || exit 1
. ../control/environment
[ -z "$1" ] || exec "$1" -e "$2" 9>&1
exec "$2" 9>&1
'

# Runs the command in a session of its own, and leaves its exit code in a file.
run() {
  # Caught instead of ignored, the signals have their default action again for the command.
  trap : HUP INT TERM
  if [ "$kept" = '*' ]; then
    set --
  else
    set -- env -i
    for name in $kept; do
      eval "is_set=\${$name+yes}"
      if [ -n "$is_set" ]; then eval "set -- \"\$@\" \"$name=\$$name\""; fi
    done
  fi
  setsid "$@" sh -c "$FIRST" hooklaunch-command "$interpreter" "$$"
  code=$?
  # On a full disk it waits for room, or else nobody would know how the command ended.
  until { echo "$code" >control/exit_code.new && mv control/exit_code.new control/exit_code; } 2>/dev/null; do
    [ -d control ] || break
    sleep 1
  done
}

# Starts the command in its container, which holds the other ends of the pipes.
start_in_main() {
  # A pipe that is opened for reading alone waits for one who writes.
  exec 6<>"$main/words" 7<>"$main/out" 8<"$main/out" 7<>"$main/err" 9<"$main/err" 7>&-
  {
    capture stdout <&8 8<&- 9<&- &
    capture stderr <&9 8<&- 9<&- &
    wait
    : >control/over
  } 4<&- 5<&- 6>&- >/dev/null 2>&1 &
  exec 8<&- 9<&-
  session=main
  echo "start $folder $shell" >&6
}

start_command() {
  interpreter=
  if [ "$shell" = yes ]; then interpreter=$(command -v bash || command -v sh); fi
  state=running
  look_at_clock
  printed=$steady
  if [ -n "$main" ]; then
    start_in_main
    return
  fi
  {
    { run 2>&1 >&3 3>&- 4<&- 5<&- | capture stderr 3>&- 4<&- 5<&-; } 3>&1 | capture stdout 4<&- 5<&-
    : >control/over
  } </dev/null >/dev/null 2>&1 &
}

# Stays with the command until it has ended, and with what it leaves running for a moment.
watch_command() {
  while [ ! -s control/exit_code ] && [ ! -e control/over ]; do
    sleep "$tick"
    look
  done
  # What comes from here on changes nothing of how it ended.
  state=ended
  read_session
  if [ -n "$session" ] && [ ! -e control/over ]; then
    look_at_clock
    # What was told to end has its time for that, and is not told again: a second SIGTERM would break off what
    # it does about the first.
    until=$kill_at
    if [ -z "$kill_at" ]; then
      signal_session TERM
      until=$((steady + DRAIN + 1))
    fi
    while [ ! -e control/over ] && [ "$steady" -lt "$until" ]; do
      sleep "$short"
      look
    done
    if [ ! -e control/over ]; then signal_session KILL; fi
    until=$((steady + 2))
    while [ ! -e control/over ] && [ "$steady" -lt "$until" ]; do
      sleep "$short"
      look
    done
  fi
  # From here on its number may be another's.
  rm -f control/session
  session=
}
