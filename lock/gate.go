package lock

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/aegis-aar/aegis/aar"
	"github.com/aegis-aar/aegis/inspect"
)

// Bounds of what a gate remembers.
const (
	maxJudged = 64 // pages, by their hash; the memory for each grows with the tools in the lock
	maxWalks  = 8  // walks through a list that are under way

	// maxDrifts bounds what is told of one page. One fact has it replaced.
	maxDrifts = 256
)

// Gate holds a running session to a lock. Its methods may be called from any
// goroutine.
type Gate struct {
	lock   *Lock
	tools  map[string]int // index in lock.Tools
	digest aar.SurfaceDigest

	mu     sync.Mutex
	judged map[[sha256.Size]byte]*page
	order  [][sha256.Size]byte // of judged, oldest first
	walks  []walkThrough
	moved  map[int]Drift // tools that were last seen as something else
}

// page is what was found of one page.
type page struct {
	drifts []Drift
	next   string        // the canonical JSON text of nextCursor, empty on a last page
	as     []int         // tools that were listed as they are pinned, each once
	not    map[int]Drift // tools that were listed as something else
	listed []bool        // by tool
}

// walkThrough is one walk from page one on.
type walkThrough struct {
	cursor string // of the page that comes next
	seen   []bool // by tool
}

// NewGate returns a gate on a lock that was obtained from [Parse] or [New].
func NewGate(l *Lock) *Gate {
	g := &Gate{lock: l, tools: make(map[string]int, len(l.Tools)), judged: map[[sha256.Size]byte]*page{}, moved: map[int]Drift{}}
	for i := range l.Tools {
		g.tools[l.Tools[i].Name] = i
	}
	_, _ = hex.Decode(g.digest[:], []byte(l.OverallDigest[len(hashPrefix):])) // the form was checked
	return g
}

// SurfaceDigest is the digest of the lock in force, as a record names it: its
// overall digest.
func (g *Gate) SurfaceDigest() aar.SurfaceDigest { return g.digest }

// HasTool reports whether the tool is in the lock.
func (g *Gate) HasTool(name string) bool {
	_, ok := g.tools[name]
	return ok
}

// Capabilities are what the lock says the tool can do; ok is false if it is not
// in the lock.
func (g *Gate) Capabilities(tool string) (capabilities []string, ok bool) {
	i, ok := g.tools[tool]
	if !ok {
		return nil, false
	}
	return slices.Clone(g.lock.Tools[i].Capabilities), true
}

// Declaration is what the lock declares of the tool's results. A tool that is
// not in the lock has the most protection.
func (g *Gate) Declaration(tool string) inspect.Declaration {
	if i, ok := g.tools[tool]; ok {
		return g.lock.Tools[i].Inspection.Declaration()
	}
	return inspect.Declaration{}
}

