package aar

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"

	"github.com/go-json-experiment/json"
)

// A chain writes record files line by line, lawful or not: what it is given
// goes in as it is.
type chain struct {
	tb   testing.TB
	key  *SigningKey
	file []byte
	seq  uint64
	tail LineHash
}

type members map[string]any

// unsigned appends a line of that type with its place in the chain. Members
// given replace those it would have.
func (c *chain) unsigned(lineType string, extra members) {
	c.tb.Helper()
	m := members{"schema_version": 2, "line_type": lineType, "seq": c.seq, "prev_hash": c.tail}
	maps.Copy(m, extra)
	c.raw(c.canonical(m))
}

// signed is unsigned with a key_id and a signature that holds.
func (c *chain) signed(lineType string, extra members) {
	c.tb.Helper()
	m := members{"schema_version": 2, "line_type": lineType, "seq": c.seq, "prev_hash": c.tail, "key_id": c.key.id}
	maps.Copy(m, extra)
	m["signature"] = c.key.sign(c.canonical(m))
	c.raw(c.canonical(m))
}

func (c *chain) canonical(m members) []byte {
	c.tb.Helper()
	text, err := json.Marshal(m)
	if err != nil {
		c.tb.Fatal(err)
	}
	if text, err = Canonicalize(text); err != nil {
		c.tb.Fatal(err)
	}
	return text
}

// raw appends a row and moves on behind it.
func (c *chain) raw(row []byte) {
	c.file = append(append(c.file, row...), '\n')
	if hash, err := lineHash(row); err == nil {
		c.tail = hash
	}
	c.seq++
}

// canonicalRow is raw for a row that is known to be canonical: it costs less.
func (c *chain) canonicalRow(row []byte) {
	c.file = append(append(c.file, row...), '\n')
	c.tail = sha256.Sum256(row)
	c.seq++
}

func (c *chain) open() {
	c.tb.Helper()
	m := members{"public_key": c.key.public, "prev_hash": Genesis}
	if len(c.file) > 0 {
		m["prev_session_tail"] = c.tail
	}
	c.seq = 0
	c.signed("open", m)
}

func (c *chain) intent(id string)   { c.tb.Helper(); c.unsigned("intent", members{"call_id": id}) }
func (c *chain) outcome(id string)  { c.tb.Helper(); c.signed("outcome", members{"call_id": id}) }
func (c *chain) decision(id string) { c.tb.Helper(); c.signed("decision", members{"approval_id": id}) }
func (c *chain) close()             { c.tb.Helper(); c.signed("close", nil) }

func built(tb testing.TB, build func(*chain)) []byte {
	c := &chain{tb: tb, key: testKey(1)}
	build(c)
	return c.file
}

func newRandom(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(1, seed)) }

func testKey(n byte) *SigningKey {
	return NewSigningKey([32]byte(bytes.Repeat([]byte{n}, 32)))
}

