package policy_test

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aegis-aar/aegis/policy"
	"github.com/go-json-experiment/json/jsontext"
)

// thousandRules is a policy of 1,000 rules, spread over as many tools or all
// about one.
func thousandRules(t testing.TB, oneTool bool) *policy.Set {
	var b strings.Builder
	b.WriteString("default: deny\nrules:\n")
	for i := range 1000 {
		tool := fmt.Sprint("tool-", i)
		if oneTool {
			tool = "tool-999"
		}
		action := []string{"allow", "deny", "pending_approval"}[i%3]
		fmt.Fprintf(&b, "- {id: r%d, action: %s, tool: %s, capability: 'c%d', role: 'r%d'}\n", i, action, tool, i/10, i%10)
	}
	b.WriteString("- {id: last, action: allow, tool: tool-999}\n- {id: read, action: allow, capability: fs.read}\n- {id: ops, action: allow, role: ops}\n")
	return mustParse(t, b.String())
}

func BenchmarkDecide(b *testing.B) {
	for name, oneTool := range map[string]bool{"1000 rules": false, "1000 rules for one tool": true} {
		set := thousandRules(b, oneTool)
		e := policy.NewEngine(set)
		role := "ops"
		for axes, req := range map[string]policy.Request{
			"tool":       {Tool: "tool-999"},
			"tool, axes": {Tool: "tool-999", Role: &role, Capability: &role},
		} {
			b.Run(name+"/"+axes, func(b *testing.B) {
				reqs, verdicts := []policy.Request{req}, make([]policy.Verdict, 1)
				b.ReportAllocs()
				for b.Loop() {
					if _, refused := e.Decide(reqs, verdicts); refused {
						b.Fatalf("%+v", verdicts[0])
					}
				}
			})
		}
	}
}

func BenchmarkDecideRateLimited(b *testing.B) {
	e := policy.NewEngine(mustParse(b, "rules: [{id: rl, action: rate_limit, rate: {max: 4294967295, per_seconds: 1}}]"))
	reqs, verdicts := []policy.Request{{Tool: "x"}}, make([]policy.Verdict, 1)
	b.ReportAllocs()
	for b.Loop() {
		e.Decide(reqs, verdicts)
	}
}

// TestAllowAllocatesNothing holds what the benchmark measures.
func TestAllowAllocatesNothing(t *testing.T) {
	e := policy.NewEngine(thousandRules(t, true))
	reqs, verdicts := []policy.Request{{Tool: "tool-999"}}, make([]policy.Verdict, 1)
	if n := testing.AllocsPerRun(100, func() { e.Decide(reqs, verdicts) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// BenchmarkReloadStorm reports the 99th percentile of single decisions, quiet
// and while another goroutine reloads without pause.
func BenchmarkReloadStorm(b *testing.B) {
	set := thousandRules(b, false)
	other := mustParse(b, "default: allow")
	for _, storm := range []bool{false, true} {
		b.Run(map[bool]string{false: "quiet", true: "storm"}[storm], func(b *testing.B) {
			e := policy.NewEngine(set)
			stop := make(chan struct{})
			var wg sync.WaitGroup
			if storm {
				wg.Go(func() {
					for {
						select {
						case <-stop:
							return
						default:
							e.Swap(other)
							e.Swap(set)
							time.Sleep(time.Microsecond)
						}
					}
				})
			}
			reqs, verdicts := []policy.Request{{Tool: "tool-999"}}, make([]policy.Verdict, 1)
			took := make([]time.Duration, 0, 1<<20)
			for b.Loop() {
				start := time.Now()
				e.Decide(reqs, verdicts)
				if d := time.Since(start); len(took) < cap(took) {
					took = append(took, d)
				}
			}
			close(stop)
			wg.Wait()
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds()), "p99-ns")
		})
	}
}

// session is a record of n Calls as wrap writes them.
func session(n int) []byte {
	const hash = "745f82bc9eb6adeb5cec193e9cc33e67202741a8054dd8dc93a0bab2891d72c0"
	var b bytes.Buffer
	b.WriteString(`{"line_type":"open","prev_hash":"` + zeros + `","public_key":"` + hash + `","schema_version":2,"seq":0}` + "\n")
	for i := range n {
		fmt.Fprintf(&b, `{"call_id":"call-%d","line_type":"intent","prev_hash":"%s","request_digest":"%s","schema_version":2,"seq":%d,"tool_id":"tool-%d"}`+"\n", i+1, hash, hash, 2*i+1, i%1000)
		fmt.Fprintf(&b, `{"call_id":"call-%d","capability":{"grant":{"grant_id":"wrap-passthrough-call-%d","max_memory_bytes":0,"max_output_bytes":0,"max_wall_ms":0,"tool_id":"tool-%d"},"status":"granted"},"decision_axes":{"matched_rule":"r%d"},"execution":{"status":"success"},"grant_id":"wrap-passthrough-call-%d","key_id":"%s","line_type":"outcome","policy":{"status":"allowed"},"policy_set_hash":"%s","prev_hash":"%s","request_digest":"%s","response_digest":"%s","schema_version":2,"seq":%d,"signature":"%s%s","tool_id":"tool-%d","wall_ms":3}`+"\n",
			i+1, i+1, i%1000, i%1000, i+1, hash, hash, hash, hash, hash, 2*i+2, hash, hash, i%1000)
	}
	return b.Bytes()
}

// BenchmarkRecheck compares recheck with reading the tokens of the same record
// and doing nothing with them.
func BenchmarkRecheck(b *testing.B) {
	record := session(20_000)
	set := thousandRules(b, false)
	b.Run("recheck", func(b *testing.B) {
		b.SetBytes(int64(len(record)))
		for b.Loop() {
			if err := policy.CheckRecord(bytes.NewReader(record)); err != nil {
				b.Fatal(err)
			}
			_, err := policy.Recheck(bytes.NewReader(record), set, func(r *policy.Rechecked) error {
				_, err := fmt.Fprintf(io.Discard, "call %s session %d seq %d: %s\n", r.CallID, r.Session, r.Seq, r.Clause())
				return err
			}, func(n policy.Note) { b.Fatal(n) })
			if err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("token walk", func(b *testing.B) {
		b.SetBytes(int64(len(record)))
		for b.Loop() {
			dec := jsontext.NewDecoder(io.MultiReader(bytes.NewReader(record))) // as from a file
			for {
				if _, err := dec.ReadToken(); err == io.EOF {
					break
				} else if err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}
