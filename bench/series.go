package main

import (
	"slices"
	"time"
)

// series is one quantity, measured many times.
type series []float64

// summary is what is shown of a series.
type summary struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

func (s series) summary() summary {
	if len(s) == 0 {
		return summary{}
	}
	sorted := slices.Sorted(slices.Values(s))
	n := len(sorted)
	return summary{Median: (sorted[(n-1)/2] + sorted[n/2]) / 2, Min: sorted[0], Max: sorted[n-1]}
}

// percentile is the value that p percent of the series do not exceed.
func (s series) percentile(p int) float64 {
	if len(s) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(s))[(len(s)-1)*p/100]
}

// over makes a series of one figure of all rounds.
func over[R any](rounds []R, figure func(R) float64) series {
	s := make(series, 0, len(rounds))
	for _, r := range rounds {
		s = append(s, figure(r))
	}
	return s
}

func us(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }

func ms(d time.Duration) float64 { return us(d) / 1e3 }
