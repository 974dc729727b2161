package crash

import (
	"testing"

	"github.com/aegis-aar/aegis/test/internal/harness"
)

// Hundreds of programs are started here: the race detector's weight is left out.
func TestMain(m *testing.M) { harness.Main(m, harness.AsShipped) }
