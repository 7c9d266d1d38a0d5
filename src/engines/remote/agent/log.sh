# A part of the agent: sending what the command prints. The service acknowledges offsets; what is sent goes on
# from there.

# Notes how much a stream has and when, so that what is sent later keeps its time.
mark() {
  look_at_clock
  # One program for both: it is called at each tick.
  set -- $(stat -c %s control/stdout control/stderr 2>/dev/null)
  if [ "$#" -lt 2 ]; then return; fi
  for stream in stdout stderr; do
    grown=$1
    shift
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
    403) if is_refusal && [ -z "$reporting" ]; then leave_refused; fi; return 1 ;;
    409) if is_unclaimed; then claim_again; fi; return 1 ;;
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

# Reports the end. Fails when the service lacks some of the log or of the outputs.
report_end() {
  query="stdout=$acked_stdout&stderr=$acked_stderr&outputs=$uploaded"
  if [ -n "$code" ]; then query="$query&exit_code=$code"; fi
  if [ -n "$ending" ]; then query="$query&cause=$ending"; fi
  if [ -n "$reason" ]; then query="$query&reason=$(encode "$(printf %s "$reason" | head -c 500)")"; fi
  # Where the answer was lost, the job has ended already, and takes no message but this one.
  reporting=yes
  if ask POST "end?$query" -H 'Content-Type: text/plain' --data-binary @control/not_uploaded; then return 0; fi
  reporting=
  return 1
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
