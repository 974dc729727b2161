package report

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strconv"
	"strings"
)

// fingerprints name findings the same in every run: by what was found where, not
// by when, in which order, under which id or in which file. Findings that agree
// in all of that are told apart by their number among each other.
type fingerprints struct {
	seen map[[16]byte]int
}

func (p *fingerprints) of(f *Finding) string {
	h := sha256.New()
	for _, part := range []string{
		f.kind(), f.RuleID, f.SubRule, f.Direction, f.Tool, f.place(), f.DriftClass, f.Target, f.Snippet,
		strings.Join(f.Matched, "\x00"),
	} {
		var size [8]byte
		binary.BigEndian.PutUint64(size[:], uint64(len(part)))
		h.Write(size[:])
		h.Write([]byte(part))
	}
	var sum [32]byte
	key := [16]byte(h.Sum(sum[:0]))
	if p.seen == nil {
		p.seen = map[[16]byte]int{}
	}
	p.seen[key]++
	return hex.EncodeToString(key[:]) + ":" + strconv.Itoa(p.seen[key])
}

// place is where in an answer the finding is, as a JSON pointer.
func (f *Finding) place() string {
	switch {
	case f.Pointer != "":
		return f.Pointer
	case f.Block != nil:
		return "/result/content/" + strconv.Itoa(*f.Block)
	}
	return ""
}
