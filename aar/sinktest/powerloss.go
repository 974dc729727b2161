package sinktest

import (
	"bytes"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/aegis-aar/aegis/aar"
)

// Page is the unit in which the model of [PowerLoss] keeps or loses data.
const Page = 4096

// PowerLoss is a [aar.Durable] sink in memory: a file in a page cache, over a
// disk. What a completed Sync covers is on the disk. Of what was appended
// since, any page may or may not have been written back, and the file may have
// any length between; [PowerLoss.Left] makes such a file. It starts out empty.
type PowerLoss struct {
	mu     sync.Mutex
	data   []byte
	synced int
}

// Durability implements [aar.Sink].
func (*PowerLoss) Durability() aar.Durability { return aar.Durable }

// Tail implements [aar.Sink].
func (*PowerLoss) Tail() *aar.LineHash { return nil }

// Append implements [aar.Sink].
func (p *PowerLoss) Append(lines []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.data = append(p.data, lines...)
	return nil
}

// Sync implements [aar.Sink].
func (p *PowerLoss) Sync() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.synced = len(p.data)
	return nil
}

// Close implements [aar.Sink].
func (*PowerLoss) Close() error { return nil }

// Written returns all that was appended, and how much of it a Sync covers.
func (p *PowerLoss) Written() (data []byte, synced int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return bytes.Clone(p.data), p.synced
}

// Loss says what the disk holds of the part behind the last completed Sync.
type Loss struct {
	// Length of the file: what is behind it is gone.
	Length int
	// Zeroed are the pages (of the file, from 0) that were allocated and never
	// written: their part behind the synced one reads as NUL bytes.
	Zeroed []int
}

func (l Loss) String() string { return fmt.Sprintf("length %d, zeroed pages %v", l.Length, l.Zeroed) }

// Left returns the file that is found after the power came back.
func (p *PowerLoss) Left(l Loss) []byte {
	data, synced := p.Written()
	data = data[:l.Length]
	for _, page := range l.Zeroed {
		start, end := max(page*Page, synced), min((page+1)*Page, len(data))
		if start < end {
			clear(data[start:end])
		}
	}
	return data
}

// Losses enumerates what may be left: every subset of the unsynced pages
// zeroed, for every length at a page's edge or a line's end, one byte off it,
// or in the middle of a page.
func (p *PowerLoss) Losses() iter.Seq[Loss] {
	data, synced := p.Written()
	lengths := []int{synced, len(data)}
	for i := synced + 1; i < len(data); i++ {
		onPage := i % Page
		if onPage <= 1 || onPage == Page/2 || onPage == Page-1 || data[i] == '\n' || data[i-1] == '\n' {
			lengths = append(lengths, i)
		}
	}
	slices.Sort(lengths)
	first := synced / Page
	return func(yield func(Loss) bool) {
		for _, length := range slices.Compact(lengths) {
			pages := 0
			if length > synced {
				pages = (length-1)/Page - first + 1
			}
			for set := range 1 << pages {
				l := Loss{Length: length}
				for i := range pages {
					if set>>i&1 == 1 {
						l.Zeroed = append(l.Zeroed, first+i)
					}
				}
				if !yield(l) {
					return
				}
			}
		}
	}
}
