// Package needle finds the places in a text where one of many short literals
// may stand, and skips the rest fast.
//
// A needle is four bytes, compared without regard to ASCII case. A [Set] looks
// at four positions a step through a table that stays in the first cache, with
// no branch that depends on the text until something is found. It is the first
// stage of a matcher: who asks for a needle must look at what stands around
// it. The time is linear in the text whatever it holds; each position is looked
// at once.
package needle

import "encoding/binary"

// Len is the length of every needle in bytes.
const Len = 4

const (
	tableBits  = 14
	bucketBits = 8
	multiplier = 0x9e3779b1 // 2^32 divided by the golden ratio, odd

	// fold sets the bit by which the two cases of an ASCII letter differ. It
	// also makes some other bytes equal, such as '_' and DEL: a false needle
	// costs time, never a result.
	fold = 0x20202020
)

// Set is a fixed set of needles, each with the tags it was added under. It may
// be read by many goroutines once the last Add has returned.
type Set struct {
	table   [1 << tableBits]uint8 // not zero: some needle hashes to here
	buckets [1 << bucketBits][]entry
}

type entry struct {
	word uint32
	tags []uint16
}

func hash(w uint32) uint32 { return w * multiplier }

// Add puts literal, which must be of [Len] bytes, into the set.
func (s *Set) Add(literal string, tag uint16) {
	if len(literal) != Len {
		panic("needle: a needle has four bytes")
	}
	w := binary.LittleEndian.Uint32([]byte(literal)) | fold
	h := hash(w)
	s.table[h>>(32-tableBits)] = 1
	bucket := &s.buckets[h>>8&(1<<bucketBits-1)]
	for i := range *bucket {
		if (*bucket)[i].word == w {
			(*bucket)[i].tags = append((*bucket)[i].tags, tag)
			return
		}
	}
	*bucket = append(*bucket, entry{w, []uint16{tag}})
}

// Next returns the first place at or after from where a needle of the set
// stands, with the needle's tags in the order they were added, or len(text) and
// nil. The caller must not change the tags.
func (s *Set) Next(text []byte, from int) (int, []uint16) {
	i := from
	for ; i+8 <= len(text); i += 4 {
		x := binary.LittleEndian.Uint64(text[i:]) | fold<<32 | fold
		a, b, c, d := uint32(x), uint32(x>>8), uint32(x>>16), uint32(x>>24)
		if s.table[hash(a)>>(32-tableBits)]|s.table[hash(b)>>(32-tableBits)]|
			s.table[hash(c)>>(32-tableBits)]|s.table[hash(d)>>(32-tableBits)] == 0 {
			continue
		}
		for k, w := range [4]uint32{a, b, c, d} {
			if tags := s.tags(w); tags != nil {
				return i + k, tags
			}
		}
	}
	for ; i+Len <= len(text); i++ {
		if tags := s.tags(binary.LittleEndian.Uint32(text[i:]) | fold); tags != nil {
			return i, tags
		}
	}
	return len(text), nil
}

func (s *Set) tags(w uint32) []uint16 {
	h := hash(w)
	if s.table[h>>(32-tableBits)] == 0 {
		return nil
	}
	for _, e := range s.buckets[h>>8&(1<<bucketBits-1)] {
		if e.word == w {
			return e.tags
		}
	}
	return nil
}
