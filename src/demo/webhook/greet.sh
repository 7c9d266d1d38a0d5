#!/bin/sh
# Prints something of the webhook that launched it, and leaves a file behind.
set -eu
greeting=${1#--greeting=}
payload=$(ls "$VH_INPUTS_DIR"/event/*)
title=$(sed -n 's/.*"title": *"\([^"]*\)".*/\1/p' "$payload" | head -n 1)
echo "$greeting from the step: \"$title\""
echo "The payload $(basename "$payload") has $(wc -c < "$payload" | tr -d ' ') bytes."
printf '{"payload_bytes": %d}\n' "$(wc -c < "$payload")"
printf '%s\n' "$title" > "$VH_OUTPUTS_DIR/title.txt"
