// Command check-prometheus-rules reads a file of rules as Prometheus does.
package main

import (
	"fmt"
	"log/slog"
	"os"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
)

func main() {
	parse := parser.NewParser(parser.Options{})
	_, errs := rulefmt.ParseFile(os.Args[1], false, model.UTF8Validation, parse, slog.Default())
	for _, err := range errs {
		fmt.Fprintln(os.Stderr, err)
	}
	if len(errs) > 0 {
		os.Exit(1)
	}
}
