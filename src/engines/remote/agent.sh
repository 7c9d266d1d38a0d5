# The agent of a job: it claims the execution, brings its files, runs the command, sends what the command
# prints, and tells how it ended. It needs a POSIX shell, curl, tar, setsid, and coreutils or busybox.
#
# The lines above set $url, $token and $ca. Exit code: 0 when the service knows the end, or another agent has
# the execution; 1 when the service was away for too long; 2 when the machine lacks a program; 3 when the
# service refuses this agent.
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
# The variables of the machine that the command gets; "*" stands for all.
kept=${HOOKLAUNCH_KEEP:-PATH LANG TZ CUDA_VISIBLE_DEVICES NVIDIA_VISIBLE_DEVICES ROCR_VISIBLE_DEVICES \
SLURM_JOB_ID SLURM_JOB_GPUS SLURM_JOB_NODELIST SLURM_CPUS_PER_TASK SLURM_MEM_PER_NODE}
parent=${HOOKLAUNCH_FOLDER:-$PWD}
unset HOOKLAUNCH_PATIENCE HOOKLAUNCH_TICK HOOKLAUNCH_SILENCE HOOKLAUNCH_KEEP HOOKLAUNCH_FOLDER

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
away= pause=0 next_beat=0

# Sets $steady to seconds of a clock that nobody sets.
look_at_clock() {
  if [ -r /proc/uptime ]; then
    read -r steady _rest </proc/uptime
    steady=${steady%%.*}
  else
    steady=$(date +%s)
  fi
}

say() { echo "hooklaunch: $*" >&2; }

# Encodes a text for a URL.
encode() { printf %s "$1" | od -An -v -tx1 | tr -d '\n' | tr ' ' '%'; }

# Decodes a text with bytes in octal, as \0141, into $decoded.
decode() {
  decoded=$(printf '%bx' "$1")
  decoded=${decoded%x}
}

size_of() { stat -c %s "$1" 2>/dev/null || echo 0; }

# --- Requests ---

# request METHOD URL FILE [OPTION...]: asks once. The answer is in FILE, its number in $status: 000 when it did
# not come, or not to its end. $redirect is where it leads.
request() {
  method=$1 target=$2 answer=$3
  shift 3
  : >"$answer"
  said=$(curl -q -sS -X "$method" -o "$answer" -w '%{http_code} %{redirect_url}' \
    --connect-timeout 5 "$@" "$target" 2>control/curl_error </dev/null) || said=
  heard "$said"
}

# Takes what curl said of an answer.
heard() {
  status=${1%% *} redirect=${1#* }
  status=${status:-000}
  look_at_clock
  # A proxy may answer for a service that is away.
  case $status in 2??) last_answer=$steady ;; esac
}

# Tells if a refusal is the service's own, and not one of a proxy between.
is_refusal() {
  case "$(cat "$answer")" in *'"title":"Job request refused"'*) return 0 ;; esac
  return 1
}

is_whole() {
  case "$(tail -c 3 "$answer")" in *ok) return 0 ;; esac
  return 1
}

# Ends when the service has not answered for too long. What there is stays, for a person to look at.
expect_patience() {
  look_at_clock
  if [ "$((steady - last_answer))" -lt "$patience" ]; then return; fi
  say "the service has not answered for $patience s: $(cat control/curl_error)"
  say "giving up; what the command has left is in $folder"
  kill_command
  exit 1
}

# Ends when the service refuses this agent: the execution is over, or another agent has it.
leave_refused() {
  say "the service refuses this agent: $(cat "$answer")"
  kill_command
  remove_folder
  exit 3
}

kill_command() {
  read_session
  if [ -n "$session" ]; then signal_session KILL; fi
}

remove_folder() { cd / && rm -rf "$folder"; }

# Waits before a request is repeated, longer each time. The limits hold meanwhile.
wait_again() {
  expect_patience
  until=$((steady + pause))
  if [ "$pause" -lt 10 ]; then pause=$((pause + 1)); fi
  while :; do
    sleep "$tick"
    look
    if [ "$steady" -ge "$until" ]; then return; fi
  done
}

