package aar

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
)

// A name that is no UTF-8 at all has no place to cut but its start.
func TestBoundedNameOfNoText(t *testing.T) {
	name := strings.Repeat("\x80", 1025)
	if got, want := BoundedName(name), fmt.Sprintf("#sha256:%x", sha256.Sum256([]byte(name))); got != want {
		t.Errorf("%q", got)
	}
}
