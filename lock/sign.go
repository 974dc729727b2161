package lock

import (
	"bytes"
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"fmt"
	"os"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/aegis-aar/aegis/aar"
)

const (
	algorithm = "ed25519"
	// signContext keeps a signature over a lock from being one over anything
	// else that the same key signs: no line of a record begins like this.
	signContext = "aegis-lock-signature-v1\n"
)

// Key signs locks. It is the key of the record, in the same file.
type Key struct {
	private ed25519.PrivateKey
	public  aar.PublicKey
}

// Public is the key's public half.
func (k *Key) Public() aar.PublicKey { return k.public }

// LoadKey reads the key file at path as [aar.LoadSigningKey] does.
func LoadKey(path string) (*Key, error) {
	checked, err := aar.LoadSigningKey(path)
	if err != nil {
		return nil, err
	}
	// The record's key signs lines of a record and nothing else, so its seed is
	// read again from the file that was found to be one.
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("signing key: %w", err)
	}
	seed, err := hex.DecodeString(string(bytes.TrimSpace(text)))
	if err != nil || len(seed) != ed25519.SeedSize {
		return nil, errors.New("signing key: the file has changed while it was read")
	}
	private := ed25519.NewKeyFromSeed(seed)
	k := &Key{private: private, public: aar.PublicKey(private.Public().(ed25519.PublicKey))}
	if k.public != checked.Public() {
		return nil, errors.New("signing key: the file has changed while it was read")
	}
	if k.public == aar.DevKey().Public() {
		return nil, errors.New("signing key: this is the published key of the test vectors, with which anybody can sign")
	}
	return k, nil
}

// Signed are the bytes a signature is over: the line `aegis-lock-signature-v1`,
// a line feed, and the RFC 8785 form of
//
//	{"approved":…,"approved_at":…,"approved_digest":…,"approver":…,
//	 "attestations":[…],"overall_digest":…}
//
// with the members as they stand in the file. What was pinned is signed through
// the overall digest; findings, versions and the time of the pin are not.
func (l *Lock) Signed() []byte {
	var o object
	l.Pin.appendApproval(&o)
	o.name("attestations")
	o.dst = list(o.dst, l.Pin.Attestations, appendAttestation)
	o.text("overall_digest", l.OverallDigest)
	v := jsontext.Value(o.end())
	if err := canonicalize(&v); err != nil {
		panic("lock: what was written is not JSON: " + err.Error())
	}
	return append([]byte(signContext), v...)
}

// Sign signs the lock as it is. Approvals and rotations come first.
func (l *Lock) Sign(k *Key) {
	l.Signature = &Signature{
		KeyID:     k.public.ID(),
		PublicKey: k.public,
		Value:     aar.Signature(ed25519.Sign(k.private, l.Signed())),
	}
}

var (
	errUnsigned     = errors.New("the lock is not signed")
	errOtherKey     = errors.New("the lock is signed by another key")
	errBadSignature = errors.New("the signature is not of this lock")
)

// VerifySignature reports nil if the lock is signed with the key that public is
// the public half of.
func (l *Lock) VerifySignature(public aar.PublicKey) error {
	switch {
	case l.Signature == nil:
		return errUnsigned
	case l.Signature.PublicKey != public:
		return errOtherKey
	}
	return l.checkSignature()
}

// checkSignature holds a signature to the key it names itself: that says that
// the lock is unchanged, not who signed it.
func (l *Lock) checkSignature() error {
	s := l.Signature
	if s.KeyID != s.PublicKey.ID() || !ed25519.Verify(s.PublicKey[:], l.Signed(), s.Value[:]) {
		return errBadSignature
	}
	return nil
}