func TestVerdicts(t *testing.T) {
	id := testKey(1).id
	outside := "outside the canonical value space, so it has no reproducible hash: "
	for _, tc := range []struct {
		name  string
		build func(*chain)
		want  string
	}{
		{"the shortest record", func(c *chain) { c.open(); c.close() }, "Verified (unpinned)"},
		{"no bytes", func(*chain) {}, "Indeterminate: no lines to verify"},
		{"blank rows only", func(c *chain) { c.file = []byte("\n\r\n \t\n\n") }, "Indeterminate: no lines to verify"},
		{"blank rows between are no lines", func(c *chain) {
			c.open()
			c.file = append(c.file, "\n \r\n\t\n"...)
			c.close()
			c.file = append(c.file, "\n\n"...)
		}, "Verified (unpinned)"},
		{"blank rows are not counted", func(c *chain) {
			c.open()
			c.file = append(c.file, "\n\n{\n\n"...)
			c.close()
		}, "Tampered: line 2: not JSON: jsontext: unexpected EOF after offset 1"},
		{"CRLF", func(c *chain) { c.open(); c.close(); c.file = bytes.ReplaceAll(c.file, []byte("\n"), []byte("\r\n")) }, "Verified (unpinned)"},
		{"spacing and member order are not content", func(c *chain) {
			c.open()
			c.close()
			rows := bytes.Split(c.file, []byte("\n"))
			row := bytes.TrimPrefix(rows[1], []byte(`{"key_id":"`+id.String()+`",`))
			rows[1] = []byte(` { "key_id" : "` + id.String() + `" , ` + string(row))
			rows[0] = bytes.Replace(rows[0], []byte(`"line_type"`), []byte(`"line_\u0074ype"`), 1)
			c.file = bytes.Join(rows, []byte("\n"))
		}, "Verified (unpinned)"},
		{"a byte order mark", func(c *chain) { c.open(); c.close(); c.file = append([]byte("\ufeff"), c.file...) }, "Tampered: line 1: not JSON: jsontext: invalid character '\\ufeff' at start of value"},

		{"not an object", func(c *chain) { c.open(); c.raw([]byte(`[]`)); c.close() }, "Tampered: line 2: no line_type"},
		{"line_type is no string", func(c *chain) { c.open(); c.unsigned("", members{"line_type": 1}); c.close() }, "Tampered: line 2: no line_type"},
		{"seq is a string", func(c *chain) { c.open(); c.unsigned("x", members{"seq": "1"}) }, "Tampered: line 2: no seq"},
		{"seq is missing, in an unknown type", func(c *chain) { c.raw([]byte(`{"line_type":"x","prev_hash":"` + Genesis.String() + `"}`)) }, "Tampered: line 1: no seq"},
		{"prev_hash in upper case", func(c *chain) {
			c.open()
			c.unsigned("intent", members{"prev_hash": strings.ToUpper(c.tail.String())})
		}, "Tampered: line 2: no prev_hash"},
		{"a null", func(c *chain) { c.open(); c.raw([]byte(`{"a":null}`)); c.close() }, "Tampered: line 2: " + outside + "null at $.a; absent fields must be omitted, never null"},
		{"a float, in the last line", func(c *chain) { c.open(); c.raw([]byte(`{"a":1.0}`)) }, "Tampered: line 2: " + outside + "floating-point value at $.a is outside the JCS value space"},
		{"a duplicate name", func(c *chain) { c.open(); c.raw([]byte(`{"line_type":"intent","line_type":"intent"}`)); c.close() }, "Tampered: line 2: " + outside + "duplicate member name at $.line_type"},
		{"a duplicate name deep inside, escaped", func(c *chain) { c.open(); c.raw([]byte(`{"a":[{"b":{"x":1,"\u0078":2}}]}`)) }, "Tampered: line 2: " + outside + "duplicate member name at $.a[0].b.x"},
		{"two lines on one row", func(c *chain) {
			c.open()
			c.close()
			c.file = bytes.Replace(c.file, []byte("}\n"), []byte("}"), 1)
			c.open()
		}, "Tampered: line 1: not JSON: bytes after the value"},

		{"starts with an intent", func(c *chain) { c.intent("a") }, "Tampered: line 1: chain does not begin with an open line"},
		{"open at seq 1", func(c *chain) { c.signed("open", members{"seq": 1, "prev_hash": Genesis, "public_key": c.key.public}) }, "Tampered: line 1: open line does not anchor on the genesis digest"},
		{"open with a prev_hash", func(c *chain) { c.open(); c.seq = 0; c.signed("open", members{"public_key": c.key.public}) }, "Tampered: line 2: open line does not anchor on the genesis digest"},
		{"open without a key", func(c *chain) { c.signed("open", nil) }, "Tampered: line 1: open line carries no public key"},
		{"open with half a key", func(c *chain) { c.signed("open", members{"public_key": "abcd"}) }, "Tampered: line 1: open line carries no public key"},
		{"a second session without its tail", func(c *chain) {
			c.open()
			c.close()
			c.seq, c.tail = 0, Genesis
			c.signed("open", members{"public_key": c.key.public})
		},
			"Tampered: session 1 carries no prev_session_tail, but the previous session ends at "},
		{"the first session may name a tail: its file may have been split off", func(c *chain) {
			c.signed("open", members{"public_key": c.key.public, "prev_session_tail": strings.Repeat("ab", 32)})
			c.close()
		}, "Verified (unpinned)"},

		{"seq skips", func(c *chain) { c.open(); c.seq += 2; c.intent("a"); c.close() }, "Indeterminate: session 0 skips seq 1..3 with the chain intact; a write did not land"},
		{"seq repeats", func(c *chain) { c.open(); c.intent("a"); c.seq--; c.close() }, "Tampered: session 0 expected seq 2, found 1"},
		{"the chain is looked at before seq", func(c *chain) { c.open(); c.intent("a"); c.seq--; c.tail = LineHash{1}; c.close() },
			"Tampered: line at session 0 seq 1 chains to 0100000000000000000000000000000000000000000000000000000000000000, but the line before it hashes to "},

		{"an outcome without a signature", func(c *chain) { c.open(); c.unsigned("outcome", nil); c.close() }, "Tampered: line at session 0 seq 1: line carries no signature"},
		{"an outcome without a signature in the tail", func(c *chain) { c.open(); c.unsigned("outcome", nil) }, "Tampered: line at session 0 seq 1: line carries no signature"},
		{"a signature without its key_id", func(c *chain) { c.open(); c.unsigned("close", members{"signature": strings.Repeat("ab", 64)}) }, "Tampered: line at session 0 seq 1: line carries no signature"},
		{"a signature that is no string", func(c *chain) { c.open(); c.unsigned("close", members{"signature": 1, "key_id": c.key.id}) }, "Tampered: line at session 0 seq 1: line carries no signature"},
		{"a signature that is no hex", func(c *chain) { c.open(); c.unsigned("close", members{"signature": "xyz", "key_id": c.key.id}) }, "Tampered: line at session 0 seq 1: signature does not match this line"},
		{"a signature of another line", func(c *chain) {
			c.open()
			c.unsigned("close", members{"signature": c.key.sign([]byte("{}")), "key_id": c.key.id})
		}, "Tampered: line at session 0 seq 1: signature does not match this line"},
		{"another key within a session", func(c *chain) { c.open(); c.key = testKey(2); c.close() },
			"Tampered: line at session 0 seq 1: line was signed under key " + testKey(2).id.String() + ", not " + id.String()},
		{"another key under the session's name", func(c *chain) { c.open(); c.key = testKey(2); c.signed("close", members{"key_id": id}) }, "Tampered: line at session 0 seq 1: signature does not match this line"},
		{"a key of small order", func(c *chain) {
			c.signed("open", members{"public_key": "01" + strings.Repeat("00", 31), "key_id": PublicKey{1}.ID()})
		},
			"Tampered: line at session 0 seq 0: not a valid ed25519 public key"},
		{"a session may bring another key", func(c *chain) { c.open(); c.close(); c.key = testKey(2); c.open(); c.close() }, "Verified (unpinned)"},

		{"no close", func(c *chain) { c.open(); c.intent("a"); c.outcome("a"); c.intent("b"); c.intent("c") }, "Indeterminate: session 0 has no close record and nothing anchors beyond it; 2 call(s) in flight"},
		{"a later session anchors one that has no close", func(c *chain) { c.open(); c.intent("a"); c.open(); c.close() }, "Verified (unpinned)"},
		{"a close is not the last line of its session", func(c *chain) { c.open(); c.close(); c.intent("a"); c.outcome("a"); c.close() }, "Verified (unpinned)"},
		{"and what follows it is a tail like any other", func(c *chain) { c.open(); c.close(); c.intent("a") }, "Indeterminate: session 0 has no close record and nothing anchors beyond it; 1 call(s) in flight"},
		{"half a last line", func(c *chain) { c.open(); c.close(); c.file = c.file[:len(c.file)-9] }, "Indeterminate: final line 2 does not parse; torn write"},
		{"half a last line with its end", func(c *chain) { c.open(); c.raw([]byte(`{"seq":`)) }, "Indeterminate: final line 2 does not parse; torn write"},
		{"half a last line, blank rows behind it", func(c *chain) { c.open(); c.raw([]byte(`{"seq":`)); c.file = append(c.file, "\n\r\n"...) }, "Indeterminate: final line 2 does not parse; torn write"},
		{"a whole last line without its end", func(c *chain) { c.open(); c.close(); c.file = c.file[:len(c.file)-1] }, "Verified (unpinned)"},
		{"NUL bytes behind the last line", func(c *chain) { c.open(); c.close(); c.file = append(c.file, make([]byte, 4096)...) }, "Indeterminate: final line 3 does not parse; torn write"},
		{"a torn rune at the end", func(c *chain) { c.open(); c.close(); c.file = append(c.file, "{\"a\":\"\xe2\x82"...) }, "Indeterminate: final line 3 does not parse; torn write"},
		{"half a line is all there is", func(c *chain) { c.file = []byte(`{"se`) }, "Indeterminate: final line 1 does not parse; torn write"},

		{"an unknown type without a signature", func(c *chain) { c.open(); c.unsigned("attestation", nil); c.close() }, "Indeterminate: unknown line type `attestation` at session 0 seq 1, newer emitter"},
		{"an unknown type with one that holds", func(c *chain) { c.open(); c.signed("attestation", nil); c.close() }, "Indeterminate: unknown line type `attestation` at session 0 seq 1, newer emitter"},
		{"an unknown type with one that does not", func(c *chain) {
			c.open()
			c.unsigned("attestation", members{"signature": c.key.sign(nil), "key_id": c.key.id})
			c.close()
		}, "Tampered: line at session 0 seq 1: signature does not match this line"},
		{"an unknown type with one and no key_id", func(c *chain) { c.open(); c.unsigned("attestation", members{"signature": c.key.sign(nil)}) }, "Tampered: line at session 0 seq 1: line carries no signature"},
		{"an empty type is an unknown one", func(c *chain) { c.open(); c.unsigned("", nil) }, "Indeterminate: unknown line type `` at session 0 seq 1, newer emitter"},
		{"a checkpoint", func(c *chain) { c.open(); c.signed("checkpoint", nil); c.close() }, "Indeterminate: reserved checkpoint line at session 0 seq 1, not defined by v0"},
		{"a forged checkpoint does not hide behind its cap", func(c *chain) { c.open(); c.unsigned("checkpoint", nil); c.close() }, "Tampered: line at session 0 seq 1: line carries no signature"},

		{"two decisions", func(c *chain) { c.open(); c.decision("a"); c.decision("b"); c.close() }, "Verified (unpinned)"},
		{"a second decision, sessions later", func(c *chain) {
			c.open()
			c.decision("a")
			c.close()
			c.open()
			c.close()
			c.open()
			c.decision("a")
			c.close()
		},
			"Tampered: line at session 2 seq 1 decides approval a a second time"},
		{"a second decision, spelt otherwise", func(c *chain) {
			c.open()
			c.decision("a")
			c.decision("a")
			c.file = bytes.Replace(c.file, []byte(`"approval_id":"a"`), []byte(`"approval_id":"\u0061"`), 1)
		}, "Tampered: line at session 0 seq 2 decides approval a a second time"},
		{"decisions that name nothing decide nothing", func(c *chain) {
			c.open()
			c.signed("decision", nil)
			c.decision("")
			c.signed("decision", nil)
			c.close()
		}, "Verified (unpinned)"},

		{"the first thing that cannot be decided is named", func(c *chain) { c.open(); c.unsigned("x", nil); c.seq++; c.signed("checkpoint", nil) }, "Indeterminate: unknown line type `x` at session 0 seq 1, newer emitter"},
		{"a contradiction outranks it", func(c *chain) { c.open(); c.unsigned("x", nil); c.unsigned("close", nil) }, "Tampered: line at session 0 seq 2: line carries no signature"},
		{"schema_version is not judged", func(c *chain) { c.open(); c.signed("close", members{"schema_version": 9}) }, "Verified (unpinned)"},
		{"members it does not know are hashed and signed like any other", func(c *chain) { c.open(); c.signed("close", members{"extra": members{"z": []any{1, "two"}}}) }, "Verified (unpinned)"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := mustVerify(t, built(t, tc.build)).Headline()
			// A digest at the end of a reason is told apart by its place, not its value.
			if got != tc.want && !(strings.HasSuffix(tc.want, " at ") || strings.HasSuffix(tc.want, " to ")) || !strings.HasPrefix(got, tc.want) {
				t.Errorf("verify says\n%q, want\n%q", got, tc.want)
			}
		})
	}
}

