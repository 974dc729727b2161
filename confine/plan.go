package confine

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"github.com/aegis-aar/aegis/aar"
)

// Plan is what a server will be granted. It is complete: whatever it does not
// name is denied. A Plan holds no value of an environment variable and no
// argument of the server where it is printed or recorded.
type Plan struct {
	// Program is the file that will be executed, as the server's argv[0] was
	// looked up; links in it are not resolved, as some programs look at their
	// own name.
	Program string `json:"program"`
	Exec    string `json:"exec"` // ExecAuto or ExecNone
	// Grants are sorted by path, and no path occurs twice.
	Grants     []Grant `json:"grants"`
	PrivateTmp bool    `json:"private_tmp"`
	// Environment lists the names that the server will find set, sorted.
	Environment []string `json:"environment"`
	Network     string   `json:"network"`   // `denied`
	OnSocket    string   `json:"on_socket"` // what a network socket meets: `EACCES` or `SIGSYS`
	BestEffort  bool     `json:"best_effort"`
	// Notes say what the plan could not find out or left out on purpose.
	Notes []string `json:"notes,omitempty"`

	argv []string
	env  []string // NAME=VALUE
	dir  string
}

// Grant is one file or tree and what may be done with it.
type Grant struct {
	// Path has no symbolic link in it; Landlock grants the object, not the name.
	Path string `json:"path"`
	// Tree tells that Path is a directory: the grant is for all that is in it,
	// whenever it comes to be there.
	Tree   bool   `json:"tree"`
	Rights Rights `json:"rights"`
	// Why is the flag, or the step of the closure, that the grant comes from.
	Why string `json:"why"`
}

// Rights is what may be done with a file or a tree.
type Rights uint8

// The rights that are told apart. What each means in Landlock's own rights is
// for the kernel at hand: see the table in docs/confine.md.
const (
	Read    Rights = 1 << iota // open for reading, list
	Execute                    // execve(2)
	Write                      // open for writing, truncate, make, remove, rename and link within
	Ioctl                      // ioctl(2) on a device
)

var rightNames = [...]string{"read", "execute", "write", "ioctl"}

func (r Rights) String() string {
	var names []string
	for i, name := range rightNames {
		if r&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, "+")
}

// MarshalText makes Rights a JSON string, `read+execute`.
func (r Rights) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (r *Rights) UnmarshalText(text []byte) error {
	*r = 0
	for name := range strings.SplitSeq(string(text), "+") {
		i := slices.Index(rightNames[:], name)
		if i < 0 {
			return fmt.Errorf("unknown right %q", name)
		}
		*r |= 1 << i
	}
	return nil
}

// A MissingError names a path that was granted and cannot be.
type MissingError struct {
	Flag, Path string
	Err        error
}

func (e *MissingError) Error() string {
	return fmt.Sprintf("%s %s: %v; grant only what is there", e.Flag, e.Path, cause(e.Err))
}

func (e *MissingError) Unwrap() error { return e.Err }

// New computes the Plan of a Request. It reads the file system, starts nothing
// and writes nothing. The error is a *[UsageError], [ErrNet], a *[MissingError],
// or says that the server's program cannot be found.
func New(r Request) (*Plan, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	env, err := environment(r.Environ, r.Env)
	if err != nil {
		return nil, err
	}
	p := &Plan{
		Exec: ExecAuto, PrivateTmp: r.Tmp, BestEffort: r.BestEffort, Network: "denied", OnSocket: "EACCES",
		argv: r.Argv, env: env.list, dir: r.Dir,
	}
	if r.Kill {
		p.OnSocket = "SIGSYS"
	}
	g := newGrants(r.Dir)
	c := &closure{grants: g, env: env, dir: r.Dir}
	if p.Program, err = c.lookUp(r.Argv[0]); err != nil {
		return nil, fmt.Errorf("could not find the server's program `%s`: %w", r.Argv[0], cause(err))
	}
	if !utf8.ValidString(p.Program) {
		return nil, fmt.Errorf("could not confine the server's program `%s`: %w", r.Argv[0], errNotText)
	}
	if err := p.grantPrograms(&r, c); err != nil {
		return nil, err
	}
	programs := slices.Sorted(maps.Keys(g.byID))
	if p.Exec == ExecAuto {
		c.base()
	}
	if err := p.grantTrees(&r, g); err != nil {
		return nil, err
	}
	p.Grants = g.sorted()
	c.noteWritable(p, programs)
	p.Notes = c.notes
	for _, entry := range env.list {
		name, _, _ := strings.Cut(entry, "=")
		p.Environment = append(p.Environment, name)
	}
	if r.Tmp {
		p.Environment = append(p.Environment, tmpNames[:]...)
	}
	slices.Sort(p.Environment)
	p.Environment = slices.Compact(p.Environment)
	return p, nil
}

