package lock

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/aegis-aar/aegis/aar"
)

// wholeLock is a lock with something in every member.
func wholeLock(t testing.TB, level int) *Lock {
	t.Helper()
	s := richSurface(rich)
	s.Tools = append(s.Tools, jsontext.Value(toolA))
	s.Resources = []jsontext.Value{jsontext.Value(`{"uri":"x:1","name":"one","mimeType":"text/plain"}`), jsontext.Value(`{"uri":"x:0"}`)}
	s.Prompts = []jsontext.Value{jsontext.Value(`{"name":"p","arguments":[{"name":"x"}]}`)}
	charset, yes, no := "extended", true, false
	l, err := New(s, PinOptions{Schema: level, Version: "1.0.0", Now: noon, Approver: "alice", Keep: &Lock{Tools: []Tool{
		{Name: "a", Inspection: &Inspection{Charset: &charset, MayReturnURLs: &yes, SecretEchoApplies: &no}},
		{Name: "gone", Inspection: &Inspection{MayReturnURLs: &yes}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Rotate(Rotation{Actor: "ci", Note: "nightly", Version: "1.0.1", Now: noon}); err != nil {
		t.Fatal(err)
	}
	l.Sign(testKey(t, 1))
	return l
}

func testKey(t testing.TB, n byte) *Key {
	t.Helper()
	path := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(path, []byte(strings.Repeat("0"+string('0'+n), 32)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	k, err := LoadKey(path)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// What is written reads back as it was, and is written again as the same bytes.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	for _, level := range []int{Level3, Level4} {
		l := wholeLock(t, level)
		text := l.Bytes()
		back, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(back.Bytes(), text) {
			t.Errorf("schema %d: written again it is\n%s\nnot\n%s", level, back.Bytes(), text)
		}
		if !reflect.DeepEqual(back.Tools, l.Tools) {
			t.Errorf("schema %d: the tools have changed", level)
		}
		if d := Compare(l, back); len(d) > 0 {
			t.Error(d)
		}
		if !bytes.HasSuffix(text, []byte("\n}\n")) || bytes.Contains(text, []byte("\t")) || !bytes.HasPrefix(text, []byte("{\n  \"schema_version\": ")) {
			t.Errorf("formatted as %q…", text[:40])
		}
	}
}

// Every edit that keeps a lock a lock is refused, and for its reason.
func TestTampered(t *testing.T) {
	t.Parallel()
	whole := string(wholeLock(t, Level4).Bytes())
	other := wholeLock(t, Level4)
	other.Sign(testKey(t, 2))
	hash := sumOf([]byte("x"))
	between := func(a, b string) string { // the member a up to b
		i := strings.Index(whole, a)
		return whole[i : i+strings.Index(whole[i:], b)]
	}
	for name, c := range map[string]struct {
		was, is string
		fault   Fault
		path    string
	}{
		"an edited hash":           {between(`"description_hash": "`, `",`), `"description_hash": "` + hash, Tampered, "tools[0]"},
		"an edited entry digest":   {between(`"entry_digest": "`, `"`+"\n"), `"entry_digest": "` + hash, Tampered, "tools[0]"},
		"an edited name":           {`"name": "write_file"`, `"name": "write_fill"`, Tampered, "tools[1]"},
		"an edited capability":     {`"fs-write"`, `"fs-read"`, Tampered, "tools[1]"},
		"an edited skeleton":       {`"required": true`, `"required": false`, Tampered, "tools[1]"},
		"an edited inspection":     {`"secret_echo_applies": false`, `"secret_echo_applies": true`, Tampered, "tools[0]"},
		"an added inspection":      {`"fs-write"` + "\n      ],", `"fs-write"` + "\n      ],\n" + `"inspection": {"expected_output_charset": "binary-ok"},`, Tampered, "tools[1]"},
		"an edited resource":       {`"mime_type": "text/plain"`, `"mime_type": null`, Tampered, "resources[1]"},
		"an edited prompt":         {`"name": "p"`, `"name": "P"`, Tampered, "prompts[0]"},
		"an edited command":        {`"--stdio"`, `"--studio"`, Tampered, "server"},
		"edited instructions":      {between(`"instructions_hash": "`, `",`), `"instructions_hash": "` + hash, Tampered, "overall_digest"},
		"an edited digest":         {between(`"overall_digest": "`, `",`), `"overall_digest": "` + hash, Tampered, "overall_digest"},
		"a stale approval":         {between(`"approved_digest": "`, `",`), `"approved_digest": "` + hash, StaleApproval, "pin.approved_digest"},
		"half an approval":         {`"approved": true`, `"approved": false`, Tampered, "pin"},
		"an approver of no name":   {`"approver": "alice"`, `"approver": ""`, NotLock, "pin.approver"},
		"an approver that is none": {`"approver": "alice"`, `"approver": null`, NotLock, "pin.approver"},
		"an approval at no time":   {`"approved_at": "2`, `"approved_at": "x`, NotLock, "pin.approved_at"},
		"another approver":         {`"approver": "alice"`, `"approver": "mallory"`, WrongSignature, "signature"},
		"an edited attestation":    {`"note": "nightly"`, `"note": "daily"`, WrongSignature, "signature"},
		"another's signature":      {between(`"value": "`, `"`+"\n"), `"value": "` + hexOf(other.Signature.Value), WrongSignature, "signature"},
		"another key":              {between(`"public_key": "`, `",`), `"public_key": "` + other.Signature.PublicKey.String(), WrongSignature, "signature"},
		"a member twice":           {`"approved": true`, `"approved": true, "approved": true`, NotLock, ""},
		"a member twice, escaped":  {`"approved": true`, `"approved": true, "\u0061pproved": true`, NotLock, ""},
		"an unknown member":        {`"approved": true`, `"approved": true, "Approved": true`, NotLock, "pin.Approved"},
		"an unknown top member":    {`"tools": [`, `"x": 1, "tools": [`, NotLock, "x"},
		"a missing member":         {`"findings"`, `"finding"`, NotLock, "findings"},
		"a wrong type":             {`"approved": true`, `"approved": "yes"`, NotLock, "pin.approved"},
		"a hash of another form":   {between(`"overall_digest": "`, `",`), `"overall_digest": "sha256:AB`, NotLock, "overall_digest"},
		"schema 5":                 {`"schema_version": 4`, `"schema_version": 5`, OtherSchema, "schema_version"},
		"schema 3 of schema 4":     {`"schema_version": 4`, `"schema_version": 3`, NotLock, "instructions_hash"},
		"text behind it":           {"\n}\n", "\n}\n{}", NotLock, ""},
		"cut short":                {"\n}\n", "\n", NotLock, ""},
		"a surrogate alone":        {`"alice"`, `"\ud800"`, NotLock, ""},
		"bytes that are not UTF-8": {`"alice"`, "\"\xff\"", NotLock, ""},
		"a severity that is none":  {`"severity": "high"`, `"severity": "none"`, NotLock, "findings[0].severity"},
		"a time that is none":      {between(`"created_at": "`, `",`), `"created_at": "now`, NotLock, "pin.created_at"},
		"another algorithm":        {`"algorithm": "ed25519"`, `"algorithm": "none"`, OtherSchema, "signature.algorithm"},
	} {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(whole, c.was) {
				t.Fatalf("there is no %s", c.was)
			}
			_, err := Parse([]byte(strings.Replace(whole, c.was, c.is, 1)))
			e, ok := errors.AsType[*Error](err)
			if !ok || e.Fault != c.fault || e.Path != c.path {
				t.Errorf("%#v, not fault %d at %s", err, c.fault, c.path)
			}
		})
	}
}

func hexOf(s aar.Signature) string {
	text, _ := s.MarshalText()
	return string(text)
}

// Entries in another order or twice are refused even where the digest follows.
func TestEntriesInOrder(t *testing.T) {
	t.Parallel()
	l := pin(t, surfaceOf(toolA, toolB), Level4)
	for name, tools := range map[string][]Tool{"reversed": {l.Tools[1], l.Tools[0]}, "twice": {l.Tools[0], l.Tools[0]}} {
		forged := *l
		forged.Tools = tools
		forged.OverallDigest = forged.digest()
		_, err := Parse(forged.Bytes())
		if e, ok := errors.AsType[*Error](err); !ok || e.Fault != Tampered || e.Path != "tools[1]" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSignature(t *testing.T) {
	t.Parallel()
	l := wholeLock(t, Level4)
	one, two := testKey(t, 1), testKey(t, 2)
	if err := l.VerifySignature(one.Public()); err != nil {
		t.Error(err)
	}
	if err := l.VerifySignature(two.Public()); !errors.Is(err, errOtherKey) {
		t.Error(err)
	}
	// What is signed is what the documentation says.
	want := "aegis-lock-signature-v1\n" + `{"approved":true,"approved_at":"2026-06-06T12:00:00Z","approved_digest":"` + l.OverallDigest +
		`","approver":"alice","attestations":[{"actor":"alice",`
	if !strings.HasPrefix(string(l.Signed()), want) || !strings.HasSuffix(string(l.Signed()), `],"overall_digest":"`+l.OverallDigest+`"}`) {
		t.Errorf("signed is %s", l.Signed())
	}
	// An approval or a rotation after it drops the signature.
	if err := l.Rotate(Rotation{Approver: "bob", Now: noon}); err != nil {
		t.Fatal(err)
	}
	if err := l.VerifySignature(one.Public()); !errors.Is(err, errUnsigned) {
		t.Error(err)
	}
	if _, err := LoadKey(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("no key was loaded")
	}
	dev := filepath.Join(t.TempDir(), "dev")
	seed := strings.Builder{}
	for _, c := range []byte("aegis-insecure-dev-key-not-real!") {
		seed.WriteString(string("0123456789abcdef"[c>>4]) + string("0123456789abcdef"[c&15]))
	}
	if err := os.WriteFile(dev, []byte(seed.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadKey(dev); err == nil || !strings.Contains(err.Error(), "published key") {
		t.Errorf("the published key was loaded: %v", err)
	}
}

func TestRotate(t *testing.T) {
	t.Parallel()
	l := pin(t, surfaceOf(toolA), Level4)
	before := l.OverallDigest
	for _, bad := range []Rotation{{}, {Actor: "x", Note: strings.Repeat("é", 1001)}} {
		if l.Rotate(bad) == nil {
			t.Errorf("rotated by %v", bad)
		}
	}
	if err := l.Rotate(Rotation{Approver: "alice", Note: "seen", Now: noon, Version: "2"}); err != nil {
		t.Fatal(err)
	}
	if err := l.Rotate(Rotation{Approver: "bob", Now: noon, Version: "2"}); err != nil {
		t.Fatal(err)
	}
	if l.OverallDigest != before || l.digest() != before || l.Pin.RotationCount != 2 || len(l.Pin.Attestations) != 2 || *l.Pin.Approver != "bob" {
		t.Errorf("%+v", l.Pin)
	}
	if a := l.Pin.Attestations[0]; a.Actor != "alice" || *a.Note != "seen" || a.BoundDigest != before {
		t.Errorf("%+v", a)
	}
	if _, err := Parse(l.Bytes()); err != nil {
		t.Error(err)
	}
}

// A declaration is kept by name; one that is added to a file counts from the
// next pin on.
func TestInspectionIsKept(t *testing.T) {
	t.Parallel()
	s := surfaceOf(toolA)
	plain := pin(t, s, Level4)
	edited := strings.Replace(string(plain.Bytes()), `"capabilities": [],`, `"capabilities": [], "inspection": {"expected_output_charset": "binary-ok"},`, 1)
	if _, err := Parse([]byte(edited)); err == nil {
		t.Error("an edited lock is read")
	}
	draft, err := ParseDraft([]byte(edited))
	if err != nil || !draft.Edited("a") {
		t.Fatalf("%v", err)
	}
	again, err := New(s, PinOptions{Schema: Level4, Now: noon, Keep: draft})
	if err != nil {
		t.Fatal(err)
	}
	if d := Compare(plain, again); len(d) != 1 || d[0].Class != "inspection-policy-modified" {
		t.Error(d)
	}
	if got := again.Tools[0].Inspection.String(); got != "expected_output_charset=binary-ok" {
		t.Error(got)
	}
	// An unknown charset is the safest, and told.
	draft, err = ParseDraft([]byte(strings.Replace(edited, "binary-ok", "anything", 1)))
	if err != nil || len(draft.Misdeclared()) != 1 || draft.Tools[0].Inspection.Declaration().Charset != 0 {
		t.Errorf("%v", err)
	}
}

func TestUnreadableLocks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := Read(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if _, err := Read(dir); err == nil {
		t.Error("a directory was read")
	}
	deep := filepath.Join(dir, "deep")
	if err := os.WriteFile(deep, bytes.Repeat([]byte("["), 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(deep); err == nil || !strings.Contains(err.Error(), "128 deep") {
		t.Error(err)
	}
}

func TestTexts(t *testing.T) {
	t.Parallel()
	s := richSurface(rich)
	l := pin(t, s, Level4)
	path := filepath.Join(t.TempDir(), "texts")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	whole := string(TextsOf(l, s).Bytes())
	write(whole)
	texts, err := ReadTexts(path, l)
	if err != nil {
		t.Fatal(err)
	}
	d, err := Differences(texts.Get("tools/write_file"), jsontext.Value(strings.Replace(rich, "Writes a file", "Writes  a file", 1)))
	if err != nil || len(d) != 1 || d[0].Pointer != "/description" {
		t.Errorf("%v %v", d, err)
	}
	if string(texts.Get("server/instructions")) != instructions {
		t.Error(texts.Get("server/instructions"))
	}
	// Texts that are not what was pinned would show the approver a lie.
	for _, edit := range [][2]string{{"Writes a file", "Writes a fils"}, {"with care", "with car"}, {"sha256:", "sha256:0"}, {"tools/write_file", "tools/other"}} {
		write(strings.Replace(whole, edit[0], edit[1], 1))
		if _, err := ReadTexts(path, l); err == nil {
			t.Errorf("texts with %s are taken", edit[1])
		}
	}
	write(whole)
	if _, err := ReadTexts(path, pin(t, surfaceOf(toolA), Level4)); err == nil {
		t.Error("texts of another lock are taken")
	}
}
