# Tests a model: awk -v scale=S -f test.awk MODEL SAMPLES
NR == 1 { a = $1; b = $2; c = $3; next }

{
  guess = (a * $1 / scale + b * $2 / scale + c > 0) ? "versicolor" : "setosa"
  if (guess == $3) right++
}

END {
  printf "%d of %d flowers were classified correctly.\n", right, NR - 1
  printf "{\"accuracy\": %.3f}\n", right / (NR - 1)
}
