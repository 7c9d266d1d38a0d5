# The first program of the container of a step's image. It runs the command for the agent, which has a container
# of its own beside it. The image needs a shell and nothing else: all that follows is built into one.
#
# Both containers share the folder /hooklaunch. There are the pipes "words", by which the agent says what to do,
# and "out" and "err", which take what the command prints. The files "main" and "terminated" tell the agent that
# this program runs, and that it was told to end.
if [ "$$" != 1 ]; then
  echo 'hooklaunch: cannot run a command: expected a container with processes of its own' >&2
  exit 125
fi
cd /hooklaunch || exit 125
trap ': >terminated' HUP INT TERM

# Seconds of a pause, in images that have one.
short=0.05
while [ ! -p words ]; do sleep "$short" 2>/dev/null || :; done
exec 3<>words 4<>out 5<>err
: >main

# Reads the next word of the agent into $word, and what follows into $folder and $shell.
listen() {
  until read -r word folder shell <&3 && [ -n "$word" ]; do :; done
}

# Sets $kills to the number of processes of this container that were killed because its memory was full.
count_kills() {
  kills=0
  for file in /sys/fs/cgroup/memory.events /sys/fs/cgroup/memory/memory.oom_control; do
    if [ ! -r "$file" ]; then continue; fi
    while read -r name number; do
      if [ "$name" = oom_kill ]; then kills=$number; fi
    done <"$file"
  done
}

# Waits for a process of this one, whatever signal comes meanwhile. Sets $code to its exit code.
await() {
  while :; do
    wait "$1"
    code=$?
    kill -s 0 "$1" 2>/dev/null || return 0
  done
}

# Runs the command in place of this process. With 9 also what prints elsewhere holds a pipe, and has its time to
# end when it is told to.
run() {
  # Caught instead of ignored, the signals have their default action again for the command.
  trap : HUP INT TERM
  exec 3<&- </dev/null >&4 2>&5 4>&- 5>&-
  cd "$folder/repository" || exit 1
  . ../control/environment
  if [ "$shell" != yes ]; then exec ../control/command 9>&1; fi
  if command -v bash >/dev/null; then exec bash -e "$folder/control/command" 9>&1; fi
  exec sh -e "$folder/control/command" 9>&1
}

# Sends the signals that the agent asks for to all processes of this container but the first.
obey() {
  # What the command prints is over when nothing of it holds the pipes.
  exec 4>&- 5>&-
  while :; do
    listen
    case $word in
      TERM | KILL) kill -s "$word" -- -1 2>/dev/null ;;
      end) exit 0 ;;
    esac
  done
}

until [ "${word:-}" = start ]; do
  listen
  if [ "$word" = end ]; then exit "${folder:-0}"; fi
done
count_kills
before=$kills
run &
command=$!
obey &
obeying=$!
await "$command"
command=$code
count_kills
if [ "$kills" != "$before" ]; then : >"$folder/control/out_of_memory"; fi
# On a full disk it waits for room, or else nobody would know how the command ended.
until { echo "$command" >"$folder/control/exit_code"; } 2>/dev/null; do sleep 1 2>/dev/null || :; done
exec 4>&- 5>&-
await "$obeying"
exit "$command"
