package main

import (
	"slices"

	"github.com/anishathalye/porcupine"
)

// models has what each kind of key promises: an operation whose answer is unknown may take effect at any later
// time, or never.
var models = map[string]porcupine.Model{
	"quota":    {Init: func() any { return window{} }, Step: stepQuota, Equal: equalWindows, DescribeOperation: describe},
	"delivery": {Init: func() any { return delivery{} }, Step: stepDelivery, DescribeOperation: describe},
	"version":  {Init: func() any { return "" }, Step: stepVersion, DescribeOperation: describe},
}

// window is what the launches that have been counted leave to the next one.
type window struct {
	// times are the earliest at which the last launches can have been counted, newest last. Each bound grows with
	// those before it, so the earliest times leave the most room for what follows.
	times []int64
	// latest are the counted launches behind which none of the others both began and returned.
	latest []*operation
}

// stepQuota counts a launch when no span of a period holds more than the quota. Of two launches one of which both began
// and returned before the other, that one is counted first: where the times of the others allow the opposite order,
// the two can change places. Without this rule there are too many orders of a history that none of them explains.
func stepQuota(state, input, _ any) (bool, any) {
	now, op := state.(window), input.(*operation)
	for _, other := range now.latest {
		if other.Invoke >= op.Invoke && other.Return >= op.Return &&
			(other.Invoke > op.Invoke || other.Return > op.Return) {
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
	latest := []*operation{op}
	for _, other := range now.latest {
		if other.Invoke > op.Invoke || other.Return > op.Return {
			latest = append(latest, other)
		}
	}
	return at <= op.Return, window{append(slices.Clone(times), at), latest}
}

// equalWindows compares windows of the same launches, so that their times alone can differ.
func equalWindows(one, other any) bool {
	return slices.Equal(one.(window).times, other.(window).times)
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
