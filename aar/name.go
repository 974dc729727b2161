package aar

import (
	"crypto/sha256"
	"fmt"
	"unicode/utf8"
)

// Names of up to wholeName bytes are recorded as they are, longer ones as their
// first cutName bytes and the hash of the whole.
const (
	wholeName = 1024
	cutName   = 256
)

// BoundedName is the form in which a record holds a name that somebody else has
// chosen, such as a tool's: as it is up to 1024 bytes, else its first 256 (or a
// few less, so that no character is cut), `#sha256:` and the digest of the whole.
func BoundedName(name string) string {
	if len(name) <= wholeName {
		return name
	}
	cut := cutName
	for cut > 0 && !utf8.RuneStart(name[cut]) {
		cut--
	}
	return fmt.Sprintf("%s#sha256:%x", name[:cut], sha256.Sum256([]byte(name)))
}

// UnknownTool is the tool_id of a frame that may be a Call, nobody knows of which tool.
const UnknownTool = "<unknown>"
