package aar

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha512"
	"fmt"
	"slices"
	"strings"
	"testing"

	"filippo.io/edwards25519"
)

// torsion returns the eight points whose order divides 8, as i times a point
// of order 8.
func torsion(t *testing.T) (points [8]*edwards25519.Point) {
	t.Helper()
	generator, p := torsionGenerator(), edwards25519.NewIdentityPoint()
	for i := range points {
		points[i] = new(edwards25519.Point).Set(p)
		p.Add(p, generator)
	}
	if p.Equal(edwards25519.NewIdentityPoint()) == 0 {
		t.Fatal("eight times the generator is not the identity")
	}
	return points
}

func TestTorsionGeneratorHasOrder8(t *testing.T) {
	identity := edwards25519.NewIdentityPoint()
	for i, p := range torsion(t) {
		if (p.Equal(identity) == 1) != (i == 0) {
			t.Errorf("%d times the generator: identity %v", i, i != 0)
		}
		if !smallOrderEncodings()[[32]byte(p.Bytes())] {
			t.Errorf("%d times the generator is not in the table", i)
		}
	}
	if len(smallOrderEncodings()) != 8 {
		t.Errorf("the table has %d entries", len(smallOrderEncodings()))
	}
	// The points of order 1, 2 and 4 are known by heart: y is 1, -1 and 0.
	for _, known := range []string{"01" + zeros(31), "ec" + strings.Repeat("ff", 30) + "7f", zeros(32), zeros(31) + "80"} {
		if !smallOrderEncodings()[parse32(t, known)] {
			t.Errorf("%s is not in the table", known)
		}
	}
}

func zeros(n int) string { return strings.Repeat("00", n) }

func parse32(t *testing.T, s string) (b [32]byte) {
	t.Helper()
	if err := ParseHex(b[:], s); err != nil {
		t.Fatal(err)
	}
	return b
}

// smallOrderSpellings is every encoding that a lenient decoder reads as one of
// the eight points: canonical, with y not reduced, with a sign where x is 0.
func smallOrderSpellings(t *testing.T) [][32]byte {
	var all [][32]byte
	for _, p := range torsion(t) {
		all = append(all, [32]byte(p.Bytes()))
	}
	ff := strings.Repeat("ff", 30)
	for _, s := range []string{
		"01" + zeros(30) + "80", // y = 1, x = 0 with a sign
		"ec" + ff + "ff",        // y = -1, x = 0 with a sign
		"ed" + ff + "7f",        // y = p, which is 0
		"ed" + ff + "ff",
		"ee" + ff + "7f", // y = p+1, which is 1
		"ee" + ff + "ff",
	} {
		all = append(all, parse32(t, s))
	}
	return all
}

// A key under which one signature fits many messages proves nothing.
func TestKeysThatAreNoKeys(t *testing.T) {
	for _, k := range smallOrderSpellings(t) {
		if err := newVerifier(k).err; err != errNotAKey {
			t.Errorf("small order %x: %v", k, err)
		}
	}
	// y from p to 2^255-1 has a second, reduced spelling, so one key would have two key ids.
	onCurve := 0
	for y := byte(0xed); y != 0; y++ {
		for _, sign := range []byte{0x7f, 0xff} {
			k := PublicKey(bytes.Repeat([]byte{0xff}, 32))
			k[0], k[31] = y, sign
			if _, err := new(edwards25519.Point).SetBytes(k[:]); err == nil {
				onCurve++
			}
			if err := newVerifier(k).err; err != errNotAKey {
				t.Errorf("not reduced %x: %v", k, err)
			}
		}
	}
	if onCurve < 10 {
		t.Errorf("only %d of those spellings decode at all: this tests nothing", onCurve)
	}
	notOnCurve := PublicKey{2} // y = 2 has no x
	if err := newVerifier(notOnCurve).err; err != errNotAKey {
		t.Errorf("not on the curve: %v", err)
	}
	if err := newVerifier(testKey(1).public).err; err != nil {
		t.Errorf("an honest key: %v", err)
	}
}

// forge makes signatures that an honest signer cannot: with the secret scalar
// of base, the key A = aB + keyTorsion and the commitment R = rB + torsion.
type forge struct {
	a, r *edwards25519.Scalar
	A, R *edwards25519.Point
}

