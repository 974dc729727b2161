package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// A run too short to measure anything must still go through every part and
// leave nothing behind; no test looks at a time.
func TestAShortRunReportsEveryPart(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and starts programs")
	}
	o := options{dir: t.TempDir(), rounds: 1, sizes: sizes{starts: 2, pings: turns, calls: turns, burst: 2 * window}, verify: 1 << 20, many: 100}
	r, err := run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	var text, object bytes.Buffer
	if err := r.writeText(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{direct, floor, wrapDisk, wrapSlow, "call, 64 in flight", "one sync", "aim ≤ 1.25", "guard: p50 / floor, results of 4096 bytes", "verify: time bare / time verify"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the report has no %q:\n%s", want, text.String())
		}
	}
	if err := r.writeJSON(&object); err != nil {
		t.Fatal(err)
	}
	if !json.Valid(object.Bytes()) {
		t.Errorf("not JSON: %s", object.Bytes())
	}
}

func TestSeries(t *testing.T) {
	for _, c := range []struct {
		s    series
		want summary
	}{
		{nil, summary{}},
		{series{3, 1, 2}, summary{2, 1, 3}},
		{series{4, 1, 2, 3}, summary{2.5, 1, 4}},
	} {
		if got := c.s.summary(); got != c.want {
			t.Errorf("%v: %v, want %v", c.s, got, c.want)
		}
	}
	if got := (series{5, 1, 4, 2, 3}).percentile(99); got != 4 {
		t.Errorf("99th percentile %v, want 4", got)
	}
}

func TestAnAimIsJudgedByTheMedian(t *testing.T) {
	for _, c := range []struct {
		s    series
		sign string
		want string
	}{
		{series{1, 2, 9}, "≤", "met"},
		{series{1, 2, 9}, "≥", "met"},
		{series{1, 3, 9}, "≤", "missed"},
		{series{1, 1, 9}, "≥", "missed"},
		{nil, "≤", "not measured"},
	} {
		if got := newAim("", c.s, c.sign, 2).Verdict; got != c.want {
			t.Errorf("%v %s 2: %s, want %s", c.s, c.sign, got, c.want)
		}
	}
}
