package trace

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aegis-aar/aegis/internal/wire"
)

func id(text string) wire.ID { return wire.ID{Raw: []byte(text)} }

// Each step opens (`+id tool`, a tool of - is no call) or answers (`id`) and says
// what an answer is taken for: a tool, `not a call`, or `unknown`.
func TestPairing(t *testing.T) {
	t.Parallel()
	for name, steps := range map[string]string{
		"exact text first":                    `+1 a; +1.0 b; 1.0=b; 1=a`,
		"else an equal value":                 `+7 a; 70e-1=a`,
		"if it is the only one":               `+1 a; +1.0 b; 1e0=unknown; 1=a; 1e0=b`,
		"strings by their characters":         `+"x" a; "\u0078"=a`,
		"a number is no string":               `+1 a; "1"=unknown`,
		"two numbers of one float64":          `+9007199254740992 a; 9007199254740993=unknown`,
		"a second answer":                     `+1 a; 1=a; 1=unknown`,
		"not a call":                          `+1 -; 1=not a call; 1=unknown`,
		"null and absent are no ids":          `+null a; null=unknown`,
		"the oldest makes room":               `+1 a; +2 b; +3 c; +4 d; 1=unknown; 2=b; 3=c; 4=d`,
		"a call under an id that is open":     `+1 -; +1 a; 1=a; 1=unknown`,
		"a ping under the id of an open call": `+1 a; +1 -; 1=a`,
		"two tools under one id":              `+1 a; +1 b; 1=; 1=unknown`,
		"the same tool twice":                 `+1 a; +1 a; 1=a`,
	} {
		p := newPairing(3)
		for step := range strings.SplitSeq(steps, "; ") {
			if open, ok := strings.CutPrefix(step, "+"); ok {
				text, tool, _ := strings.Cut(open, " ")
				r := request{ID: id(text), Call: tool != "-"}
				if r.Call {
					r.Tool = tool
				}
				p.sent(r)
				continue
			}
			text, want, _ := strings.Cut(step, "=")
			r, known := p.answered(id(text))
			got := r.Tool
			switch {
			case !known:
				got = "unknown"
			case !r.Call:
				got = "not a call"
			}
			if got != want {
				t.Errorf("%s: %s is %q", name, step, got)
			}
		}
		if n := len(p.open); n != p.order.Len() {
			t.Errorf("%s: %d open, %d in order", name, n, p.order.Len())
		}
	}
}

func TestPairingIsBounded(t *testing.T) {
	t.Parallel()
	p := newPairing(10)
	for i := range 1000 {
		p.sent(request{ID: id(fmt.Sprintf("1.%s", strings.Repeat("0", i+1))), Call: true})
	}
	if len(p.open) != 10 || p.order.Len() != 10 || len(p.same) != 1 || len(p.same[id("1").Key()]) != 10 {
		t.Errorf("%d open, %d in order, %d values", len(p.open), p.order.Len(), len(p.same))
	}
	for e := p.order.Front(); e != nil; e = p.order.Front() {
		p.answered(e.Value.(*request).ID)
	}
	if len(p.open)+p.order.Len()+len(p.same) != 0 {
		t.Errorf("%d open, %d in order, %d values", len(p.open), p.order.Len(), len(p.same))
	}
}
