#!/bin/sh
# Takes the labels out of the webhook's body: every fourth is kept for the test.
set -eu
cat "$VH_INPUTS_DIR"/labels/* | tr '{' '\n' |
  sed -n 's/.*"length": *\([0-9.]*\).*"width": *\([0-9.]*\).*"label": *"\([a-z]*\)".*/\1 \2 \3/p' \
    > all.csv
awk 'NR % 4 != 0' all.csv > "$VH_OUTPUTS_DIR/train.csv"
awk 'NR % 4 == 0' all.csv > "$VH_OUTPUTS_DIR/test.csv"
scale=$(awk '$1 > max { max = $1 } $2 > max { max = $2 } END { print max }' all.csv)
count=$(wc -l < all.csv | tr -d ' ')
echo "Found $count labels; the largest measure is $scale cm."
# A line that is a JSON object is metadata: the pipeline passes `scale` on to the next steps.
printf '{"labels": %d, "scale": %s}\n' "$count" "$scale"