// What is gone, moved or doubled is told apart from what is whole; only what
// is gone from the end needs an anchor outside the file.
func TestRemovedAndMovedLines(t *testing.T) {
	file := built(t, func(c *chain) {
		c.open()
		for i := range 4 {
			c.intent(fmt.Sprint(i))
			c.outcome(fmt.Sprint(i))
		}
		c.close()
	})
	rows := slices.Collect(bytes.Lines(file))
	cut := func(rows [][]byte, from, to int) [][]byte { return slices.Delete(slices.Clone(rows), from, to) }
	for _, tc := range []struct {
		name string
		rows [][]byte
		want State
		code ReasonCode
	}{
		{"whole", rows, Verified, ""},
		{"without the close", rows[:9], Indeterminate, UnanchoredTail},
		{"without the last three", rows[:7], Indeterminate, UnanchoredTail},
		{"the open alone", rows[:1], Indeterminate, UnanchoredTail},
		{"without the first two", rows[2:], Tampered, MalformedLine},
		{"without one in the middle", cut(rows, 4, 5), Tampered, ChainBroken},
		{"without a whole call", cut(rows, 3, 5), Tampered, ChainBroken},
		{"two swapped", slices.Concat(rows[:3], rows[4:5], rows[3:4], rows[5:]), Tampered, ChainBroken},
		{"one repeated", slices.Concat(rows[:4], rows[3:]), Tampered, ChainBroken},
		{"the same record twice", slices.Concat(rows, rows), Tampered, SessionBoundary},
		{"reversed", func() [][]byte { r := slices.Clone(rows); slices.Reverse(r); return r }(), Tampered, MalformedLine},
	} {
		report := mustVerify(t, slices.Concat(tc.rows...))
		if report.Verdict != tc.want || tc.code != "" && report.Reason.Code != tc.code {
			t.Errorf("%s: %s", tc.name, report.Headline())
		}
	}
}