# ask METHOD PATH [OPTION...]: asks until there is a whole answer, in control/answer. Fails when the service
# says no, with the number in $status. Fails with 409 or 422 only after the service itself said so.
ask() {
  ask_method=$1 ask_path=$2
  shift 2
  pause=0
  while :; do
    request "$ask_method" "$url/$ask_path" control/answer -K control/curl --max-time 60 "$@"
    case $status in
      2??) if is_whole; then return 0; fi ;;
      403) if is_refusal; then leave_refused; fi ;;
      409 | 413 | 422) if is_refusal; then return 1; fi ;;
    esac
    wait_again
  done
}

# transfer SIZE METHOD URL FILE [OPTION...]: as request, for files, which may take long.
transfer() {
  transfer_size=$1
  shift
  if [ "$transfer_size" != - ] && [ "$transfer_size" -le "$LARGE_BYTES" ]; then
    request "$@" --max-time 30
    return
  fi
  method=$1 target=$2 transfer_to=$3
  shift 3
  : >"$transfer_to"
  curl -q -sS -X "$method" -o "$transfer_to" -w '%{http_code} %{redirect_url}' --connect-timeout 5 \
    --speed-limit 1 --speed-time 120 "$@" "$target" >control/transfer_said 2>control/curl_error </dev/null &
  transfer=$! nap=$short
  while kill -s 0 "$transfer" 2>/dev/null; do
    sleep "$nap"
    nap=$tick
    look
    # A job that is to end brings nothing more.
    if [ -n "$ending" ] && [ "$state" = preparing ]; then kill "$transfer" 2>/dev/null; fi
  done
  answer=$transfer_to
  if wait "$transfer"; then heard "$(cat control/transfer_said)"; else heard ''; fi
}

# --- The log ---

# Notes how much a stream has and when, so that what is sent later keeps its time.
mark() {
  look_at_clock
  for stream in stdout stderr; do
    grown=$(size_of "control/$stream")
    eval "before=\$size_$stream marked=\$marked_$stream"
    if [ "$grown" -le "$before" ]; then continue; fi
    printed=$steady
    # While the service is away, a note each few seconds is enough.
    if [ -n "$away" ] && [ "$((steady - marked))" -lt "$AWAY_MARK" ]; then continue; fi
    echo "$steady $grown" >>"control/$stream.marks"
    eval "size_$stream=$grown marked_$stream=$steady"
  done
}

# Copies $3 bytes of the stream $1 from the offset $2 on into control/part.
cut_part() {
  dd if="control/$1" of=control/blocks bs=65536 skip="$(($2 / 65536))" count="$((PART_BYTES / 65536 + 1))" \
    2>/dev/null
  tail -c "+$(($2 % 65536 + 1))" control/blocks | head -c "$3" >control/part
}

# post STREAM OFFSET TIME [last]: sends control/part, which was printed at that time of the clock. Sets
# $acknowledged. Fails without a whole answer.
post() {
  post_query="stream=$1&offset=$2&state=$state&ago=$((steady - $3))${4:+&last=1}"
  request POST "$url/beat?$post_query" control/beat -K control/curl --max-time 20 \
    -H 'Content-Type: application/octet-stream' --data-binary @control/part
  case $status in
    2??) is_whole || return 1 ;;
    403) if is_refusal; then leave_refused; fi; return 1 ;;
    *) return 1 ;;
  esac
  acknowledged=$2
  while read -r word value; do
    case $word in
      acknowledged) acknowledged=$value ;;
      stop) if [ -z "$ending" ] && [ "$state" != ended ]; then ending=stopped; fi ;;
      full) eval "full_$1=yes" ;;
    esac
  done <control/beat
}