func (p *Plan) grantPrograms(r *Request, c *closure) error {
	if slices.Contains(r.Exec, ExecNone) {
		p.Exec = ExecNone
		return nil
	}
	c.program(p.Program, r.Argv, "the server's program")
	for _, path := range r.Exec {
		if path == ExecAuto {
			continue
		}
		found, err := c.lookUp(path)
		if err != nil && isDir(c.grants.abs(path)) {
			if err := c.grants.add(path, Read|Execute, "--allow-exec"); err != nil {
				return &MissingError{"--allow-exec", path, err}
			}
			c.note("--allow-exec %s is a directory: its programs are granted, the libraries they need from elsewhere are not", path)
			continue
		}
		if err != nil {
			return &MissingError{"--allow-exec", path, err}
		}
		c.program(found, []string{path}, "--allow-exec")
	}
	return nil
}

// noteWritable notes which of the programs' files the server may change: the next
// closure is computed from what it made of them.
func (c *closure) noteWritable(p *Plan, programs []string) {
	noted := map[string]bool{}
	for _, path := range programs {
		if g, ok := p.covers(path, Write); ok && !noted[g.Path] {
			noted[g.Path] = true
			c.note("the server may write to %s, where its program or a part of it is: what it makes of that decides what the next start is granted", g.Path)
		}
	}
}

// supportTrees are what --allow-exec-support grants, those of them that exist.
var supportTrees = []string{"/usr", "/lib", "/lib64", "/lib32", "/bin", "/sbin", "/etc", "/dev", "/proc"}

func (p *Plan) grantTrees(r *Request, g *grants) error {
	read, write := Read, Read|Write|Ioctl
	if p.Exec == ExecNone {
		// With no closure a program can only lie in a tree that was granted.
		read, write = read|Execute, write|Execute
	}
	if r.ExecSupport {
		for _, tree := range supportTrees {
			if _, err := os.Stat(tree); err == nil {
				if err := g.add(tree, Read|Execute, "--allow-exec-support"); err != nil {
					return &MissingError{"--allow-exec-support", tree, err}
				}
			}
		}
	}
	for _, path := range r.Read {
		if err := g.add(path, read, "--allow-read"); err != nil {
			return &MissingError{"--allow-read", path, err}
		}
	}
	for _, path := range r.Write {
		if err := g.add(path, write, "--allow-write"); err != nil {
			return &MissingError{"--allow-write", path, err}
		}
	}
	return nil
}

// JSON is the Plan as it is printed and recorded.
func (p *Plan) JSON() []byte {
	text, err := json.Marshal(p, json.Deterministic(true))
	if err != nil {
		panic("a Plan holds only text and truth values: " + err.Error())
	}
	return text
}

// Digest is the SHA-256 of the canonical form (RFC 8785) of the Plan's JSON, in
// lower-case hex.
func (p *Plan) Digest() string {
	text, err := aar.Canonicalize(p.JSON())
	if err != nil {
		panic("a Plan's text is valid UTF-8: " + err.Error())
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// covers tells whether the Plan grants any of want on the real path.
func (p *Plan) covers(path string, want Rights) (Grant, bool) {
	for _, g := range p.Grants {
		if g.Rights&want != 0 && (g.Path == path || g.Tree && within(path, g.Path)) {
			return g, true
		}
	}
	return Grant{}, false
}

// within tells whether path lies below tree.
func within(path, tree string) bool {
	if tree == string(filepath.Separator) {
		return true
	}
	return strings.HasPrefix(path, tree+string(filepath.Separator))
}
