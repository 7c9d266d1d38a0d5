# Trains a linear model that tells two flowers apart, by gradient descent on its squared error:
# awk -v scale=S -v epochs=N -f train.awk FILE
{ x[NR] = $1 / scale; y[NR] = $2 / scale; wanted[NR] = ($3 == "versicolor") ? 1 : -1 }

END {
  for (epoch = 1; epoch <= epochs; epoch++) {
    loss = da = db = dc = 0
    for (i = 1; i <= NR; i++) {
      miss = a * x[i] + b * y[i] + c - wanted[i]
      loss += miss * miss
      da += miss * x[i]; db += miss * y[i]; dc += miss
    }
    a -= da / NR; b -= db / NR; c -= dc / NR
    if (epoch % 50 == 0) printf "{\"epoch\": %d, \"loss\": %.4f}\n", epoch, loss / NR
  }
  print a, b, c > (ENVIRON["VH_OUTPUTS_DIR"] "/model.txt")
  printf "Trained on %d samples.\n", NR
}