# send STREAM DESCRIPTOR: sends what is new of a stream, whose notes are read from the descriptor. Fails when the
# service does not answer.
send() {
  eval "acked=\$acked_$1 end=\$end_$1 at=\$at_$1 tried=\$tried_$1 full=\$full_$1"
  failed=0
  while [ -z "$full" ]; do
    # The beginning of a line waits for its end.
    if [ "$acked" -ge "$end" ] || [ "$tried" = "$acked-$end" ]; then
      read -r next_at next_end <&"$2" || break
      at=$next_at end=$next_end
      continue
    fi
    bytes=$((end - acked))
    if [ "$bytes" -gt "$PART_BYTES" ]; then bytes=$PART_BYTES; fi
    cut_part "$1" "$acked" "$bytes"
    post "$1" "$acked" "$at" || { failed=1; break; }
    sent=yes
    if [ "$acknowledged" = "$acked" ]; then tried=$acked-$end; fi
    acked=$acknowledged
    eval "full=\$full_$1"
  done
  eval "acked_$1=\$acked end_$1=\$end at_$1=\$at tried_$1=\$tried"
  return "$failed"
}

# Sends what is new. When there is nothing, tells now and then that the job lives.
beat() {
  sent=
  if send stdout 4 && send stderr 5; then
    look_at_clock
    if [ -n "$sent" ] || [ "$((steady - last_answer))" -lt "$silence" ]; then
      away= next_beat=0
      return
    fi
    : >control/part
    if post stdout "$acked_stdout" "$steady"; then away= next_beat=0; return; fi
  fi
  look_at_clock
  away=$((${away:-0} + 1))
  if [ "$away" -gt 10 ]; then away=10; fi
  next_beat=$((steady + away - 1))
}

# finish STREAM DESCRIPTOR: sends the rest of a stream that has ended.
finish() {
  pause=0
  until send "$1" "$2"; do wait_again; done
  finish_end=$(size_of "control/$1")
  while :; do
    eval "finish_at=\$acked_$1 full=\$full_$1"
    if [ "$finish_at" -ge "$finish_end" ] || [ -n "$full" ]; then break; fi
    bytes=$((finish_end - finish_at)) last=last
    if [ "$bytes" -gt "$PART_BYTES" ]; then bytes=$PART_BYTES last=; fi
    cut_part "$1" "$finish_at" "$bytes"
    if post "$1" "$finish_at" "$steady" $last && [ "$acknowledged" != "$finish_at" ]; then
      eval "acked_$1=\$acknowledged"
      pause=0
    else
      wait_again
    fi
  done
}

# --- The command ---

# One look at the command: what it prints, its limits, and a message to the service.
look() {
  mark
  if [ "$state" = ended ]; then
    # The rest of the log is sent elsewhere, in its order.
    if [ "$((steady - last_answer))" -lt 5 ] || [ "$steady" -lt "$next_beat" ]; then return; fi
    : >control/part
    post stdout "$acked_stdout" "$steady" || next_beat=$((steady + 5))
    return
  fi
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

start_command() {
  interpreter=
  if [ "$shell" = yes ]; then interpreter=$(command -v bash || command -v sh); fi
  state=running
  look_at_clock
  printed=$steady
  {
    { run 2>&1 >&3 3>&- 4<&- 5<&- | capture stderr 3>&- 4<&- 5<&-; } 3>&1 | capture stdout 4<&- 5<&-
    : >control/over
  } </dev/null >/dev/null 2>&1 &
}

# Stays with the command until it has ended, and with what it leaves running for a moment.
watch_command() {
  while [ ! -e control/exit_code ] && [ ! -e control/over ]; do
    sleep "$tick"
    look
  done
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
      look_at_clock
    done
    signal_session KILL
    until=$((steady + 2))
    while [ ! -e control/over ] && [ "$steady" -lt "$until" ]; do
      sleep "$short"
      look_at_clock
    done
  fi
  state=ended
}

# --- Files ---

# bring INDEX KIND MODE SIZE SHA256 PATH: brings a file of the manifest. Fails with a sentence in $reason.
bring() {
  destination=$6
  if [ "$2" = tar ]; then destination=control/archive; fi
  mkdir -p "${destination%/*}"
  tries=0 pause=0 through=
  while [ -z "$ending" ]; do
    transfer "$4" GET "$url/files/$1$through" "$destination" -K control/curl
    if [ "$status" = 307 ]; then
      # Where the place cannot be reached from here, the service sends the file. The token stays here.
      transfer "$4" GET "$redirect" "$destination"
      if [ "$status" != 200 ]; then status=000 through='?through=service'; fi
    fi
    case $status in
      200)
        found=$(sha256sum <"$destination")
        found=${found%% *}
        if [ "$4" != - ] && [ "$(size_of "$destination")" != "$4" ]; then
          reason="its size is $(size_of "$destination"), expected $4"
        elif [ "$5" != - ] && [ "$found" != "$5" ]; then
          reason="its SHA-256 is $found, expected $5"
        else
          unpack "$2" "$3" "$destination" "$6"
          return
        fi
        tries=$((tries + 1)) ;;
      403) if is_refusal; then leave_refused; fi ;;
      409 | 422)
        if is_refusal; then
          reason=$(cat "$destination")
          tries=9
        fi ;;
    esac
    if [ "$tries" -gt 2 ]; then
      reason="Cannot bring $6: $reason"
      return 1
    fi
    wait_again
  done
}