// Drifted tells of a tool in the lock that the server last listed as something
// else than what is pinned: a call to it would reach what nobody approved.
func (g *Gate) Drifted(tool string) (Drift, bool) {
	i, ok := g.tools[tool]
	if !ok {
		return Drift{}, false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	d, ok := g.moved[i]
	return d, ok
}

// Page judges one answer to tools/list by itself: result is the JSON text of its
// result, cursor that of the params.cursor of its request, empty without one.
// There is no drift if every entry is as it is pinned and, on the last page of a
// walk that began at page one, every pinned tool was listed on the way. It is
// judged each time it comes. (decision G4; guard contract, section 4.3)
//
// A page that was judged before costs its hash. What cannot be read one way only
// is drift; an error is a fault of ours.
func (g *Gate) Page(result []byte, cursor string) ([]Drift, error) {
	key := sha256.Sum256(result)
	g.mu.Lock()
	p := g.judged[key]
	g.mu.Unlock()
	if p == nil {
		p = g.judge(result)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.remember(key, p)
	if len(g.moved) > 0 {
		for _, i := range p.as {
			delete(g.moved, i)
		}
	}
	maps.Copy(g.moved, p.not)
	absent := g.advance(p, cursor)
	if len(absent) == 0 || len(p.drifts) == maxDrifts {
		return p.drifts, nil
	}
	return append(slices.Clip(p.drifts), absent...), nil
}

func (g *Gate) remember(key [sha256.Size]byte, p *page) {
	if g.judged[key] != nil {
		return
	}
	if len(g.order) == maxJudged {
		delete(g.judged, g.order[0])
		g.order = slices.Delete(g.order, 0, 1)
	}
	g.order = append(g.order, key)
	g.judged[key] = p
}

// advance takes the page into the walk it belongs to and, if it is the last
// one, tells which pinned tools were not listed.
func (g *Gate) advance(p *page, cursor string) (absent []Drift) {
	var w walkThrough
	if cursor == "" || cursor == "null" || cursor == emptyCursor {
		w.seen = make([]bool, len(g.lock.Tools))
	} else {
		form, err := Canonical([]byte(cursor))
		if err != nil {
			return nil
		}
		k := slices.IndexFunc(g.walks, func(w walkThrough) bool { return w.cursor == string(form) })
		if k < 0 {
			return nil // it did not begin at page one, as far as is known
		}
		w = g.walks[k]
		g.walks = slices.Delete(g.walks, k, k+1)
	}
	for i, listed := range p.listed {
		w.seen[i] = w.seen[i] || listed
	}
	if p.next != "" {
		if len(g.walks) == maxWalks {
			g.walks = slices.Delete(g.walks, 0, 1)
		}
		w.cursor = p.next
		g.walks = append(g.walks, w)
		return nil
	}
	for i, seen := range w.seen {
		if !seen {
			absent = append(absent, toolRemoved(g.lock.Tools[i].Name))
		}
	}
	return absent
}

func unreadable(why string) Drift {
	return drift("unapproved-change", "tools", "Tool list cannot be read one way only: "+why, "")
}

// judge compares the entries of a page with the lock.
func (g *Gate) judge(result []byte) *page {
	p := &page{listed: make([]bool, len(g.lock.Tools)), not: map[int]Drift{}}
	if err := g.entries(result, p); err != nil {
		p.drifts = append(p.drifts, unreadable(err.Error()))
	}
	return p
}

var (
	errNoList  = errors.New("no list of tools")
	errNoText  = errors.New("not one strict JSON value")
	errCursor  = errors.New("nextCursor is no string")
	errFolding = errors.New("a member that some readers take for another")
)

func (g *Gate) entries(result []byte, p *page) error {
	d := jsontext.NewDecoder(bytes.NewBuffer(result))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return errNoList
	}
	listed := false
	for d.PeekKind() != '}' {
		t, err := d.ReadToken()
		if err != nil {
			return errNoText
		}
		switch name := t.String(); {
		case name == "tools":
			listed = true
			if d.PeekKind() != '[' {
				return errNoList
			}
			if _, err := d.ReadToken(); err != nil {
				return errNoText
			}
			for d.PeekKind() != ']' {
				text, err := d.ReadValue()
				if err != nil {
					return errNoText
				}
				// It is read to its end: a tool that is another one now is so behind
				// any number of others.
				if g.entry(text, p); len(p.drifts) > maxDrifts {
					p.drifts = p.drifts[:maxDrifts]
				}
			}
			if _, err := d.ReadToken(); err != nil {
				return errNoText
			}
		case name == "nextCursor":
			text, err := d.ReadValue()
			if err != nil {
				return errNoText
			}
			if text.Kind() == 'n' {
				break
			}
			if text.Kind() != '"' {
				return errCursor // some clients take false or 0 for the end
			}
			next, err := Canonical(text)
			if err != nil {
				return errNoText
			}
			if p.next = string(next); p.next == emptyCursor {
				p.next = ""
			}
		case foldsTo(name, "tools", "nextCursor"):
			return errFolding
		default:
			if err := d.SkipValue(); err != nil {
				return errNoText
			}
		}
	}
	if _, err := d.ReadToken(); err != nil {
		return errNoText
	}
	if !listed {
		return errNoList
	}
	return nil
}

// entry compares one tool with its pin. On Level4 the hash of the definition
// says that nothing has changed; only a change is looked at closely.
func (g *Gate) entry(text jsontext.Value, p *page) {
	name, err := nameOf(text)
	if err != nil {
		p.drifts = append(p.drifts, unreadable(err.Error()))
		return
	}
	i, ok := g.tools[name]
	if !ok {
		p.drifts = append(p.drifts, toolAdded(name))
		return
	}
	if _, known := p.not[i]; known && len(p.drifts) >= maxDrifts {
		return // a short entry, many times, must not cost a long pin each time
	}
	was := &g.lock.Tools[i]
	drifts := g.compare(text, was)
	if len(drifts) == 0 {
		if !p.listed[i] {
			p.as = append(p.as, i)
		}
		p.listed[i] = true
		return
	}
	p.listed[i] = true
	p.not[i] = drifts[0]
	p.drifts = append(p.drifts, drifts...)
}

func (g *Gate) compare(text jsontext.Value, was *Tool) []Drift {
	level := g.lock.SchemaVersion
	if level >= Level4 {
		if h, err := Hash(text); err == nil && h == was.DefinitionHash {
			return nil
		}
	}
	target := "tools/" + was.Name
	n, err := parseNode(text)
	if err != nil {
		return []Drift{drift("unapproved-change", target, "Tool '"+was.Name+"' cannot be read one way only: "+err.Error(), "")}
	}
	is, err := newTool(n, text, level)
	if err != nil {
		return []Drift{drift("unapproved-change", target, "Tool '"+was.Name+"' cannot be pinned: "+err.Error(), "")}
	}
	is.Inspection = was.Inspection
	drifts := compareTool(was, is, level)
	if len(drifts) == 0 && is.digest(level) != was.EntryDigest {
		drifts = append(drifts, drift("unapproved-change", target, "Tool '"+was.Name+"' changed in a way that no other class tells", ""))
	}
	return drifts
}