// What is reported beside the verdict.
func TestReportMembers(t *testing.T) {
	file := built(t, func(c *chain) {
		c.open()                                         // 0.0
		c.intent("lost")                                 // 0.1
		c.intent("a")                                    // 0.2
		c.outcome("a")                                   // 0.3
		c.signed("intent", members{"call_id": "signed"}) // 0.4
		c.outcome("signed")                              // 0.5
		c.close()                                        // 0.6
		c.key = testKey(2)
		c.open()              // 1.0
		c.intent("later")     // 1.1
		c.outcome("a")        // 1.2: of another session, answers nothing here
		c.intent("in-flight") // 1.3
	})
	got := mustVerify(t, file)
	want := &Report{
		Verdict:       Indeterminate,
		Reason:        &Reason{Code: UnanchoredTail, Session: 1, InFlight: 1},
		Keys:          []KeyID{testKey(1).id, testKey(2).id},
		Coverage:      &Position{1, 2},
		InFlight:      []string{"in-flight"},
		InFlightCount: 1,
		Sessions:      2, Lines: 11, Calls: 5,
		Unmatched: []UnmatchedIntent{
			{"lost", Position{0, 1}}, {"later", Position{1, 1}}, {"in-flight", Position{1, 3}},
		},
		SignedIntents: []Position{{0, 4}},
		openTailOnly:  true,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestOpenTailOnly(t *testing.T) {
	for _, tc := range []struct {
		name  string
		build func(*chain)
		want  bool
	}{
		{"verified", func(c *chain) { c.open(); c.close() }, false},
		{"live", func(c *chain) { c.open(); c.intent("a") }, true},
		{"torn", func(c *chain) { c.open(); c.raw([]byte("{")) }, true},
		{"empty", func(*chain) {}, false},
		{"a gap, and closed", func(c *chain) { c.open(); c.seq++; c.close() }, false},
		{"a gap, and live", func(c *chain) { c.open(); c.seq++; c.intent("a") }, false},
		{"an unknown line, and torn", func(c *chain) { c.open(); c.unsigned("x", nil); c.raw([]byte("{")) }, false},
		{"tampered", func(c *chain) { c.open(); c.unsigned("close", nil) }, false},
	} {
		if report := mustVerify(t, built(t, tc.build)); report.OpenTailOnly() != tc.want {
			t.Errorf("%s: %v, %s", tc.name, report.OpenTailOnly(), report.Headline())
		}
	}
}

func TestPinnedKeys(t *testing.T) {
	one, two, three := testKey(1), testKey(2), testKey(3)
	file := built(t, func(c *chain) {
		c.open()
		c.close()
		c.key = two
		c.open()
		c.close()
		c.key = one
		c.open()
		c.close()
	})
	first := built(t, func(c *chain) { c.open(); c.close() })
	untrusted := func(session int, k *SigningKey) string {
		return fmt.Sprintf("Tampered: session opened at session %d seq 0 publishes a key with fingerprint %s, which is not in the supplied trust store (--key takes the 64-hex public key, not this fingerprint)", session, k.id)
	}
	for _, tc := range []struct {
		name  string
		file  []byte
		trust []PublicKey
		want  string
	}{
		{"no pin", file, nil, "Verified (unpinned)"},
		{"all keys", file, []PublicKey{two.public, one.public}, "Verified (pinned)"},
		{"more keys than the file has", file, []PublicKey{three.public, two.public, one.public}, "Verified (pinned)"},
		{"the first key alone", file, []PublicKey{one.public}, untrusted(1, two)},
		{"the second key alone", file, []PublicKey{two.public}, untrusted(0, one)},
		{"another key", file, []PublicKey{three.public}, untrusted(0, one)},
		{"an empty trust store is a pin that nothing satisfies", file, []PublicKey{}, untrusted(0, one)},
		{"one key, one session", first, []PublicKey{one.public}, "Verified (pinned to " + one.id.String() + ")"},
		{"of several keys one is in the file", first, []PublicKey{one.public, two.public}, "Verified (pinned to " + one.id.String() + ")"},
	} {
		if got := headline(t, tc.file, VerifyOptions{Pinned: tc.trust != nil, Trust: tc.trust}); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
	// A pin does not mend a chain.
	broken := bytes.Replace(first, []byte(`"seq":1`), []byte(`"seq":2`), 1)
	if got := headline(t, broken, VerifyOptions{Pinned: true, Trust: []PublicKey{one.public}}); !strings.HasPrefix(got, "Tampered") {
		t.Errorf("a broken file under a pin: %s", got)
	}
}

func headline(tb testing.TB, file []byte, opts VerifyOptions) string {
	tb.Helper()
	report, err := Verify(tb.Context(), bytes.NewReader(file), opts)
	if err != nil {
		tb.Fatal(err)
	}
	return report.Headline()
}

// What cannot be read has no verdict, wherever in the file it stands.
func TestUnreadable(t *testing.T) {
	whole := built(t, func(c *chain) { c.open(); c.close() })
	tampered := built(t, func(c *chain) { c.unsigned("open", nil); c.close() })
	row := func(n int) []byte { return append(bytes.Repeat([]byte{'x'}, n), '\n') }
	cause := errors.New("the disk is gone")
	for _, tc := range []struct {
		name string
		in   io.Reader
		want string // error, or headline
	}{
		{"not UTF-8 in the middle", bytes.NewReader(slices.Concat([]byte("{\"a\":\"\xff\"}\n"), whole)), "line 1 is not UTF-8"},
		{"not UTF-8 in the last line, which is whole", bytes.NewReader(slices.Concat(whole, []byte("\n\xff\n"))), "line 3 is not UTF-8"},
		{"not UTF-8 in the last line, which has no end", bytes.NewReader(slices.Concat(whole, []byte("\xff"))), "Indeterminate: final line 3 does not parse; torn write"},
		{"not UTF-8 behind a contradiction", bytes.NewReader(slices.Concat(tampered, []byte("\xff\n"))), "line 3 is not UTF-8"},
		{"a row over the limit", bytes.NewReader(slices.Concat(whole, row(MaxLine+1))), "line 3 is longer than 16777216 bytes"},
		{"a row over the limit without an end", bytes.NewReader(slices.Concat(whole, row(MaxLine + 1)[:MaxLine+1])), "line 3 is longer than 16777216 bytes"},
		{"a row of blanks over the limit", bytes.NewReader(bytes.Repeat([]byte{' '}, MaxLine+2)), "line 1 is longer than 16777216 bytes"},
		{"a row at the limit", bytes.NewReader(slices.Concat(whole, row(MaxLine))), "Indeterminate: final line 3 does not parse; torn write"},
		{"a read error", io.MultiReader(bytes.NewReader(whole), iotest.ErrReader(cause)), "the disk is gone"},
	} {
		report, err := Verify(t.Context(), tc.in, VerifyOptions{})
		got := fmt.Sprint(err)
		if err == nil {
			got = report.Headline()
		} else if report != nil {
			t.Errorf("%s: a report beside an error", tc.name)
		}
		if got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
}

// A line as long as a line may be is read like any other.
func TestLongestLine(t *testing.T) {
	file := built(t, func(c *chain) {
		c.open()
		row := fmt.Appendf(nil, `{"call_id":"","line_type":"intent","prev_hash":"%s","schema_version":2,"seq":1}`, c.tail)
		row = bytes.Replace(row, []byte(`""`), []byte(`"`+strings.Repeat("x", MaxLine-len(row))+`"`), 1)
		if len(row) != MaxLine {
			t.Fatalf("the line has %d bytes", len(row))
		}
		c.canonicalRow(row)
		c.close()
	})
	if report := mustVerify(t, file); report.Verdict != Verified {
		t.Error(report.Headline())
	}
}

func TestVerifyStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("enough")
	endless := &repeatReader{row: []byte("{}\n"), after: func(read int64) {
		if read > 1<<20 {
			cancel(cause)
		}
	}}
	if report, err := Verify(ctx, endless, VerifyOptions{}); report != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("%v, %v", report, err)
	}
}

// repeatReader gives a row again and again.
type repeatReader struct {
	row   []byte
	read  int64
	after func(int64)
}

func (r *repeatReader) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		n += copy(p[n:], r.row[int(r.read+int64(n))%len(r.row):])
	}
	r.read += int64(n)
	r.after(r.read)
	return n, nil
}

