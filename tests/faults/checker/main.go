// Command check-history checks what clients recorded, by porcupine (https://github.com/anishathalye/porcupine): for each
// key, is there an order of its operations in which each takes effect at one moment between its invocation and its
// return, and that the model allows? That is linearizability (M. Herlihy, J. Wing, "Linearizability: a correctness
// condition for concurrent objects", TOPLAS 12(3), 1990).
//
//	check-history [-limit 3s] HISTORY
//
// The history has an operation a line. It prints `ok`, `illegal` or `unknown` (the time was over) for each key, and ends
// with 0 when all are ok, with 1 when one is illegal, and with 2 when one is unknown or the history cannot be read.
package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// operation is a line of a history. Times are microseconds of one monotonic clock.
type operation struct {
	Client  int    `json:"client"`
	Model   string `json:"model"`
	Key     string `json:"key"`
	Kind    string `json:"kind"`
	Outcome string `json:"outcome"`
	// Value is the run that a launch was told, or the version that was written or read.
	Value string `json:"value,omitempty"`
	// Values has the runs that are stored, or the launches that became one run.
	Values []string `json:"values,omitempty"`
	Quota  int      `json:"quota,omitempty"`
	Period int64    `json:"period,omitempty"`
	// Limit is the number of commands of a concurrency key that may run at once.
	Limit  int   `json:"limit,omitempty"`
	Invoke int64 `json:"invoke"`
	Return int64 `json:"return"`
}

var kinds = map[string][]string{
	"quota": {"launch"}, "delivery": {"launch", "stored"}, "version": {"write", "read"},
	"turn": {"launch", "begin", "end"}, "burst": {"launch", "perform", "rest"}, "refusal": {"launch", "refused"},
}
var outcomes = []string{"ok", "fail", "unknown"}

func main() {
	limit := flag.Duration("limit", 3*time.Second, "the longest time for one key")
	flag.Parse()
	history, err := read(flag.Arg(0))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	os.Exit(check(history, *limit))
}

// read returns the operations of a file by their model and key, in the order in which these come first.
func read(path string) ([][]porcupine.Operation, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	at := map[string]int{}
	var history [][]porcupine.Operation
	decoder := json.NewDecoder(file)
	decoder.DisallowUnknownFields()
	for count := 1; ; count++ {
		op := new(operation)
		if err := decoder.Decode(op); errors.Is(err, io.EOF) {
			return history, nil
		} else if err != nil {
			return nil, fmt.Errorf("operation %d: %w", count, err)
		}
		if !slices.Contains(kinds[op.Model], op.Kind) || !slices.Contains(outcomes, op.Outcome) ||
			op.Invoke > op.Return || op.Model == "quota" && (op.Quota < 1 || op.Period < 1) ||
			op.Model == "turn" && op.Limit < 1 {
			return nil, fmt.Errorf("operation %d is not one of its model: %s", count, describe(op, nil))
		}
		// These change nothing, and promise nothing.
		if op.Outcome != "ok" && (op.Model == "quota" || op.Kind == "read" || op.Outcome == "fail") {
			continue
		}
		// What was not answered may take effect at any later time.
		if op.Outcome == "unknown" {
			op.Return = math.MaxInt64
		}
		name := op.Model + " " + op.Key
		if _, ok := at[name]; !ok {
			at[name] = len(history)
			history = append(history, nil)
		}
		history[at[name]] = append(history[at[name]], porcupine.Operation{
			ClientId: op.Client, Input: op, Call: op.Invoke, Return: op.Return,
		})
	}
}

func check(history [][]porcupine.Operation, limit time.Duration) int {
	code, isUnknown := 0, false
	for _, operations := range history {
		first := operations[0].Input.(*operation)
		if first.Model == "refusal" {
			code = max(code, checkRefusals(operations))
			continue
		}
		model := models[first.Model]
		if first.Model == "version" {
			operations = boundWrites(operations)
		}
		if first.Model == "quota" && printOverfull(operations) {
			code = 1
			continue
		}
		switch porcupine.CheckOperationsTimeout(model, operations, limit) {
		case porcupine.Ok:
			fmt.Printf("ok %s %s: %d operations\n", first.Model, first.Key, len(operations))
		case porcupine.Unknown:
			fmt.Printf("unknown %s %s: %d operations took longer than %s\n", first.Model, first.Key, len(operations), limit)
			isUnknown = true
		case porcupine.Illegal:
			fmt.Printf("illegal %s %s: %d operations\n", first.Model, first.Key, len(operations))
			explain(model, operations, limit)
			code = 1
		}
	}
	if code == 0 && isUnknown {
		return 2
	}
	return code
}

