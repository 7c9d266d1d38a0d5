# A part of the agent: bringing the files of the manifest, and uploading outputs.

# bring INDEX KIND MODE SIZE SHA256 PATH: brings a file of the manifest. Fails with a sentence in $reason.
bring() {
  destination=$6
  if [ "$2" = tar ]; then destination=control/archive; fi
  if [ ! -d "${destination%/*}" ]; then mkdir -p "${destination%/*}"; fi
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
        found=$5
        if [ "$5" != - ]; then found=$(sha256sum <"$destination"); fi
        found=${found%% *}
        if [ "$found" != "$5" ]; then
          reason="its SHA-256 is $found, expected $5, and its size $(size_of "$destination"), expected $4"
        else
          unpack "$2" "$3" "$destination" "$6"
          return
        fi
        tries=$((tries + 1)) ;;
      403) if is_refusal; then leave_refused; fi ;;
      409 | 422)
        if is_unclaimed; then claim_again
        elif is_refusal; then
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
    # Otherwise it was made with these.
    if [ -n "$main" ] || [ "$2" != 600 ]; then chmod "$2" "$3"; fi
    return
  fi
  if [ ! -d "$4" ]; then mkdir -p "$4"; fi
  if tar -xf "$3" -C "$4" 2>control/tar_error; then
    rm -f "$3"
    return
  fi
  reason="Cannot unpack $4: $(cat control/tar_error)"
  return 1
}

# Asks for the manifest until it is ready, unless the answer to the claim has it. Makes what it lists. Fails with a
# sentence in $reason.
prepare() {
  while [ "$status" != 201 ]; do
    ask GET manifest || { reason=$(cat control/answer); return 1; }
    [ "$status" = 202 ] || break
    if [ -n "$ending" ]; then return 0; fi
    sleep "$tick"
    look
  done
  mv control/answer control/manifest
  looked=
  set --
  while read -r word a b c d e f; do
    case $word in
      limit) eval "limit_$a=$b" ;;
      shell) shell=$a ;;
      folder)
        decode "$a"
        set -- "$@" "$decoded" ;;
      file)
        # Nothing looks while a short file is brought.
        if [ "$steady" != "$looked" ]; then
          look
          looked=$steady
        fi
        if [ -n "$ending" ]; then return 0; fi
        make_folders "$@" || return 1
        set --
        decode "$f"
        bring "$a" "$b" "$c" "$d" "$e" "$decoded" || return 1 ;;
      code)
        make_folders "$@" || return 1
        set --
        fetch_code "$a" || return 1 ;;
    esac
  done <control/manifest
  make_folders "$@"
}

# fetch_code COMMIT: fetches the code that the service has no copy of, by the script that came with its
# credentials. Fails with a sentence in $reason.
fetch_code() {
  tries=0 pause=1
  while [ -z "$ending" ]; do
    setsid sh control/code/fetch >control/code_said 2>&1 </dev/null &
    fetching=$! nap=$short
    while kill -s 0 "$fetching" 2>/dev/null; do
      sleep "$nap"
      nap=$tick
      look
      if [ -n "$ending" ]; then kill -s KILL -- "-$fetching" 2>/dev/null; fi
    done
    wait "$fetching"
    fetched=$?
    tries=$((tries + 1))
    if [ "$fetched" = 0 ] || [ "$fetched" = 9 ] || [ "$tries" -gt 2 ]; then break; fi
    wait_again
  done
  # The command finds nothing of it.
  rm -rf control/code
  if [ -n "$ending" ] || [ "$fetched" = 0 ]; then return 0; fi
  reason="Cannot fetch commit $1: $(tail -c 600 control/code_said | tr '\n' ' ')"
  return 1
}

make_folders() {
  if [ "$#" -eq 0 ]; then return; fi
  mkdir -p "$@" 2>control/curl_error && return
  reason="Cannot make the folders of the job: $(cat control/curl_error)"
  return 1
}

# upload PATH: stores an output. Fails when the service does not take it.
upload() {
  tries=0
  while [ "$tries" -lt 4 ]; do
    tries=$((tries + 1))
    bytes=$(size_of "outputs/$1")
    # A signal to all processes of the job ends it early.
    sum=$({ sha256sum <"outputs/$1"; } 2>/dev/null) || continue
    described="path=$(encode "$1")&size=$bytes&sha256=${sum%% *}"
    ask POST "outputs?$described" --data-binary '' || return 1
    { read -r word place; read -r _name checksum; } <control/answer
    if [ "$word" = stored ]; then return 0; fi
    if [ "$word" = put ]; then
      transfer "$bytes" PUT "$place" control/put_answer -H Expect: -H 'If-None-Match: *' \
        -H "x-amz-checksum-sha256: $checksum" -T "outputs/$1"
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
      409 | 413 | 422)
        if is_unclaimed; then claim_again
        elif is_refusal; then return 1
        fi ;;
    esac
    if [ "$(size_of "outputs/$1")" != "$bytes" ]; then
      status=422
      return 1
    fi
    wait_again
  done
}

# Uploads the outputs of a command that has ended, and counts them in $uploaded.
upload_outputs() {
  count=0 passed=0 uploaded=0
  : >control/not_uploaded
  if [ -n "$code" ]; then upload_folder ''; fi
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
      if [ "$passed" -le 100 ]; then echo "!$(encode_all "${name#outputs/}")" >>control/not_uploaded; fi
    elif [ -e "$name" ]; then
      count=$((count + 1))
      if [ "$count" -le "$limit_outputs" ]; then
        if upload "${name#outputs/}"; then
          uploaded=$((uploaded + 1))
          continue
        fi
        say "the output ${name#outputs/} is left out: $status $(cat control/answer)"
      fi
      echo "$(encode_all "${name#outputs/}")" >>control/not_uploaded
    fi
  done
}
