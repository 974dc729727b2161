package lock

import (
	"bytes"
	"errors"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

var errNoName = errors.New("an entry has no string name")

// nameOf is the name of a tool, read strictly.
func nameOf(tool jsontext.Value) (string, error) {
	d := jsontext.NewDecoder(bytes.NewBuffer(tool))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return "", errors.New("an entry is no object")
	}
	for d.PeekKind() != '}' {
		t, err := d.ReadToken()
		if err != nil {
			return "", errNoText
		}
		if t.String() != "name" {
			if err := d.SkipValue(); err != nil {
				return "", errNoText
			}
			continue
		}
		if d.PeekKind() != '"' {
			return "", errNoName
		}
		// The first is the only one: a second one is refused where the whole
		// object is read.
		t, err = d.ReadToken()
		if err != nil {
			return "", errNoText
		}
		return t.String(), nil
	}
	return "", errNoName
}

// foldsTo reports whether a name is one of names but for case or Unicode folding.
func foldsTo(name string, names ...string) bool {
	for _, n := range names {
		if strings.EqualFold(name, n) {
			return true
		}
	}
	return false
}