# unpack KIND MODE FILE FOLDER
unpack() {
  if [ "$1" = file ]; then
    chmod "$2" "$3"
    return
  fi
  mkdir -p "$4"
  if tar -xf "$3" -C "$4" 2>control/tar_error; then
    rm -f "$3"
    return
  fi
  reason="Cannot unpack $4: $(cat control/tar_error)"
  return 1
}

# Asks for the manifest until it is ready, and makes what it lists. Fails with a sentence in $reason.
prepare() {
  while :; do
    ask GET manifest || { reason=$(cat control/answer); return 1; }
    [ "$status" = 202 ] || break
    if [ -n "$ending" ]; then return 0; fi
    sleep "$tick"
    look
  done
  mv control/answer control/manifest
  while read -r word a b c d e f; do
    case $word in
      limit) eval "limit_$a=$b" ;;
      shell) shell=$a ;;
      folder)
        decode "$a"
        mkdir -p "$decoded" || { reason="Cannot make the folder $decoded"; return 1; } ;;
      file)
        if [ -n "$ending" ]; then return 0; fi
        decode "$f"
        bring "$a" "$b" "$c" "$d" "$e" "$decoded" || return 1 ;;
    esac
  done <control/manifest
}

# upload PATH: stores an output. Fails when the service does not take it.
upload() {
  tries=0
  while [ "$tries" -lt 4 ]; do
    tries=$((tries + 1))
    bytes=$(size_of "outputs/$1")
    sum=$({ sha256sum <"outputs/$1"; } 2>/dev/null) || return 1
    described="path=$(encode "$1")&size=$bytes&sha256=${sum%% *}"
    ask POST "outputs?$described" --data-binary '' || return 1
    read -r word place <control/answer
    if [ "$word" = stored ]; then return 0; fi
    if [ "$word" = put ]; then
      transfer "$bytes" PUT "$place" control/put_answer -H Expect: -H 'If-None-Match: *' -T "outputs/$1"
      case $status in 2??) ask POST "outputs?$described&put=1" --data-binary '' && return 0 ;; esac
      # Where the place cannot be reached from here, the service takes the file.
    fi
    send_file "$1" && return 0
    if [ "$status" != 422 ]; then return 1; fi
  done
  return 1
}

# Sends an output to the service. Fails with 422 when the file is not the one that was described: another
# process may still write to it.
send_file() {
  pause=0
  while :; do
    transfer "$bytes" PUT "$url/outputs?$described" control/answer -K control/curl -H Expect: -T "outputs/$1"
    case $status in
      2??) if is_whole; then return 0; fi ;;
      403) if is_refusal; then leave_refused; fi ;;
      409 | 413 | 422) if is_refusal; then return 1; fi ;;
    esac
    if [ "$(size_of "outputs/$1")" != "$bytes" ]; then
      status=422
      return 1
    fi
    wait_again
  done
}