// Every byte of a record counts: whatever single byte is changed, removed or
// put in, the record is not Verified, or it says the same.
func TestAnySingleByteChange(t *testing.T) {
	file := built(t, func(c *chain) {
		c.open()
		c.intent("call-1")
		c.outcome("call-1")
		c.close()
		c.key = testKey(2)
		c.open()
		c.close()
	})
	content := func(file []byte) (rows []string) {
		for row := range bytes.Lines(file) {
			if len(bytes.TrimSpace(row)) > 0 {
				text, err := Canonicalize(row)
				if err != nil {
					t.Errorf("Verified, but %q: %v", row, err)
				}
				rows = append(rows, string(text))
			}
		}
		return rows
	}
	want := content(file)
	var verdicts [3]atomic.Int64
	var unread atomic.Int64
	parallel(4, len(file), func(at int) {
		random := newRandom(uint64(at))
		changes := [][]byte{
			slices.Delete(slices.Clone(file), at, at+1),
			slices.Insert(slices.Clone(file), at, []byte(" \"0\n\t")[random.IntN(5)]),
			slices.Insert(slices.Clone(file), at, byte(random.IntN(256))),
		}
		for _, value := range []byte{file[at] ^ 1, file[at] ^ 0x20, byte(random.IntN(256))} {
			if value != file[at] {
				changed := slices.Clone(file)
				changed[at] = value
				changes = append(changes, changed)
			}
		}
		random.Shuffle(len(changes), func(i, j int) { changes[i], changes[j] = changes[j], changes[i] })
		for _, changed := range changes[:min(len(changes), changesPerByte)] {
			report, err := Verify(t.Context(), bytes.NewReader(changed), VerifyOptions{Workers: 1})
			if err != nil {
				unread.Add(1)
				continue
			}
			verdicts[report.Verdict].Add(1)
			if report.Verdict == Verified && !slices.Equal(content(changed), want) {
				t.Errorf("byte %d: Verified with other content:\n%q", at, changed)
			}
		}
	})
	// A suite in which nothing is caught, or nothing gets through, tests nothing.
	for state := range verdicts {
		if verdicts[state].Load() == 0 {
			t.Errorf("no change was %s", State(state))
		}
	}
	if unread.Load() == 0 {
		t.Error("no change was unreadable")
	}
	t.Logf("of the changes %d were Tampered, %d Indeterminate, %d unreadable, %d said the same",
		verdicts[Tampered].Load(), verdicts[Indeterminate].Load(), unread.Load(), verdicts[Verified].Load())
}

