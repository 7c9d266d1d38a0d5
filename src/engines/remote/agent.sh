# The agent of a job: it claims the execution, brings its files, runs the command, sends what the command
# prints, and tells how it ended. It needs a POSIX shell, curl, tar, setsid, and coreutils or busybox.
#
# The service makes one script of this file and of the functions in `agent/`, behind lines that set $url, $token
# and $ca. Exit code: 0 when the service knows the end, or another agent has the execution; 1 when the service
# was away for too long; 2 when the machine lacks a program; 3 when the service refuses this agent.
#
# Each request can be repeated: the service acknowledges again what it has stored. So each is repeated until its
# answer is whole, which the last line "ok" says.
set -u
umask 077

# In seconds: the time without an answer after which it gives up; the pause between two looks at the command;
# the longest time without a message.
patience=${HOOKLAUNCH_PATIENCE:-14400}
tick=${HOOKLAUNCH_TICK:-0.5}
silence=${HOOKLAUNCH_SILENCE:-2}
# The clock has whole seconds.
silence=${silence%%.*}
silence=${silence:-0}
# The variables of the machine that the command gets; "*" stands for all.
kept=${HOOKLAUNCH_KEEP:-PATH LANG TZ CUDA_VISIBLE_DEVICES NVIDIA_VISIBLE_DEVICES ROCR_VISIBLE_DEVICES \
SLURM_JOB_ID SLURM_JOB_GPUS SLURM_JOB_NODELIST SLURM_CPUS_PER_TASK SLURM_MEM_PER_NODE}
parent=${HOOKLAUNCH_FOLDER:-$PWD}
host=${HOOKLAUNCH_HOST:-}
if [ -z "$host" ]; then { read -r host </proc/sys/kernel/hostname; } 2>/dev/null || host=$(uname -n); fi
# The folder that is shared with a container which runs the command; empty where this machine runs it.
main=${HOOKLAUNCH_MAIN:-}
unset HOOKLAUNCH_PATIENCE HOOKLAUNCH_TICK HOOKLAUNCH_SILENCE HOOKLAUNCH_KEEP HOOKLAUNCH_FOLDER \
  HOOKLAUNCH_HOST HOOKLAUNCH_MAIN
# The command's container may have another user.
if [ -n "$main" ]; then umask 0; fi

# Bytes of a log that are sent at once.
PART_BYTES=262144
# Files of more bytes are sent and brought beside the watch over limits and messages.
LARGE_BYTES=1048576
# Seconds between two notes of what was printed while the service is away.
AWAY_MARK=2
# Seconds for what the command has left running.
DRAIN=1

state=preparing
ending=
terminated=
session=
kill_at=
limit_time= limit_silence= limit_grace=10
limit_stream=67108864 limit_outputs=1000 limit_output_bytes=0
acked_stdout=0 acked_stderr=0 end_stdout=0 end_stderr=0 at_stdout=0 at_stderr=0 tried_stdout= tried_stderr=
size_stdout=0 size_stderr=0 marked_stdout=0 marked_stderr=0 full_stdout= full_stderr=
away= pause=0 next_beat=0 reporting=

for program in curl tar setsid sha256sum od tr dd tail head stat; do
  if ! command -v "$program" >/dev/null; then
    say "cannot run a job: this machine has no $program"
    exit 2
  fi
done
# Some machines sleep for whole seconds only.
short=0.1
sleep 0.001 2>/dev/null || short=1 tick=1

claim=$(od -An -v -tx1 -N16 /dev/urandom | tr -d ' \n')
folder=$parent/hooklaunch-$claim
if ! mkdir -p "$folder/control" 2>/dev/null; then folder=$(mktemp -d) && mkdir "$folder/control" || exit 2; fi
cd "$folder" || exit 2
folder=$PWD
{
  echo "header = \"Authorization: Bearer $token\""
  echo "header = \"Hooklaunch-Claim: $claim\""
} >control/curl
if [ -n "$main" ]; then chmod 600 control/curl; fi
if [ -n "$ca" ]; then
  echo "$ca" >control/ca.pem
  echo 'cacert = "control/ca.pem"' >>control/curl
fi
unset token ca
: >control/stdout
: >control/stderr
: >control/stdout.marks
: >control/stderr.marks
: >control/not_uploaded
exec 4<control/stdout.marks 5<control/stderr.marks
look_at_clock
last_answer=$steady began=$steady printed=$steady reason= shell=yes
trap 'terminated=yes' HUP INT TERM

next_beat=$((steady + patience * 2))
claimed="host=$(encode "$host")&folder=$(encode "$folder")"
if ! ask POST "claim?$claimed&manifest=1" --data-binary ''; then
  say "this agent does not get the execution: $(cat control/answer)"
  remove_folder
  exit 0
fi
next_beat=0
look_at_clock
began=$steady

if prepare && [ -z "$ending" ]; then
  if [ -n "$main" ]; then
    chmod a+rwx control
    chmod -R a+rwX config home inputs outputs repository tmp control/command control/environment
    if [ -d control/secrets ]; then chmod -R a+rX control/secrets; fi
  fi
  start_command
  watch_command
fi
state=ended
finish stdout 4
finish stderr 5
code=
if [ -s control/exit_code ]; then read -r code <control/exit_code; fi
if [ -z "$ending" ]; then
  # The engine's signal reached the command before the agent.
  case $code in
    129 | 130 | 137 | 143) if [ -n "$terminated" ]; then ending=terminated; fi ;;
  esac
  if [ -e control/out_of_memory ] && [ "$code" != 0 ]; then ending=out_of_memory; fi
  # The command's container has ended before it.
  if [ -n "$main" ] && [ -z "$code$reason" ]; then ending=terminated; fi
fi
upload_outputs
rounds=0
until report_end; do
  if [ "$status" != 409 ]; then say "the end is refused: $(cat control/answer)"; exit 3; fi
  # Less is stored than was acknowledged: the service has lost its data, and goes on from a backup.
  rounds=$((rounds + 1)) pause=$rounds
  wait_again
  acked_stdout=0 acked_stderr=0 full_stdout= full_stderr=
  finish stdout 4
  finish stderr 5
  upload_outputs
done
remove_folder
exit 0
