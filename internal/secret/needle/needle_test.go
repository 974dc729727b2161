package needle

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestNextFindsEveryPlace compares with a search that looks at one place after
// the other.
func TestNextFindsEveryPlace(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		literal := rapid.StringMatching(`[a-dA-D_:]{4}`)
		literals := rapid.SliceOfN(literal, 1, 20).Draw(t, "literals")
		set := new(Set)
		for i, l := range literals {
			set.Add(l, uint16(i))
		}
		text := rapid.StringMatching(`[a-dA-D_:]{0,60}`).Draw(t, "text")
		folded := func(s string) string {
			b := []byte(s)
			for i := range b {
				b[i] |= 0x20
			}
			return string(b)
		}
		at := 0
		for i := 0; i+Len <= len(text); i++ {
			want := 0
			for _, l := range literals {
				if folded(text[i:i+Len]) == folded(l) {
					want++
				}
			}
			if want == 0 {
				continue
			}
			got, tags := set.Next([]byte(text), at)
			if got != i || len(tags) != want {
				t.Fatalf("from %d in %q: %d with %d tags, want %d with %d", at, text, got, len(tags), i, want)
			}
			at = i + 1
		}
		if got, tags := set.Next([]byte(text), at); got != len(text) || tags != nil {
			t.Fatalf("from %d in %q: %d %v, want none", at, text, got, tags)
		}
	})
}

func TestNeedlesHaveFourBytes(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("a needle of five bytes was taken")
		}
	}()
	new(Set).Add(strings.Repeat("a", 5), 0)
}