// The same bytes give the same report, however many look at them and in
// whatever pieces they come.
func TestSameBytesSameReport(t *testing.T) {
	const calls = 520 // more lines than a batch takes
	long := built(t, func(c *chain) {
		c.open()
		for i := range calls {
			c.intent(fmt.Sprint(i))
			if i%10 == 0 {
				c.outcome(fmt.Sprint(i))
			}
			if i%100 == 99 {
				c.open()
			}
		}
	})
	rows := slices.Collect(bytes.Lines(long))
	damaged := func(row int) []byte {
		all := slices.Clone(rows)
		all[row] = bytes.Replace(all[row], []byte(`"line_type"`), []byte(`"line_typo"`), 1)
		return slices.Concat(all...)
	}
	files := map[string][]byte{
		"whole": long, "torn": long[:len(long)-20], "tampered early": damaged(3),
		"tampered at a batch's edge": damaged(batchLines), "tampered late": damaged(len(rows) - 2),
		"two faults": damaged(batchLines + 9)[:len(long)-5],
		"unreadable": slices.Concat(long, []byte("\xff\n")),
	}
	for name, file := range files {
		var want *Report
		var wantErr string
		for i, workers := range []int{1, 2, 8} {
			random := newRandom(uint64(workers))
			for j, in := range []io.Reader{
				bytes.NewReader(file),
				iotest.HalfReader(bytes.NewReader(file)),
				iotest.DataErrReader(&oddReader{file, random}),
			} {
				report, err := Verify(t.Context(), in, VerifyOptions{Workers: workers})
				if i == 0 && j == 0 {
					want, wantErr = report, fmt.Sprint(err)
				} else if !reflect.DeepEqual(report, want) || fmt.Sprint(err) != wantErr {
					t.Errorf("%s, %d workers, reader %d:\n%+v, %v\nwant\n%+v, %s", name, workers, j, report, err, want, wantErr)
				}
			}
		}
	}
}