// printOverfull looks for a span in which more launches began and returned than any order can count there. It finds most of
// what is wrong at once; what it does not find is left to the model.
func printOverfull(operations []porcupine.Operation) bool {
	byReturn := slices.Clone(operations)
	slices.SortFunc(byReturn, func(one, other porcupine.Operation) int { return cmp.Compare(one.Return, other.Return) })
	for _, first := range operations {
		from, count := first.Input.(*operation), 0
		for _, last := range byReturn {
			if last.Call < from.Invoke {
				continue
			}
			count++
			periods := int((last.Return-from.Invoke)/from.Period) + 1
			if count > from.Quota*periods {
				fmt.Printf("illegal quota %s: %d operations\n", from.Key, len(operations))
				fmt.Printf("  %d launches began and returned in %d µs, from %d on\n", count, last.Return-from.Invoke, from.Invoke)
				return true
			}
		}
	}
	return false
}

// checkRefusals finds refusals that no quota explains: so few launches can have been counted in the period before one.
// Those without an answer may have been.
func checkRefusals(operations []porcupine.Operation) int {
	var wrong []*operation
	for _, each := range operations {
		refused := each.Input.(*operation)
		if refused.Kind != "refused" {
			continue
		}
		counted := 0
		for _, other := range operations {
			op := other.Input.(*operation)
			if op.Kind == "launch" && op.Invoke <= refused.Return && op.Return >= refused.Invoke-refused.Period {
				counted++
			}
		}
		if refused.Quota == 0 || counted < refused.Quota {
			wrong = append(wrong, refused)
		}
	}
	key := operations[0].Input.(*operation).Key
	if len(wrong) == 0 {
		fmt.Printf("ok refusal %s: %d operations\n", key, len(operations))
		return 0
	}
	fmt.Printf("illegal refusal %s: %d operations\n", key, len(operations))
	for _, each := range wrong[:min(len(wrong), 8)] {
		fmt.Println("  not  ", describe(each, nil))
	}
	return 1
}

// boundWrites leaves out the open writes of versions that nobody read, and ends each other one with the first read of its
// version, before which it took effect. No version is written twice. So the orders to be tried stay few.
func boundWrites(operations []porcupine.Operation) []porcupine.Operation {
	firstRead := map[string]int64{}
	for _, each := range operations {
		op := each.Input.(*operation)
		if at, ok := firstRead[op.Value]; op.Kind == "read" && (!ok || op.Return < at) {
			firstRead[op.Value] = op.Return
		}
	}
	var bounded []porcupine.Operation
	for _, each := range operations {
		op := each.Input.(*operation)
		at, isRead := firstRead[op.Value]
		if op.Outcome == "unknown" && !isRead {
			continue
		}
		if op.Outcome == "unknown" {
			each.Return = max(at, each.Call)
		}
		bounded = append(bounded, each)
	}
	return bounded
}

// explain prints the end of the longest order that the model allows, and the operations that fit nowhere behind it.
func explain(model porcupine.Model, operations []porcupine.Operation, limit time.Duration) {
	_, info := porcupine.CheckOperationsVerbose(model, operations, limit)
	var longest []porcupine.Operation
	for _, order := range info.PartialLinearizationsOperations()[0] {
		if len(order) > len(longest) {
			longest = order
		}
	}
	placed := map[*operation]bool{}
	for _, each := range longest {
		placed[each.Input.(*operation)] = true
	}
	const shown = 8
	for _, each := range longest[max(0, len(longest)-shown):] {
		fmt.Println("  after", describe(each.Input, nil))
	}
	left := 0
	for _, each := range operations {
		if op := each.Input.(*operation); !placed[op] && left < shown {
			fmt.Println("  not  ", describe(op, nil))
			left++
		}
	}
}

// describe returns an operation as its line.
func describe(input, _ any) string {
	text, err := json.Marshal(input)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
