package derive

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/aegis-aar/aegis/aar"
	"github.com/aegis-aar/aegis/derive/sql"
	"github.com/aegis-aar/aegis/internal/address"
	"github.com/aegis-aar/aegis/internal/secret"
	"github.com/aegis-aar/aegis/internal/shape"
)

// Bounds of what one call leaves in a record.
const (
	maxRecorded     = 64   // entries, without the one that stands for the rest; words; kinds
	maxRecordedText = 4096 // bytes of a path, a host or a pointer, or of all words of a command
)

// kindUnknown stands in a record for a statement that was not understood.
const kindUnknown = sql.Unknown

// Recorded is what the record holds of the parameters: `decision_axes.derived`.
// It is never nil, so that a call without parameters can be told from one whose
// parameters nobody derived.
//
// A value that cannot be read one way lacks its normalised member (path, host,
// words; its kinds are UNKNOWN); an entry with nothing but axis and arg had no
// value. Text over 4 KiB is replaced by its SHA-256, and so are the entries after
// the 64th, together. What hits a secret rule is redacted, and is not hashed
// either.
func (ps Params) Recorded() []aar.Derived {
	out := make([]aar.Derived, 0, min(len(ps), maxRecorded+1))
	for i := range ps[:min(len(ps), maxRecorded)] {
		out = append(out, ps[i].recorded())
	}
	if len(ps) > maxRecorded {
		sum := sha256.New()
		for i := range ps[maxRecorded:] {
			// As it would have been recorded, so that no secret is hashed.
			text, _ := json.Marshal(ps[maxRecorded+i].recorded())
			sum.Write(append(text, '\n'))
		}
		out = append(out, aar.Derived{Truncated: true, SHA256: hex.EncodeToString(sum.Sum(nil))})
	}
	return out
}

func (p *Param) recorded() aar.Derived {
	d := aar.Derived{Axis: p.Shape.Axis(), Arg: p.Arg}
	if p.Fault != Missing {
		p.reading(&d)
	}
	long := tooLong(&d)
	if long != "" {
		d = aar.Derived{Axis: d.Axis, Arg: d.Arg, Truncated: true}
		if len(d.Arg) > maxRecordedText {
			d.Arg = ""
		}
	}
	p.redact(&d)
	if long != "" && !d.Redacted {
		if _, hit := secret.RedactAll(long); hit {
			d.Redacted = true
		} else {
			sum := sha256.Sum256([]byte(long))
			d.SHA256 = hex.EncodeToString(sum[:])
		}
	}
	return d
}

// reading fills in the members of the axis.
func (p *Param) reading(d *aar.Derived) {
	good := p.Fault == None
	switch p.Shape {
	case shape.FilesystemWrite, shape.FilesystemRead:
		d.PathRaw, d.Resolved = p.Path.Raw, p.Path.Resolved
		if good {
			d.Path = p.Path.Clean
		}
	case shape.ShellExec:
		d.Metachar = &p.Command.Metachar
		if good {
			d.Words = slices.Clone(p.Command.Words)
		}
	case shape.HTTPRequest:
		d.Scheme = p.Target.Scheme
		if good {
			d.Host = p.Target.Host
			if p.Target.HasPort {
				d.Port = &p.Target.Port
			}
		}
	case shape.SQLQuery:
		d.Dialect, d.Stacked, d.Kinds = p.Query.Dialect, &p.Query.Stacked, p.Query.Kinds
		if !good && !slices.Contains(d.Kinds, kindUnknown) {
			d.Kinds = append(slices.Clone(d.Kinds), kindUnknown)
		}
	}
}

// tooLong is what a record does not hold because of its length, or "".
func tooLong(d *aar.Derived) string {
	for _, s := range []string{d.Arg, d.PathRaw, d.Path, d.Scheme, d.Host} {
		if len(s) > maxRecordedText {
			return s
		}
	}
	for _, list := range [][]string{d.Words, d.Kinds} {
		n := 0
		for _, s := range list {
			n += len(s)
		}
		if n > maxRecordedText || len(list) > maxRecorded {
			return strings.Join(list, "\x00")
		}
	}
	return ""
}

