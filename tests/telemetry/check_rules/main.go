// Command check-prometheus-rules reads a file of rules as Prometheus does. With a file of cases, it evaluates the
// alerts over the series of each case by Prometheus' own engine, and prints which fire.
package main

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
)

func main() {
	parse := parser.NewParser(parser.Options{})
	groups, errs := rulefmt.ParseFile(os.Args[1], false, model.UTF8Validation, parse, slog.Default())
	for _, err := range errs {
		fmt.Fprintln(os.Stderr, err)
	}
	if len(errs) > 0 {
		os.Exit(1)
	}
	if len(os.Args) < 3 {
		return
	}
	if err := printFiring(groups, os.Args[2], parse); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func printFiring(groups *rulefmt.RuleGroups, file string, parse parser.Parser) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var cases []Case
	if err := json.Unmarshal(text, &cases); err != nil {
		return err
	}
	firing := make([][]string, len(cases))
	for index, each := range cases {
		if firing[index], err = each.firing(groups, parse); err != nil {
			return fmt.Errorf("case %d: %w", index, err)
		}
	}
	return json.NewEncoder(os.Stdout).Encode(firing)
}
