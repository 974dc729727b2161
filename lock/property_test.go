package lock

import (
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"
)

// schemas and the like that a server may declare; every shape of value is in it.
const rich = `{
  "name": "write_file", "title": "Write", "description": "Writes a file.\r\nAll of it: \u00e9\ud83d\ude00",
  "inputSchema": {
    "type": "object", "required": ["path", "text"], "additionalProperties": false,
    "properties": {
      "path": {"type": "string", "description": "Where", "minLength": 1, "pattern": "^/"},
      "text": {"type": ["string", "null"], "default": "x", "examples": ["y", 1.5, null, true]},
      "mode": {"enum": ["a", "w", 1, 2.5e3, {"k": [false]}]},
      "opts": {"$ref": "#/$defs/O"}
    },
    "$defs": {"O": {"type": "object", "properties": {"n": {"type": "integer", "maximum": 9007199254740993}}}}
  },
  "outputSchema": {"type": "object", "properties": {"bytes": {"type": "integer"}}},
  "annotations": {"readOnlyHint": false, "destructiveHint": true},
  "_meta": {"vendor/x": 0.1}, "icons": [{"src": "https://e.x/i.png"}]
}`

const instructions = `"Use write_file with care."`

func richSurface(tool string) *Surface {
	s := surfaceOf(tool)
	s.Instructions = jsontext.Value(instructions)
	return s
}

// places are the addresses of every scalar and every member name below n.
func places(n *node) (scalars []*node, names []*member) {
	for i := range n.members {
		names = append(names, &n.members[i])
		s, m := places(n.members[i].value)
		scalars, names = append(scalars, s...), append(names, m...)
	}
	for _, item := range n.items {
		s, m := places(item)
		scalars, names = append(scalars, s...), append(names, m...)
	}
	if n.kind != '{' && n.kind != '[' {
		scalars = append(scalars, n)
	}
	return scalars, names
}

func mutate(s string, r *rapid.T) string {
	runes := []rune(s)
	at := rapid.IntRange(0, len(runes)).Draw(r, "at")
	c := rapid.SampledFrom([]rune{'x', '\u200b', '\u202e', 0xe0041, '\n', ' ', 'а'}).Draw(r, "character")
	if at == len(runes) || rapid.Bool().Draw(r, "insert") {
		return string(slices.Insert(runes, at, c))
	}
	if runes[at] == c {
		c = 'z'
	}
	runes[at] = c
	return string(runes)
}

// One character changed anywhere in a tool's definition is drift of that tool,
// unless it makes another tool of it.
func TestEveryCharacterCounts(t *testing.T) {
	t.Parallel()
	pinned := pin(t, richSurface(rich), Level4)
	rapid.Check(t, func(r *rapid.T) {
		n, err := parseNode([]byte(rich))
		if err != nil {
			r.Fatal(err)
		}
		scalars, names := places(n)
		i := rapid.IntRange(0, len(scalars)+len(names)-1).Draw(r, "place")
		if i < len(names) {
			names[i].name = mutate(names[i].name, r)
		} else {
			switch s := scalars[i-len(names)]; s.kind {
			case '"':
				s.text = mutate(s.text, r)
			case '0': // one digit more is another number
				s.raw = append(slices.Clone(s.raw), '1')
			case 't':
				s.kind = 'f'
			default:
				s.kind = 't'
			}
		}
		current, err := New(richSurface(string(n.append(nil))), PinOptions{Schema: Level4, Now: noon})
		if err != nil {
			return // it cannot be pinned any more: a member twice, a name that is none
		}
		drifts := Compare(pinned, current)
		if len(drifts) == 0 {
			r.Fatalf("no drift: %s", n.append(nil))
		}
		for _, d := range drifts {
			if !strings.HasPrefix(d.Target, "tools/") {
				r.Fatalf("drift of %s", d.Target)
			}
		}
		// The gate says so too, of the same bytes.
		page := fmt.Sprintf(`{"tools":[%s]}`, n.append(nil))
		if got, err := NewGate(pinned).Page([]byte(page), ""); err != nil || len(got) == 0 {
			r.Fatalf("the gate lets it pass: %v", err)
		}
	})
}

