package confine

import (
	"fmt"
	"os"
	"testing"

	"github.com/aegis-aar/aegis/confine"
	"github.com/aegis-aar/aegis/test/internal/harness"
)

// TestMain makes the test binary three programs: the helper, one probe that tries
// to get out, or the tests, on this kernel or on a lesser one.
func TestMain(m *testing.M) {
	confine.RunHelper(os.Args)
	runProbe()
	runStarter()
	if err := becomeLesser(); err != nil {
		fmt.Fprintln(os.Stderr, "lesser kernel:", err)
		os.Exit(1)
	}
	harness.Main(m, harness.AsShipped)
}
