package lock

import (
	"flag"
	"os"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == childArg {
		os.Exit(servers[os.Args[2]]())
	}
	// A program with the race detector sleeps for a second when it exits.
	os.Setenv("GORACE", os.Getenv("GORACE")+" atexit_sleep_ms=0")
	flag.Set("rapid.seed", "1")
	flag.Set("rapid.checks", "100")
	goleak.VerifyTestMain(m)
}

var noon = time.Date(2026, 6, 6, 12, 0, 0, 0, time.UTC)

// surfaceOf is a surface of tools that are given as JSON texts.
func surfaceOf(tools ...string) *Surface {
	s := &Surface{Command: "server", Args: []string{"--stdio"}, ProtocolVersion: "2025-06-18"}
	for _, t := range tools {
		s.Tools = append(s.Tools, jsontext.Value(t))
	}
	return s
}

func pin(t testing.TB, s *Surface, level int) *Lock {
	t.Helper()
	l, err := New(s, PinOptions{Schema: level, Version: "1.0.0", Now: noon})
	if err != nil {
		t.Fatal(err)
	}
	return l
}