# Uploads all files of a folder below outputs, without following links.
upload_folder() {
  for name in "outputs/$1"* "outputs/$1".[!.]* "outputs/$1"..?*; do
    # More than these need not be named.
    if [ "$count" -gt "$((limit_outputs + 100))" ]; then return; fi
    if [ -d "$name" ] && [ ! -L "$name" ]; then
      upload_folder "${name#outputs/}/"
    elif [ -L "$name" ] || { [ -e "$name" ] && [ ! -f "$name" ]; }; then
      # What is no regular file is no output. The mark says so.
      passed=$((passed + 1))
      if [ "$passed" -le 100 ]; then echo "!$(encode "${name#outputs/}")" >>control/not_uploaded; fi
    elif [ -e "$name" ]; then
      count=$((count + 1))
      if [ "$count" -le "$limit_outputs" ]; then upload "${name#outputs/}" && continue; fi
      echo "$(encode "${name#outputs/}")" >>control/not_uploaded
    fi
  done
}

# --- The job ---

for program in curl tar setsid sha256sum od tr dd tail head stat; do
  if ! command -v "$program" >/dev/null; then
    say "cannot run a job: this machine has no $program"
    exit 2
  fi
done
# Some machines sleep for whole seconds only.
short=0.1
sleep "$short" 2>/dev/null || short=1 tick=1

claim=$(od -An -v -tx1 -N16 /dev/urandom | tr -d ' \n')
folder=$parent/hooklaunch-$claim
if ! mkdir -p "$folder/control" 2>/dev/null; then folder=$(mktemp -d) && mkdir "$folder/control" || exit 2; fi
cd "$folder" || exit 2
folder=$PWD
{
  echo "header = \"Authorization: Bearer $token\""
  echo "header = \"Hooklaunch-Claim: $claim\""
} >control/curl
if [ -n "$ca" ]; then
  echo "$ca" >control/ca.pem
  echo 'cacert = "control/ca.pem"' >>control/curl
fi
unset token ca
: >control/stdout.marks
: >control/stderr.marks
: >control/not_uploaded
exec 4<control/stdout.marks 5<control/stderr.marks
look_at_clock
last_answer=$steady began=$steady printed=$steady reason= shell=yes
trap 'terminated=yes' HUP INT TERM

host=$(uname -n)
next_beat=$((steady + patience * 2))
if ! ask POST "claim?host=$(encode "$host")&folder=$(encode "$folder")" --data-binary ''; then
  say "this agent does not get the execution: $(cat control/answer)"
  remove_folder
  exit 0
fi
next_beat=0
look_at_clock
began=$steady

if prepare && [ -z "$ending" ]; then
  start_command
  watch_command
fi
state=ended
finish stdout 4
finish stderr 5
code=
if [ -s control/exit_code ]; then read -r code <control/exit_code; fi
count=0 passed=0
if [ -n "$code" ]; then upload_folder ''; fi
query="stdout=$acked_stdout&stderr=$acked_stderr"
if [ -n "$code" ]; then query="$query&exit_code=$code"; fi
if [ -n "$ending" ]; then query="$query&cause=$ending"; fi
if [ -n "$reason" ]; then query="$query&reason=$(encode "$(printf %s "$reason" | head -c 500)")"; fi
until ask POST "end?$query" -H 'Content-Type: text/plain' --data-binary @control/not_uploaded; do
  # Less of the log is stored than was acknowledged.
  if [ "$status" != 409 ]; then say "the end is refused: $(cat control/answer)"; exit 3; fi
  wait_again
  acked_stdout=0 acked_stderr=0
  finish stdout 4
  finish stderr 5
done
remove_folder
exit 0
