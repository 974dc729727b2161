package interpose

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aegis-aar/aegis/policy"
)

// BenchmarkEnforcement measures a recorded call, from the client's write to the
// answer it reads, with 1,000 rules in force and with none. The two take turns
// in one run; reported are the median round trips and their ratio. The record
// is in memory: a disk would hide the difference.
func BenchmarkEnforcement(b *testing.B) {
	recording := benchSession(b)
	enforcing := benchSession(b, func(c *Config) { c.Decider = byPolicy{policy.NewEngine(manyRules(b))} })
	var without, with []time.Duration
	for i := 0; b.Loop(); i++ {
		frame := call(fmt.Sprint(i), "tool-500")
		if i%2 == 0 {
			without, with = append(without, recording(frame)), append(with, enforcing(frame))
		} else {
			with, without = append(with, enforcing(frame)), append(without, recording(frame))
		}
	}
	report(b, "recorded", without, 50)
	report(b, "enforced", with, 50)
	b.ReportMetric(float64(percentile(with, 50))/float64(percentile(without, 50)), "enforced/recorded")
}

// BenchmarkReloadStorm measures the 99th percentile of the same round trip,
// quiet and in a storm, by turns: of a thousand sets a second that are put in
// force, which is what a call could have to wait for, and of whole reloads of
// the 1,000 rules without pause, which also takes a core away for parsing.
func BenchmarkReloadStorm(b *testing.B) {
	sets := []*policy.Set{manyRules(b), manyRules(b)}
	for name, next := range map[string]func(i int) *policy.Set{
		"swaps": func(i int) *policy.Set {
			time.Sleep(time.Millisecond)
			return sets[i%2]
		},
		"reloads": func(int) *policy.Set { return manyRules(b) },
	} {
		b.Run(name, func(b *testing.B) {
			engine := policy.NewEngine(sets[0])
			roundTrip := benchSession(b, func(c *Config) { c.Decider = byPolicy{engine} })
			var quiet, storm []time.Duration
			const turn = 500
			for b.Loop() {
				for j := range turn {
					quiet = append(quiet, roundTrip(call(fmt.Sprint(j), "tool-500")))
				}
				stop, stopped := make(chan struct{}), make(chan struct{})
				go func() {
					defer close(stopped)
					for i := 0; ; i++ {
						select {
						case <-stop:
							return
						default:
							engine.Swap(next(i))
						}
					}
				}()
				for j := range turn {
					storm = append(storm, roundTrip(call(fmt.Sprint(j), "tool-500")))
				}
				close(stop)
				<-stopped
			}
			report(b, "quiet", quiet, 99)
			report(b, "storm", storm, 99)
			b.ReportMetric(float64(percentile(storm, 99))/float64(percentile(quiet, 99)), "storm/quiet-p99")
		})
	}
}

// benchSession returns a function that sends a frame and waits for its answer.
func benchSession(b *testing.B, adjust ...func(*Config)) func(frame string) time.Duration {
	s := start(b, server("echo"), adjust...)
	roundTrip := func(frame string) time.Duration {
		began := time.Now()
		s.send(frame)
		if line := s.next(); strings.Contains(line, `"error"`) {
			b.Fatal(line)
		}
		return time.Since(began)
	}
	roundTrip(ping("0")) // the server is up
	return roundTrip
}

func manyRules(b *testing.B) *policy.Set {
	var src strings.Builder
	src.WriteString("default: deny\nrules:\n")
	for i := range 1000 {
		fmt.Fprintf(&src, "- {id: r%d, action: allow, tool: tool-%d}\n", i, i)
	}
	set, err := policy.Parse("policy.yaml", []byte(src.String()))
	must(b, err)
	return set
}

func percentile(d []time.Duration, p int) time.Duration {
	sorted := slices.Sorted(slices.Values(d))
	return sorted[min(len(sorted)-1, len(sorted)*p/100)]
}

func report(b *testing.B, name string, d []time.Duration, p int) {
	b.ReportMetric(float64(percentile(d, p).Nanoseconds())/1e3, fmt.Sprintf("%s-p%d-µs", name, p))
}
