package main

import (
	"context"
	"sort"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
)

const interval = time.Minute

// A Case is a set of series, in the notation of Prometheus' unit tests: one sample a minute, from the epoch on.
type Case struct {
	Series []string `json:"series"`
	// The minute at which is asked what fires.
	Minute int `json:"minute"`
}

type sample struct {
	time  int64
	value float64
}

func (s sample) T() int64                      { return s.time }
func (s sample) ST() int64                     { return 0 }
func (s sample) F() float64                    { return s.value }
func (s sample) H() *histogram.Histogram       { return nil }
func (s sample) FH() *histogram.FloatHistogram { return nil }
func (s sample) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (s sample) Copy() chunks.Sample           { return s }

// firing returns the alerts that fire, each with its labels that tell it apart.
func (c Case) firing(groups *rulefmt.RuleGroups, parse parser.Parser) ([]string, error) {
	series, err := c.parse(parse)
	if err != nil {
		return nil, err
	}
	queryable := &storage.MockQueryable{MockQuerier: querier(series)}
	engine := promql.NewEngine(promql.EngineOpts{
		Parser: parse, MaxSamples: 1_000_000, Timeout: time.Minute, LookbackDelta: 5 * time.Minute,
	})
	firing := []string{}
	for _, group := range groups.Groups {
		for _, rule := range group.Rules {
			found, err := c.evaluate(engine, queryable, rule)
			if err != nil {
				return nil, err
			}
			firing = append(firing, found...)
		}
	}
	sort.Strings(firing)
	return firing, nil
}

// evaluate asks the expression each minute. An alert fires once it was there for the time in `for`.
func (c Case) evaluate(engine *promql.Engine, queryable storage.Queryable, rule rulefmt.Rule) ([]string, error) {
	since := map[string]time.Time{}
	var now time.Time
	for minute := 0; minute <= c.Minute; minute++ {
		now = time.Unix(0, 0).Add(time.Duration(minute) * interval)
		query, err := engine.NewInstantQuery(context.Background(), queryable, nil, rule.Expr, now)
		if err != nil {
			return nil, err
		}
		result := query.Exec(context.Background())
		vector, err := result.Vector()
		if err != nil {
			return nil, err
		}
		present := map[string]time.Time{}
		for _, each := range vector {
			name := rule.Alert + each.Metric.DropMetricName().String()
			present[name] = now
			if before, ok := since[name]; ok {
				present[name] = before
			}
		}
		since = present
		query.Close()
	}
	var firing []string
	for name, begun := range since {
		if now.Sub(begun) >= time.Duration(rule.For) {
			firing = append(firing, name)
		}
	}
	return firing, nil
}

func (c Case) parse(parse parser.Parser) ([]storage.Series, error) {
	all := make([]storage.Series, len(c.Series))
	for index, text := range c.Series {
		set, values, err := parse.ParseSeriesDesc(text)
		if err != nil {
			return nil, err
		}
		var samples []chunks.Sample
		for minute, value := range values {
			if !value.Omitted {
				at := time.Duration(minute) * interval
				samples = append(samples, sample{time: at.Milliseconds(), value: value.Value})
			}
		}
		all[index] = storage.NewListSeries(set, samples)
	}
	return all, nil
}

func querier(all []storage.Series) storage.Querier {
	return &storage.MockQuerier{
		SelectMockFunction: func(_ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
			var found []storage.Series
			for _, each := range all {
				if matches(each.Labels(), matchers) {
					found = append(found, each)
				}
			}
			return &seriesSet{series: found}
		},
	}
}

func matches(set labels.Labels, matchers []*labels.Matcher) bool {
	for _, each := range matchers {
		if !each.Matches(set.Get(each.Name)) {
			return false
		}
	}
	return true
}

type seriesSet struct {
	series []storage.Series
	next   int
}

func (s *seriesSet) Next() bool                        { s.next++; return s.next <= len(s.series) }
func (s *seriesSet) At() storage.Series                { return s.series[s.next-1] }
func (s *seriesSet) Err() error                        { return nil }
func (s *seriesSet) Warnings() annotations.Annotations { return nil }
