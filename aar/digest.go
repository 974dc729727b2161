package aar

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// The digest-valued fields of a Line are types of their own, so that hashing
// the Policy Set into prev_hash does not compile (specification, section 2).
// Each is a SHA-256 value; its one spelling is 64 lowercase hex characters.
type (
	// LineHash is the hash of one whole Line, its signature included: the
	// value of prev_hash and prev_session_tail (section 4).
	LineHash [sha256.Size]byte
	// PolicySetHash names the Policy Set that governed a Call (section 6).
	PolicySetHash [sha256.Size]byte
	// RequestDigest is taken over the verbatim request bytes of a Call (section 9).
	RequestDigest [sha256.Size]byte
	// ResponseDigest is taken over the verbatim response bytes of a Call.
	ResponseDigest [sha256.Size]byte
	// SurfaceDigest names the lock that was in force for a Call.
	SurfaceDigest [sha256.Size]byte
	// KeyID is the SHA-256 fingerprint of the 32 bytes of a [PublicKey].
	KeyID [sha256.Size]byte
)

// Genesis is the prev_hash of every open Line: 64 zeros.
var Genesis LineHash

// DigestRequest digests the bytes of one request exactly as they arrived.
func DigestRequest(verbatim []byte) RequestDigest { return sha256.Sum256(verbatim) }

// DigestResponse digests the bytes of one response exactly as they were produced.
func DigestResponse(verbatim []byte) ResponseDigest { return sha256.Sum256(verbatim) }

// HashPolicySet hashes the canonical bytes of a Policy Set's projection.
func HashPolicySet(canonical []byte) PolicySetHash { return sha256.Sum256(canonical) }

// PassThrough is the policy_set_hash of a Call that no Policy Set governed.
var PassThrough = HashPolicySet([]byte("aegis-wrap-passthrough-v0"))

func (d LineHash) String() string       { return hex.EncodeToString(d[:]) }
func (d PolicySetHash) String() string  { return hex.EncodeToString(d[:]) }
func (d RequestDigest) String() string  { return hex.EncodeToString(d[:]) }
func (d ResponseDigest) String() string { return hex.EncodeToString(d[:]) }
func (d SurfaceDigest) String() string  { return hex.EncodeToString(d[:]) }
func (d KeyID) String() string          { return hex.EncodeToString(d[:]) }

// ParseHex reads lowercase hex of exactly len(dst) bytes into dst. Uppercase is
// refused, not normalised: one digest has exactly one spelling. The error says
// what was found in the specification's words.
func ParseHex(dst []byte, s string) error {
	if len(s) != 2*len(dst) {
		return fmt.Errorf("expected %d hex characters, got %d", 2*len(dst), len(s))
	}
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return fmt.Errorf("not a lowercase hex character at position %d", i)
		}
	}
	_, err := hex.Decode(dst, []byte(s))
	return err
}

// AppendText implements [encoding.TextAppender]: lowercase hex.
func (d LineHash) AppendText(b []byte) ([]byte, error)       { return hex.AppendEncode(b, d[:]), nil }
func (d PolicySetHash) AppendText(b []byte) ([]byte, error)  { return hex.AppendEncode(b, d[:]), nil }
func (d RequestDigest) AppendText(b []byte) ([]byte, error)  { return hex.AppendEncode(b, d[:]), nil }
func (d ResponseDigest) AppendText(b []byte) ([]byte, error) { return hex.AppendEncode(b, d[:]), nil }
func (d SurfaceDigest) AppendText(b []byte) ([]byte, error)  { return hex.AppendEncode(b, d[:]), nil }
func (d KeyID) AppendText(b []byte) ([]byte, error)          { return hex.AppendEncode(b, d[:]), nil }
func (k PublicKey) AppendText(b []byte) ([]byte, error)      { return hex.AppendEncode(b, k[:]), nil }
func (s Signature) AppendText(b []byte) ([]byte, error)      { return hex.AppendEncode(b, s[:]), nil }

// MarshalText implements [encoding.TextMarshaler]: lowercase hex.
func (d LineHash) MarshalText() ([]byte, error)       { return d.AppendText(nil) }
func (d PolicySetHash) MarshalText() ([]byte, error)  { return d.AppendText(nil) }
func (d RequestDigest) MarshalText() ([]byte, error)  { return d.AppendText(nil) }
func (d ResponseDigest) MarshalText() ([]byte, error) { return d.AppendText(nil) }
func (d SurfaceDigest) MarshalText() ([]byte, error)  { return d.AppendText(nil) }
func (d KeyID) MarshalText() ([]byte, error)          { return d.AppendText(nil) }
func (k PublicKey) MarshalText() ([]byte, error)      { return k.AppendText(nil) }
func (s Signature) MarshalText() ([]byte, error)      { return s.AppendText(nil) }

// UnmarshalText implements [encoding.TextUnmarshaler], as strict as [ParseHex].
func (d *LineHash) UnmarshalText(t []byte) error       { return ParseHex(d[:], string(t)) }
func (d *PolicySetHash) UnmarshalText(t []byte) error  { return ParseHex(d[:], string(t)) }
func (d *RequestDigest) UnmarshalText(t []byte) error  { return ParseHex(d[:], string(t)) }
func (d *ResponseDigest) UnmarshalText(t []byte) error { return ParseHex(d[:], string(t)) }
func (d *SurfaceDigest) UnmarshalText(t []byte) error  { return ParseHex(d[:], string(t)) }
func (d *KeyID) UnmarshalText(t []byte) error          { return ParseHex(d[:], string(t)) }
func (k *PublicKey) UnmarshalText(t []byte) error      { return ParseHex(k[:], string(t)) }
func (s *Signature) UnmarshalText(t []byte) error      { return ParseHex(s[:], string(t)) }