func TestInstructionsCount(t *testing.T) {
	t.Parallel()
	pinned := pin(t, richSurface(rich), Level4)
	rapid.Check(t, func(r *rapid.T) {
		s := richSurface(rich)
		s.Instructions = quote(mutate("Use write_file with care.", r))
		current, err := New(s, PinOptions{Schema: Level4, Now: noon})
		if err != nil {
			r.Fatal(err)
		}
		drifts := Compare(pinned, current)
		if len(drifts) != 1 || drifts[0].Class != "instructions-modified" {
			r.Fatal(drifts)
		}
	})
	none := surfaceOf(rich)
	if d := Compare(pinned, pin(t, none, Level4)); len(d) != 1 || d[0].Class != "instructions-modified" {
		t.Error(d)
	}
}

// respelt is the same value in other bytes: members in another order, blanks,
// escapes, other spellings of numbers.
func respelt(n *node, r *rand.Rand) string {
	blank := func() string { return []string{"", " ", "\n\t", "  "}[r.Intn(4)] }
	text := func(s string) string {
		var b strings.Builder
		b.WriteByte('"')
		for _, c := range s {
			switch {
			case c < 0x20 || c == '"' || c == '\\' || c <= 0xffff && r.Intn(3) == 0:
				fmt.Fprintf(&b, `\u%04x`, c)
			case c == '/' && r.Intn(2) == 0:
				b.WriteString(`\/`)
			default:
				b.WriteRune(c)
			}
		}
		return b.String() + `"`
	}
	switch n.kind {
	case '"':
		return text(n.text)
	case '0':
		raw := string(n.raw)
		if strings.ContainsAny(raw, "eE") {
			return raw
		}
		if strings.Contains(raw, ".") {
			return raw + []string{"", "0", "00", "e0", "E+0", "000e-0"}[r.Intn(6)]
		}
		return raw + []string{"", ".0", "e0", ".00E0", "0e-1"}[r.Intn(5)]
	case '[':
		var items []string
		for _, item := range n.items {
			items = append(items, blank()+respelt(item, r)+blank())
		}
		return "[" + strings.Join(items, ",") + "]"
	case '{':
		members := slices.Clone(n.members)
		r.Shuffle(len(members), func(i, k int) { members[i], members[k] = members[k], members[i] })
		var items []string
		for _, m := range members {
			items = append(items, blank()+text(m.name)+blank()+":"+blank()+respelt(m.value, r)+blank())
		}
		return "{" + strings.Join(items, ",") + "}"
	}
	return string(n.append(nil))
}

// How a definition is formatted is no drift, at either level, nor is the order
// of the tools.
func TestFormattingIsNoDrift(t *testing.T) {
	t.Parallel()
	n, err := parseNode([]byte(rich))
	if err != nil {
		t.Fatal(err)
	}
	for _, level := range []int{Level3, Level4} {
		s := richSurface(rich)
		s.Tools = append(s.Tools, jsontext.Value(toolA), jsontext.Value(toolB))
		pinned := pin(t, s, level)
		for seed := range int64(200) {
			r := rand.New(rand.NewSource(seed))
			again := richSurface(respelt(n, r))
			again.Tools = append([]jsontext.Value{jsontext.Value(toolB)}, append(again.Tools, jsontext.Value(toolA))...)
			if d := Compare(pinned, pin(t, again, level)); len(d) > 0 {
				t.Fatalf("seed %d: %v\n%s", seed, d, again.Tools[1])
			}
			page := fmt.Sprintf(`{ "tools" : [%s, %s,%s]}`, again.Tools[0], again.Tools[1], again.Tools[2])
			if d, err := NewGate(pinned).Page([]byte(page), ""); len(d) > 0 || err != nil {
				t.Fatalf("seed %d: the gate: %v %v", seed, d, err)
			}
		}
	}
}
