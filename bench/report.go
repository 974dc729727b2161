package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// report is all that a run says.
type report struct {
	Machine machine        `json:"machine"`
	Rounds  int            `json:"rounds"`
	Targets []targetReport `json:"targets"`
	Guard   []named        `json:"guard"`
	Verify  []named        `json:"verify"`
	File    verifyRun      `json:"verify_file"`
	Aims    []aim          `json:"aims"`
	Notes   []string       `json:"notes,omitempty"`
}

// machine says in general terms where the run was made.
type machine struct {
	OS    string `json:"os"`
	Arch  string `json:"arch"`
	Cores int    `json:"cores"`
	Go    string `json:"go"`
}

// named is a figure with its unit.
type named struct {
	Name string `json:"name"`
	Unit string `json:"unit"`
	summary
}

// targetReport is all that was measured of one target.
type targetReport struct {
	Name    string  `json:"name"`
	Figures []named `json:"figures"`
}

// figures lists what is shown of a load, in the order of the columns.
var figures = []struct {
	name, unit string
	of         func(load) float64
}{
	{"ping p50", "µs", func(l load) float64 { return l.ping.percentile(50) }},
	{"ping p99", "µs", func(l load) float64 { return l.ping.percentile(99) }},
	{"ping, 64 in flight", "/s", func(l load) float64 { return l.pingRate }},
	{"call p50", "µs", func(l load) float64 { return l.call.percentile(50) }},
	{"call p99", "µs", func(l load) float64 { return l.call.percentile(99) }},
	{"call, 64 in flight", "/s", func(l load) float64 { return l.callRate }},
	{"start-up", "ms", func(l load) float64 { return l.startup.percentile(50) / 1e3 }},
	{"idle memory", "MiB", func(l load) float64 { return l.idle }},
	{"peak memory", "MiB", func(l load) float64 { return l.peak }},
	{"one sync", "µs", func(l load) float64 { return l.sync.percentile(50) }},
	{"one signature", "µs", func(l load) float64 { return l.sign.percentile(50) }},
}

func reportTargets(list []target, rounds []map[string]load) []targetReport {
	var all []targetReport
	for _, t := range list {
		r := targetReport{Name: t.name}
		for _, f := range figures {
			s := over(rounds, func(loads map[string]load) float64 { return f.of(loads[t.name]) }).summary()
			r.Figures = append(r.Figures, named{f.name, f.unit, s})
		}
		all = append(all, r)
	}
	return all
}

func (r *report) writeJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// writeText writes the report as aligned tables: a row a figure, a column a
// target, the median with the spread of the rounds in parentheses.
func (r *report) writeText(w io.Writer) error {
	fmt.Fprintf(w, "%s/%s, %d cores, %s; median (min–max) of %d interleaved rounds\n\n", r.Machine.OS, r.Machine.Arch, r.Machine.Cores, r.Machine.Go, r.Rounds)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, target := range r.Targets {
		fmt.Fprint(t, "\t"+target.Name)
	}
	fmt.Fprintln(t)
	for i, f := range r.Targets[0].Figures {
		fmt.Fprintf(t, "%s, %s", f.Name, f.Unit)
		for _, target := range r.Targets {
			fmt.Fprint(t, "\t"+target.Figures[i].summary.String())
		}
		fmt.Fprintln(t)
	}
	fmt.Fprintln(t)
	for _, v := range append(slices.Clone(r.Guard), r.Verify...) {
		fmt.Fprintf(t, "%s, %s\t%s\n", v.Name, v.Unit, v.summary)
	}
	fmt.Fprintf(t, "verify of a file of %.0f MiB\t%.1f s, peak memory %s MiB\n", float64(r.File.Bytes)/(1<<20), r.File.Seconds, number(r.File.PeakMiB))
	fmt.Fprintln(t)
	for _, a := range r.Aims {
		fmt.Fprintf(t, "%s\t%s\taim %s %s\t%s\n", a.Name, a.summary, a.Sign, number(a.Bound), a.Verdict)
	}
	for _, note := range r.Notes {
		fmt.Fprintf(t, "\n%s\n", note)
	}
	return t.Flush()
}

// String is the median with the spread, a dash for what was not measured.
func (s summary) String() string {
	if s == (summary{}) {
		return "–"
	}
	return fmt.Sprintf("%s (%s–%s)", number(s.Median), number(s.Min), number(s.Max))
}

// number writes three significant digits, or all before the point.
func number(v float64) string {
	if v >= 100 || v <= -100 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	text := strconv.FormatFloat(v, 'g', 3, 64)
	if strings.Contains(text, "e") {
		return strconv.FormatFloat(v, 'f', 3, 64)
	}
	return text
}
