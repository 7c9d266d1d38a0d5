# The first program of the agent's container, which starts before the one of the step's image and ends after it.
# It makes the pipes between both, waits until the command's container runs, and runs the agent.
cd /hooklaunch || exit 1
umask 0
agent=
trap 'terminated=yes; if [ -n "$agent" ]; then kill -s TERM "$agent" 2>/dev/null; fi' HUP INT TERM
terminated=

# Ends the command's container with an exit code, and waits until this one is told to end: it would be started
# again before.
leave() {
  echo "end $1" >&6
  until [ -n "$terminated" ]; do
    sleep 60 &
    wait "$!"
  done
  exit 0
}

if [ ! -p words ]; then mkfifo out err words || exit 1; fi
exec 6<>words
if [ -e started ]; then
  echo 'hooklaunch: this container was started again: what the agent knew is lost' >&2
  echo KILL >&6
  leave 1
fi
until [ -e main ]; do
  if [ -n "$terminated" ]; then exit 0; fi
  sleep 0.05 2>/dev/null || sleep 1
done
: >started
HOOKLAUNCH_MAIN=/hooklaunch HOOKLAUNCH_FOLDER=/hooklaunch sh /hooklaunch-agent/agent &
agent=$!
while :; do
  wait "$agent"
  code=$?
  kill -s 0 "$agent" 2>/dev/null || break
done
agent=
leave "$code"
