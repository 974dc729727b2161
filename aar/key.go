package aar

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"

	"filippo.io/edwards25519"
)

// Signature is an ed25519 signature (RFC 8032): 128 lowercase hex characters
// on the wire.
type Signature [ed25519.SignatureSize]byte

// PublicKey is an ed25519 public key: 64 lowercase hex characters on the wire.
type PublicKey [ed25519.PublicKeySize]byte

func (k PublicKey) String() string { return hex.EncodeToString(k[:]) }

// ID is the key's fingerprint, the SHA-256 of its 32 bytes.
func (k PublicKey) ID() KeyID { return sha256.Sum256(k[:]) }

// ParsePublicKey reads a public key from its wire form.
func ParsePublicKey(s string) (PublicKey, error) {
	var k PublicKey
	err := ParseHex(k[:], s)
	return k, err
}

// SigningKey is an ed25519 private key with what is derived from it.
type SigningKey struct {
	private ed25519.PrivateKey
	public  PublicKey
	id      KeyID
	dev     bool
}

// devSeed is published with the format's test vectors: a Line signed with it
// proves that some build wrote it, never which.
const devSeed = "aegis-insecure-dev-key-not-real!"

// DevKey is the compiled-in key of the test vectors. It may only sign a
// [Volatile] sink: a retained record is one that somebody will pin.
func DevKey() *SigningKey {
	k := newSigningKey([]byte(devSeed))
	k.dev = true
	return k
}

// NewSigningKey derives a key from its 32-byte seed. A seed that is the
// compiled-in one gives the [DevKey].
func NewSigningKey(seed [ed25519.SeedSize]byte) *SigningKey {
	if string(seed[:]) == devSeed {
		return DevKey()
	}
	return newSigningKey(seed[:])
}

func newSigningKey(seed []byte) *SigningKey {
	k := &SigningKey{private: ed25519.NewKeyFromSeed(seed)}
	k.public = PublicKey(k.private.Public().(ed25519.PublicKey))
	k.id = k.public.ID()
	return k
}

// Public is the key's public half.
func (k *SigningKey) Public() PublicKey { return k.public }

// ID is the fingerprint of the public half.
func (k *SigningKey) ID() KeyID { return k.id }

func (k *SigningKey) sign(message []byte) *Signature {
	s := Signature(ed25519.Sign(k.private, message))
	return &s
}

// verifier checks signatures of one public key under the strict rule of the
// specification, section 8.4: one signature has one verdict everywhere.
type verifier struct {
	public PublicKey
	id     string // the key_id its signatures name
	err    error  // the key is not usable; every signature under it fails with this
}

var errNotAKey = errors.New("not a valid ed25519 public key")

func newVerifier(k PublicKey) *verifier {
	v := &verifier{public: k, id: k.ID().String()}
	point, err := new(edwards25519.Point).SetBytes(k[:])
	if err != nil || !bytes.Equal(point.Bytes(), k[:]) || smallOrder(point) {
		v.err = errNotAKey
	}
	return v
}

var errBadSignature = errors.New("signature does not match this line")

// verify reports nil for a signature that holds under the strict rule:
// crypto/ed25519 already refuses an S that is not reduced and, since it
// compares encodings, an R that is not canonical; what is left is an R of
// small order, which it accepts.
func (v *verifier) verify(message []byte, s *Signature) error {
	if v.err != nil {
		return v.err
	}
	if smallOrderEncodings()[[32]byte(s[:32])] || !ed25519.Verify(v.public[:], message, s[:]) {
		return errBadSignature
	}
	return nil
}

func smallOrder(p *edwards25519.Point) bool {
	return new(edwards25519.Point).MultByCofactor(p).Equal(edwards25519.NewIdentityPoint()) == 1
}

// smallOrderEncodings holds the canonical encodings of the eight points whose
// order divides 8: the multiples of a generator of the torsion subgroup.
var smallOrderEncodings = sync.OnceValue(func() map[[32]byte]bool {
	encodings := map[[32]byte]bool{}
	generator, p := torsionGenerator(), edwards25519.NewIdentityPoint()
	for range 8 {
		encodings[[32]byte(p.Bytes())] = true
		p.Add(p, generator)
	}
	return encodings
})

// torsionGenerator finds a point of order 8: a curve point times the order of
// the prime subgroup has only its torsion part left.
func torsionGenerator() *edwards25519.Point {
	// The order of the prime subgroup less one, as a scalar: l-1 = -1 mod l.
	minusOne := new(edwards25519.Scalar).Negate(one())
	for y := byte(2); ; y++ {
		p, err := new(edwards25519.Point).SetBytes(append([]byte{y}, make([]byte, 31)...))
		if err != nil {
			continue
		}
		torsion := new(edwards25519.Point).ScalarMult(minusOne, p)
		torsion.Add(torsion, p)
		four := new(edwards25519.Point).Add(torsion, torsion)
		four.Add(four, four)
		if four.Equal(edwards25519.NewIdentityPoint()) == 0 {
			return torsion
		}
	}
}

func one() *edwards25519.Scalar {
	s, err := new(edwards25519.Scalar).SetCanonicalBytes(append([]byte{1}, make([]byte, 31)...))
	if err != nil {
		panic(fmt.Sprintf("the scalar 1 is not canonical: %v", err))
	}
	return s
}