func newForge(t *testing.T, keyTorsion, rTorsion *edwards25519.Point, honestR bool) forge {
	t.Helper()
	scalar := func(label string) *edwards25519.Scalar {
		h := sha512.Sum512([]byte(label))
		s, err := edwards25519.NewScalar().SetUniformBytes(h[:])
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	f := forge{a: scalar("a"), r: edwards25519.NewScalar()}
	if honestR {
		f.r = scalar("r")
	}
	f.A = new(edwards25519.Point).ScalarBaseMult(f.a)
	f.A.Add(f.A, keyTorsion)
	f.R = new(edwards25519.Point).ScalarBaseMult(f.r)
	f.R.Add(f.R, rTorsion)
	return f
}

// sign gives S = r + ka; the signature holds without the cofactor when the
// torsion parts of R and -kA are equal, which depends on the message.
func (f forge) sign(t *testing.T, message []byte) (signature Signature) {
	t.Helper()
	h := sha512.New()
	h.Write(f.R.Bytes())
	h.Write(f.A.Bytes())
	h.Write(message)
	k, err := edwards25519.NewScalar().SetUniformBytes(h.Sum(nil))
	if err != nil {
		t.Fatal(err)
	}
	copy(signature[:], f.R.Bytes())
	copy(signature[32:], edwards25519.NewScalar().MultiplyAdd(k, f.a, f.r).Bytes())
	return signature
}

// grind looks for a message that crypto/ed25519 accepts f's signature of.
func (f forge) grind(t *testing.T) (message []byte, signature Signature, found bool) {
	t.Helper()
	for i := range 200 {
		message = fmt.Appendf(nil, "message %d", i)
		signature = f.sign(t, message)
		if ed25519.Verify(f.A.Bytes(), message, signature[:]) {
			return message, signature, true
		}
	}
	return nil, Signature{}, false
}

// The cases on which ed25519 verifiers are known to disagree (Chalkias,
// Garillot, Nikolaenko: "Taming the many EdDSAs"), each with its strict verdict.
func TestStrictSignatures(t *testing.T) {
	points := torsion(t)
	identity, order8 := points[0], points[1]
	check := func(name string, f forge, message []byte, s Signature, want error) {
		t.Helper()
		if got := newVerifier(PublicKey(f.A.Bytes())).verify(message, &s); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}

	honest := newForge(t, identity, identity, true)
	message, s, found := honest.grind(t)
	if !found {
		t.Fatal("the forge cannot sign honestly")
	}
	check("an honest signature", honest, message, s, nil)

	// R of small order: crypto/ed25519 accepts it, for the right message.
	for i, R := range points {
		f := newForge(t, order8, R, false)
		message, s, found := f.grind(t)
		if !found {
			t.Fatalf("R = %d times the torsion generator: no message found", i)
		}
		check(fmt.Sprintf("R = %d times the torsion generator", i), f, message, s, errBadSignature)
	}

	// A and R with a torsion part are lawful, if they fit without the cofactor.
	mixed := newForge(t, order8, order8, true)
	message, s, found = mixed.grind(t)
	if !found {
		t.Fatal("no message found")
	}
	check("A and R of mixed order that fit", mixed, message, s, nil)

	// One that fits only when multiplied by the cofactor: batch verifiers accept it.
	cofactored := newForge(t, identity, order8, true)
	message = []byte("any")
	check("fits only with the cofactor", cofactored, message, cofactored.sign(t, message), errBadSignature)

	// A of small order: one signature for every message.
	for i := range points {
		f := newForge(t, identity, identity, true)
		f.A, f.a = points[i], edwards25519.NewScalar()
		check(fmt.Sprintf("A = %d times the torsion generator", i), f, message, f.sign(t, message), errNotAKey)
	}

	// S + L is S again: a second spelling of one signature.
	message, s, _ = honest.grind(t)
	check("S + L", honest, message, addL(s), errBadSignature)
	high := s
	high[63] |= 0xe0
	check("S with its high bits set", honest, message, high, errBadSignature)

	// R that is not reduced: 1 spelt as p+1. The message hashes R as it stands.
	for _, R := range smallOrderSpellings(t)[8:] {
		bad := s
		copy(bad[:32], R[:])
		check(fmt.Sprintf("R = %x", R), honest, message, bad, errBadSignature)
	}
}

// addL adds the group order to the S of a signature.
func addL(s Signature) Signature {
	order := [32]byte{
		0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14,
		31: 0x10,
	}
	carry := 0
	for i := range 32 {
		sum := int(s[32+i]) + int(order[i]) + carry
		s[32+i], carry = byte(sum), sum>>8
	}
	return s
}

// In a file: a second spelling of the last signature, which nothing behind it
// would miss, is Tampered.
func TestMalleatedSignatureInAFile(t *testing.T) {
	file := built(t, func(c *chain) { c.open(); c.close() })
	rows := slices.Collect(bytes.Lines(file))
	line, err := ParseLine(rows[1])
	if err != nil {
		t.Fatal(err)
	}
	signature := *line.(*Close).Signature
	other := addL(signature)
	changed := bytes.Replace(file, fmt.Appendf(nil, "%x", signature), fmt.Appendf(nil, "%x", other), 1)
	if bytes.Equal(changed, file) {
		t.Fatal("nothing was changed")
	}
	if got := mustVerify(t, changed).Headline(); got != "Tampered: line at session 0 seq 1: signature does not match this line" {
		t.Error(got)
	}
}
