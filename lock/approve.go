package lock

import (
	"errors"
	"fmt"
	"time"
	"unicode/utf8"
)

// maxNote bounds the note of an attestation, in characters.
const maxNote = 1000

// Approve has approver approve the surface as it is pinned. A signature made
// before is of other bytes and is dropped.
func (l *Lock) Approve(approver string, now time.Time) error {
	if approver == "" || !utf8.ValidString(approver) {
		return errors.New("an approval needs the approver's name")
	}
	at, digest := stamp(now), l.OverallDigest
	l.Pin.Approved, l.Pin.Approver, l.Pin.ApprovedAt, l.Pin.ApprovedDigest = true, &approver, &at, &digest
	l.attest(approver, "approver", at, nil)
	return nil
}

func (l *Lock) attest(actor, role, at string, note *string) {
	l.Pin.Attestations = append(l.Pin.Attestations, Attestation{
		Actor: actor, Role: role, Method: "manual", CreatedAt: at, BoundDigest: l.OverallDigest, Note: note,
	})
	l.Signature = nil
}

// Rotation is what [Lock.Rotate] adds.
type Rotation struct {
	Approver string // approves anew; may be empty
	Actor    string // attests without an approval; used without an Approver
	Note     string // public; at most 1000 characters
	Version  string // of this program
	Now      time.Time
}

// Rotate attests the pinned surface once more. Nothing that is pinned changes,
// nor does OverallDigest. A signature is dropped.
func (l *Lock) Rotate(r Rotation) error {
	if n := utf8.RuneCountInString(r.Note); n > maxNote {
		return fmt.Errorf("the note has %d characters, more than %d", n, maxNote)
	}
	var note *string
	if r.Note != "" {
		note = &r.Note
	}
	at := stamp(r.Now)
	switch {
	case r.Approver != "":
		if err := l.Approve(r.Approver, r.Now); err != nil {
			return err
		}
		l.Pin.Attestations[len(l.Pin.Attestations)-1].Note = note
	case r.Actor != "":
		l.attest(r.Actor, "pinner", at, note)
	default:
		return errors.New("a rotation needs an approver or an actor")
	}
	l.Pin.RotatedAt = &at
	l.Pin.RotationCount++
	l.Pin.Pinner = &Pinner{Tool: "aegis", ToolVersion: r.Version}
	return nil
}
