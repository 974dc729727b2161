package lock

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Difference is one place in which two JSON texts differ.
type Difference struct {
	Pointer string         // RFC 6901; empty for the whole text
	Was, Is jsontext.Value // nil if there was, or is, nothing
}

// maxDifferences bounds what is told of one text. The last one is then of the
// whole text.
const maxDifferences = 100

// Differences tells where two JSON texts differ in value, in the order of their
// pointers. The order of members and the spelling of numbers are no difference.
// A nil text is an absent one.
func Differences(was, is jsontext.Value) ([]Difference, error) {
	d := differ{}
	read := func(text jsontext.Value) (*node, error) {
		if text == nil {
			return nil, nil
		}
		return parseNode(text)
	}
	a, err := read(was)
	if err != nil {
		return nil, fmt.Errorf("old text: %w", err)
	}
	b, err := read(is)
	if err != nil {
		return nil, fmt.Errorf("new text: %w", err)
	}
	d.compare("", a, b)
	if len(d.found) > maxDifferences {
		d.found = append(d.found[:maxDifferences], Difference{Was: was, Is: is})
	}
	return d.found, nil
}

type differ struct{ found []Difference }

func (d *differ) compare(at string, was, is *node) {
	switch {
	case len(d.found) > maxDifferences:
	case was == nil && is == nil:
	case was == nil || is == nil || was.kind != is.kind && (was.kind == '{' || is.kind == '{' || was.kind == '[' || is.kind == '['):
		d.add(at, was, is)
	case was.kind == '{':
		names := make([]string, 0, len(was.members)+len(is.members))
		for _, n := range []*node{was, is} {
			for _, m := range n.members {
				names = append(names, m.name)
			}
		}
		slices.Sort(names)
		for _, name := range slices.Compact(names) {
			d.compare(at+"/"+strings.NewReplacer("~", "~0", "/", "~1").Replace(name), was.get(name), is.get(name))
		}
	case was.kind == '[':
		for i := range max(len(was.items), len(is.items)) {
			d.compare(fmt.Sprintf("%s/%d", at, i), item(was, i), item(is, i))
		}
	case !sameScalar(was, is):
		d.add(at, was, is)
	}
}

func item(n *node, i int) *node {
	if i < len(n.items) {
		return n.items[i]
	}
	return nil
}

func sameScalar(a, b *node) bool {
	if a.kind != b.kind {
		return false
	}
	x, errX := a.canonical()
	y, errY := b.canonical()
	return errX == nil && errY == nil && string(x) == string(y)
}

func (d *differ) add(at string, was, is *node) {
	f := Difference{Pointer: at}
	if was != nil {
		f.Was = was.append(nil)
	}
	if is != nil {
		f.Is = is.append(nil)
	}
	d.found = append(d.found, f)
}
