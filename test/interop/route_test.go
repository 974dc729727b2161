package interop

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/aegis-aar/aegis/test/internal/harness"
)

// session is one session to be: where it works and what it leaves behind.
type session struct {
	work string // the server's working directory, the same for every session of a test
	*harness.Recording
	taps taps
}

// newSession makes an empty working directory and a new recording.
func newSession(t *testing.T, work string) *session {
	t.Helper()
	if err := os.RemoveAll(work); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(work, 0o700); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	return &session{work: work, Recording: harness.NewRecording(t, dir), taps: newTaps(dir)}
}

// A route is what lies between the client and the server.
type route struct {
	name  string
	build func(*testing.T, *session, []string) []string
}

var (
	direct  = route{"direct", func(_ *testing.T, _ *session, server []string) []string { return server }}
	wrapped = route{"wrapped", func(t *testing.T, s *session, server []string) []string { return s.Wrap(t, server...) }}
	// tapped is wrapped with a tap on either side.
	tapped = route{"tapped", func(t *testing.T, s *session, server []string) []string {
		return s.taps.client.before(t, s.Wrap(t, s.taps.server.before(t, server)...))
	}}
)

// taps are the logs of what passed on the two sides of wrap.
type taps struct{ client, server tap }

func newTaps(dir string) taps {
	return taps{tap(filepath.Join(dir, "client")), tap(filepath.Join(dir, "server"))}
}

// tap is the prefix of a tap's two logs.
type tap string

func (p tap) before(t *testing.T, argv []string) []string {
	return append([]string{harness.Binary(t, harness.Tap), string(p)}, argv...)
}

// up is what went to the server, down what came from it.
func (p tap) up(t *testing.T) []byte   { return readFile(t, string(p)+".up") }
func (p tap) down(t *testing.T) []byte { return readFile(t, string(p)+".down") }

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
