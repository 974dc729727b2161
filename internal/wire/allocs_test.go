//go:build !race

// The race detector makes sync.Pool forget at random.

package wire

import "testing"

func TestClassifySmallCallAllocatesLittle(t *testing.T) {
	body := []byte(smallCall)
	if n := testing.AllocsPerRun(1000, func() { Classify(body) }); n > 3 {
		t.Errorf("%v allocations", n)
	}
}