// oddReader gives its text in pieces of every size from 1 byte to 70 KiB.
type oddReader struct {
	text   []byte
	random *rand.Rand
}

func (r *oddReader) Read(p []byte) (int, error) {
	if len(r.text) == 0 {
		return 0, io.EOF
	}
	n := copy(p, r.text[:min(len(r.text), 1+r.random.IntN(1<<r.random.IntN(17)))])
	r.text = r.text[n:]
	return n, nil
}

// Lists in a report are bounded, counts are not.
func TestReportIsBounded(t *testing.T) {
	const extra = 3
	file := built(t, func(c *chain) {
		c.open()
		for range MaxListed + extra {
			row := fmt.Appendf(nil, `{"call_id":"%d","line_type":"intent","prev_hash":"%s","schema_version":2,"seq":%d,"signature":""}`, c.seq, c.tail, c.seq)
			c.canonicalRow(row)
		}
	})
	report := mustVerify(t, file)
	if report.Verdict != Indeterminate || report.InFlightCount != MaxListed+extra || report.Calls != MaxListed+extra || report.Reason.InFlight != MaxListed+extra {
		t.Errorf("%s; %d calls", report.Headline(), report.Calls)
	}
	if len(report.InFlight) != MaxListed || len(report.Unmatched) != MaxListed || len(report.SignedIntents) != MaxListed {
		t.Errorf("lists of %d, %d, %d entries", len(report.InFlight), len(report.Unmatched), len(report.SignedIntents))
	}
}

// Call ids as long as lines are listed in a bounded form, and paired by it.
func TestListedCallIDsAreBounded(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	file := built(t, func(c *chain) {
		c.open()
		for _, id := range []string{long, long + "y"} {
			c.canonicalRow(fmt.Appendf(nil, `{"call_id":"%s","line_type":"intent","prev_hash":"%s","schema_version":2,"seq":%d}`, id, c.tail, c.seq))
		}
	})
	report := mustVerify(t, file)
	want := []string{BoundedName(long), BoundedName(long + "y")}
	if !slices.Equal(report.InFlight, want) || len(report.Unmatched) != 2 || report.Unmatched[1].CallID != want[1] {
		t.Errorf("%.300q; %d unmatched", report.InFlight, len(report.Unmatched))
	}
}
