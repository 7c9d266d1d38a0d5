# A part of the agent: its clock, and its requests to the service.
#
# Functions of a shell share their variables. Those of a function that calls others have names that no other
# function sets.

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

# Encodes each byte of a text.
encode_all() { printf %s "$1" | od -An -v -tx1 | tr -d '\n' | tr ' ' '%'; }

# Encodes a text for a URL. Most texts are plain, and each program costs time.
encode() {
  case $1 in
    *[!abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789./_-]*) encode_all "$1" ;;
    *) printf %s "$1" ;;
  esac
}

# Decodes a text with bytes in octal, as \0141, into $decoded.
decode() {
  decoded=$(printf '%bx' "$1")
  decoded=${decoded%x}
}

size_of() { stat -c %s "$1" 2>/dev/null || echo 0; }

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

# Tells if the service does not know that this agent has the claim.
is_unclaimed() {
  case "$(cat "$answer")" in *'has no claim to it'*) return 0 ;; esac
  return 1
}

# Claims the execution again: a service that goes on from a backup may have forgotten the claim. Ends when another
# agent has it.
claim_again() {
  request POST "$url/claim?$claimed" control/claim_answer -K control/curl --max-time 60 --data-binary ''
  case $status in 403 | 409) if is_refusal; then leave_refused; fi ;; esac
}

is_whole() {
  last_line=
  while read -r line; do last_line=$line; done <"$answer"
  [ "$last_line" = ok ]
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
      409 | 413 | 422)
        if is_unclaimed; then claim_again
        elif is_refusal; then return 1
        fi ;;
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