// redact hides what looks like a secret in any of the spellings that are known.
func (p *Param) redact(d *aar.Derived) {
	hide := func(s *string) (hit bool) {
		clean, hit := secret.RedactAll(*s)
		if hit {
			*s, d.Redacted = clean, true
		}
		return hit
	}
	hide(&d.Arg)
	hide(&d.Scheme)
	if raw, clean := hide(&d.PathRaw), hide(&d.Path); raw != clean {
		// The other spelling only looks different.
		if raw {
			d.Path = secret.Redact(d.Path)
		} else {
			d.PathRaw = secret.Redact(d.PathRaw)
		}
	}
	if d.Host != "" {
		if shown := p.Host(); shown != d.Host {
			d.Host, d.Redacted = shown, true
		}
	}
	for i := range d.Words {
		hide(&d.Words[i])
	}
	if len(d.Words) > 1 && !d.Redacted {
		if _, hit := secret.RedactAll(strings.Join(d.Words, " ")); hit {
			d.Words, d.Redacted = d.Words[:1], true // it is spread over words
		}
	}
}

// Host is the host of a target as it may be shown: redacted where it looks like
// a secret, by its own spelling or in lower case.
func (p *Param) Host() string {
	if p.spelt != "" {
		if clean, hit := secret.RedactAll(p.spelt); hit {
			return clean
		}
	}
	clean, _ := secret.RedactAll(p.Target.Host)
	return clean
}

// Undecidable says why a recorded parameter cannot be judged again.
type Undecidable string

// The reasons.
const (
	Decidable Undecidable = ""
	Truncated Undecidable = "truncated" // it was too long, or there were too many
	Redacted  Undecidable = "redacted"  // it looked like a secret
)

// Recall reads a parameter back from a record: the parameter that was recorded,
// as far as a verdict goes, or why there is none. One that does not say what its
// axis asks for comes back Ambiguous.
func Recall(d *aar.Derived) (Param, Undecidable) {
	s, ok := shape.ByAxis(d.Axis)
	p := Param{Shape: s, Arg: d.Arg}
	switch {
	case d.Truncated:
		return p, Truncated
	case d.Redacted:
		return p, Redacted
	case !ok:
		p.Fault, p.Why = Ambiguous, "its axis is unknown"
		return p, Decidable
	case bare(d):
		p.Fault, p.Why = Missing, "it had no value"
		return p, Decidable
	}
	good := false
	switch s {
	case shape.FilesystemWrite, shape.FilesystemRead:
		p.Path, good = recallPath(d), d.Path != ""
	case shape.ShellExec:
		if d.Metachar != nil {
			p.Command, good = Command{Words: d.Words, Metachar: *d.Metachar}, len(d.Words) > 0
		}
	case shape.HTTPRequest:
		p.Target, good = recallTarget(d)
	case shape.SQLQuery:
		if d.Stacked != nil {
			p.Query = Query{Kinds: d.Kinds, Stacked: *d.Stacked, Dialect: d.Dialect}
			good = len(d.Kinds) > 0 && !slices.Contains(d.Kinds, kindUnknown)
		}
	}
	if !good {
		p.Fault, p.Why = Ambiguous, "it could not be read one way"
	}
	return p, Decidable
}

// bare reports an entry that holds no more than where it came from.
func bare(d *aar.Derived) bool {
	return d.PathRaw == "" && d.Path == "" && d.Resolved == "" && d.Scheme == "" && d.Host == "" && d.Port == nil &&
		d.Words == nil && d.Metachar == nil && d.Kinds == nil && d.Dialect == "" && d.Stacked == nil
}

// recallPath reads the spelling again where there is no more; it is pure.
func recallPath(d *aar.Derived) Path {
	if d.Path != "" {
		return Path{Raw: d.PathRaw, Clean: d.Path, Entry: d.Path, Resolved: d.Resolved}
	}
	p := ReadPath(d.PathRaw)
	if p.Fault == "" { // what it led to had none
		return Path{Raw: d.PathRaw, Resolved: d.Resolved}
	}
	return p
}

func recallTarget(d *aar.Derived) (Target, bool) {
	t := Target{Scheme: d.Scheme, Host: d.Host}
	if d.Port != nil {
		t.Port, t.HasPort = *d.Port, true
	}
	if d.Host == "" {
		return t, false
	}
	host, fault := address.ParseHost(d.Host)
	t.Addr = host.Addr
	return t, fault == ""
}
