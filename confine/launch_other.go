//go:build !linux || (!amd64 && !arm64)

package confine

import "os/exec"

// Launch is the start of one confined server. There is none on this system.
type Launch struct{}

// Prepare refuses: its error is an *[UnsupportedError].
func (*Plan) Prepare(*exec.Cmd) (*Launch, error) { return nil, unsupported() }

// Await has nothing to wait for.
func (*Launch) Await() (*Report, error) { return nil, unsupported() }

// Close has nothing to give back.
func (*Launch) Close() error { return nil }
