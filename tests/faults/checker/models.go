package main

import (
	"slices"
	"strings"

	"github.com/anishathalye/porcupine"
)

// models has what each kind of key promises: an operation whose answer is unknown may take effect at any later
// time, or never.
var models = map[string]porcupine.Model{
	"quota":    {Init: func() any { return window{} }, Step: stepQuota, Equal: isNoBetter, DescribeOperation: describe},
	"delivery": {Init: func() any { return delivery{} }, Step: stepDelivery, DescribeOperation: describe},
	"turn":     {Init: func() any { return turns{} }, Step: stepTurn, DescribeOperation: describe},
	"burst":    {Init: func() any { return "" }, Step: stepBurst, DescribeOperation: describe},
	"version":  {Init: func() any { return "" }, Step: stepVersion, DescribeOperation: describe},
}

// window is what the launches that have been counted leave to the next one.
type window struct {
	// times are the earliest at which the last launches can have been counted, newest last. Each bound grows with
	// those before it, so the earliest times leave the most room for what follows.
	times []int64
	// latest are the counted launches of which no other one was counted later and returned later, newest last.
	latest []counted
}

// counted is a launch that was counted, and when it returned.
type counted struct{ at, end int64 }

// stepQuota counts a launch when no span of a period holds more than the quota. Of two launches that both had begun when
// the first of them was counted, the one that returned first is counted first: if the other way round explains a history,
// then they can change places, since all launches count alike. So a launch is only tried before another one that begins
// later, and the orders that are left are few, however deep they lie in each other.
func stepQuota(state, input, _ any) (bool, any) {
	now, op := state.(window), input.(*operation)
	for _, other := range now.latest {
		if other.at >= op.Invoke && other.end > op.Return {
			return false, state
		}
	}
	at, times := op.Invoke, now.times
	if len(times) > 0 {
		at = max(at, times[len(times)-1])
	}
	if len(times) >= op.Quota {
		at = max(at, times[len(times)-op.Quota]+op.Period)
		times = times[len(times)-op.Quota+1:]
	}
	if at > op.Return {
		return false, state
	}
	var latest []counted
	for _, other := range now.latest {
		if other.end > op.Return {
			latest = append(latest, other)
		}
	}
	return true, window{append(slices.Clone(times), at), append(latest, counted{at, op.Return})}
}

// isNoBetter tells that a window allows nothing that another one of the same launches does not allow, too. That one was
// tried before, in vain.
func isNoBetter(one, other any) bool {
	now, tried := one.(window), other.(window)
	for index, at := range tried.times {
		if at > now.times[index] {
			return false
		}
	}
	for _, each := range tried.latest {
		isBound := func(other counted) bool { return other.at >= each.at && other.end >= each.end }
		if !slices.ContainsFunc(now.latest, isBound) {
			return false
		}
	}
	return true
}

// delivery is the one run of a delivery id, or of the body of a launch.
type delivery struct {
	run string
	// isOpen tells that a launch without an answer may have made the run.
	isOpen bool
}

// stepDelivery lets one run come of a delivery: each launch is told that one, and it alone is stored.
func stepDelivery(state, input, _ any) (bool, any) {
	now := state.(delivery)
	switch op := input.(*operation); {
	case op.Outcome == "unknown":
		now.isOpen = true
		return true, now
	case op.Kind == "launch":
		return now.run == "" || now.run == op.Value, delivery{op.Value, now.isOpen}
	case now.run == "" && now.isOpen && len(op.Values) == 1:
		return true, delivery{op.Values[0], now.isOpen}
	case now.run == "":
		return len(op.Values) == 0, now
	default:
		return len(op.Values) == 1 && op.Values[0] == now.run, now
	}
}

// stepVersion is a register: what is read is what was written last.
func stepVersion(state, input, _ any) (bool, any) {
	op := input.(*operation)
	if op.Kind == "write" {
		return true, op.Value
	}
	return op.Value == state.(string), state
}

// turns are the runs of a concurrency key: those that wait, in the order of their commits, each with a space behind it,
// and the number of those whose commands run.
type turns struct {
	waiting string
	running int
}

// stepTurn lets a command run when fewer than the limit run or are before it: one that was accepted earlier, and whose
// command has not begun, has its turn already.
func stepTurn(state, input, _ any) (bool, any) {
	now, op := state.(turns), input.(*operation)
	switch op.Kind {
	case "launch":
		return true, turns{now.waiting + op.Value + " ", now.running}
	case "end":
		return now.running > 0, turns{now.waiting, now.running - 1}
	}
	at := strings.Index(now.waiting, op.Value+" ")
	if at < 0 || strings.Count(now.waiting[:at], " ")+now.running >= op.Limit {
		return false, state
	}
	return true, turns{now.waiting[:at] + now.waiting[at+len(op.Value)+1:], now.running + 1}
}

// stepBurst performs the oldest launches that wait as one run, which is that of the newest of them: each launch is part of
// one run, and none is left in the end. The launches are in the order of their commits, each with a space behind it.
func stepBurst(state, input, _ any) (bool, any) {
	waiting, op := state.(string), input.(*operation)
	switch op.Kind {
	case "launch":
		return true, waiting + op.Value + " "
	case "rest":
		return waiting == "", waiting
	}
	rest := waiting
	for count := range op.Values {
		first, others, isThere := strings.Cut(rest, " ")
		isLast := count == len(op.Values)-1
		if !isThere || !slices.Contains(op.Values, first) || isLast != (first == op.Value) {
			return false, waiting
		}
		rest = others
	}
	return true, rest
}
