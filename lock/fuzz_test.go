package lock

import (
	"bytes"
	"testing"
)

// What is read is a lock: it is written as bytes that read back as themselves.
func FuzzParseLock(f *testing.F) {
	f.Add(wholeLock(f, Level4).Bytes())
	f.Add(wholeLock(f, Level3).Bytes())
	f.Add(pin(f, surfaceOf(toolA, toolB), Level4).Bytes())
	f.Fuzz(func(t *testing.T, text []byte) {
		l, err := Parse(text)
		if err != nil {
			return
		}
		again, err := Parse(l.Bytes())
		if err != nil {
			t.Fatalf("%v:\n%s", err, l.Bytes())
		}
		if !bytes.Equal(again.Bytes(), l.Bytes()) {
			t.Fatalf("%s\nis\n%s", l.Bytes(), again.Bytes())
		}
		NewGate(l).Page([]byte(`{"tools":[]}`), "")
	})
}

// A skeleton is a function of the value, however it is spelt.
func FuzzSkeleton(f *testing.F) {
	f.Add([]byte(`{"type":"object","properties":{"a":{"$ref":"#/$defs/A"},"b":{"items":{"enum":[1,"x",null]}}},"$defs":{"A":{"$ref":"#/$defs/A"}}}`))
	f.Add([]byte(rich))
	f.Fuzz(func(t *testing.T, text []byte) {
		n, err := parseNode(text)
		if err != nil {
			return
		}
		one, err := skeletonOf(n, true)
		if err != nil {
			return
		}
		form, err := Canonical(text)
		if err != nil {
			return // a number that is too long, where no skeleton looks
		}
		m, err := parseNode(form)
		if err != nil {
			t.Fatal(err)
		}
		two, err := skeletonOf(m, true)
		if err != nil {
			t.Fatal(err)
		}
		if a, b := one.append(nil), two.append(nil); !bytes.Equal(a, b) {
			t.Fatalf("%s\nis\n%s", a, b)
		}
		if changes := compareSkeletons(&one, &two); len(changes) > 0 {
			t.Fatal(changes)
		}
	})
}

// A page passes a gate only if it lists what is pinned: the gate never takes
// other bytes for the same value.
func FuzzPage(f *testing.F) {
	f.Add([]byte(tools(toolA, toolB)), `"2"`)
	f.Add([]byte(pageTo(`"2"`, toolA)), "")
	f.Add([]byte(`{"tools":[{"name":"a","name":"b"}]}`), "null")
	l := pin(f, surfaceOf(toolA, toolB), Level4)
	f.Fuzz(func(t *testing.T, result []byte, cursor string) {
		g := NewGate(l)
		drifts, err := g.Page(result, cursor)
		if err != nil {
			t.Fatal(err)
		}
		if again, _ := g.Page(result, cursor); len(again) != len(drifts) && cursor == "" {
			t.Fatalf("%v, then %v", drifts, again)
		}
		if len(drifts) > 0 {
			return
		}
		entries, _, err := pageOf(result, "tools")
		if err != nil {
			t.Fatalf("what passes cannot be read: %v", err)
		}
		for _, e := range entries {
			h, err := Hash(e)
			name, _ := nameOf(e)
			if was := l.Tool(name); err != nil || was == nil || was.DefinitionHash != h {
				t.Fatalf("%s passes", e)
			}
		}
	})
}
