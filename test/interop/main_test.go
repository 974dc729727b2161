package interop

import (
	"testing"

	"github.com/aegis-aar/aegis/test/internal/harness"
)

func TestMain(m *testing.M) { harness.Main(m, harness.AsTests) }
