package derive

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/aegis-aar/aegis/internal/shape"
)

// Bounds of one call. A call beyond them is not read, which denies it.
const (
	maxParams = 4096    // derived parameters
	maxNames  = 1 << 16 // distinct member names
	maxDepth  = 128     // nesting, as for a frame
)

// Plan says how the arguments of one tool are read. The zero Plan guesses from
// the names of the call.
type Plan struct {
	// Shapes the tool has whatever its names say: a policy constrains them for
	// this tool by name, or a lock lists them among its capabilities.
	Shapes shape.Set
	// Known is set where Shapes come from a lock: then the names of the call
	// recognise nothing more.
	Known bool
	// Binding overrides the guesses; nil without one.
	Binding *Binding
	// Named holds, by shape, the pointer of an argument that supplies the shape
	// besides those that are guessed; "" for none. If it is there the tool has the
	// shape, and if the tool has the shape it must be there.
	Named [shapes]string
	// Resolve has the shapes whose paths are resolved through symlinks.
	Resolve shape.Set
	// Dialect is the SQL dialect; "" if none is set.
	Dialect string
}

// shapes is how many shapes there are.
const shapes = int(shape.SQLQuery) + 1

// Binding says which argument of a tool supplies which shape, and which
// arguments are none of a path, a URL, a command and a query. It says nothing
// about which values are allowed. What it does not name is guessed.
//
// A pointer is RFC 6901 without array indices: a list is looked through, so
// that `/files/path` names the path of every entry of `files`.
type Binding struct {
	Bound []Bound
	Other []string // pointers, each with all that lies below it
}

// Bound is one argument and the shape it supplies.
type Bound struct {
	Pointer string
	Shape   shape.Shape
}

// Fault says that a parameter has no value to be judged.
type Fault uint8

// The faults of a parameter.
const (
	None      Fault = iota
	Missing         // the argument is absent or of another type
	Ambiguous       // it cannot be read one way only
)

// Param is one derived parameter: what one argument would touch. Exactly one of
// the four readings is filled in, that of Shape, unless Fault is Missing. It
// holds the argument as it came: what a record may hold is [Params.Recorded].
type Param struct {
	Shape shape.Shape
	Arg   string // JSON pointer (RFC 6901) into the arguments; "" for none or all of them
	Fault Fault
	Why   string // of a Fault, fixed text

	Path    Path
	Command Command
	Target  Target
	Query   Query

	spelt string // the host as it came, where its case differs: a secret may have lost its shape
}

// Params are the derived parameters of one call, in argument order; those of
// shapes that no argument supplies come last.
type Params []Param

// Call derives the parameters of a tools/call from its `arguments`, the JSON
// text as it came, nil if it had none. It reads names and strings only: a number
// is never converted, and never judged. shapes are those that were recognised or
// given; a tool without any has no parameters.
//
// The text is walked once, in time linear in its length.
func Call(tool string, arguments []byte, plan *Plan) (params Params, found shape.Set) {
	w := walkers.Get().(*walker)
	defer walkers.Put(w)
	w.reset(plan)
	w.read(arguments)
	return w.params(tool)
}

var walkers = sync.Pool{New: func() any { return new(walker) }}

// walker collects what may supply a shape, before it is known which shapes the
// tool has.
type walker struct {
	plan   *Plan
	in     bytes.Reader
	dec    *jsontext.Decoder
	fault  string // why the arguments as a whole cannot be read
	ptr    []byte // JSON pointer of the value at hand
	tracks bool   // the plan names arguments
	where  []byte // the pointer without indices, if it does
	names  []name
	leaves []leaf

	// words are the names met so far, also by calls before this one: what a name
	// says never changes. call counts the calls.
	words map[string]*word
	held  int // bytes of those names
	call  uint64

	objects uint64     // that were begun, in all calls
	shadows []shadowed // the names of the objects that are open
}

// shadowed is a name and the object that had it before the one at hand.
type shadowed struct {
	word   *word
	object uint64
}

// name is a member name of the call at hand.
type name struct {
	*word
	text bool // it has a string, or a list of them
	free bool // some value of it is left to guessing, and may be what the name says
}

// word is what a member name says.
type word struct {
	name    string
	takes   shape.Set // the shapes that an argument of that name could supply
	content bool      // it holds what is written
	plain   bool      // it is one word

	call   uint64 // the last call that had it
	index  int    // in the names of that call
	object uint64 // the innermost open object that has it
}

// leaf is a value that may supply a shape.
type leaf struct {
	arg   string
	name  int // index in names; -1 outside any member
	kind  jsontext.Kind
	text  string    // of a string
	bound shape.Set // shapes the plan has it supply
	named shape.Set // those of them for which it must be there
	fixed bool      // a binding names it: bound is all it supplies
	keyed bool      // an object in the place of a path, with member names that are paths
}

// Bounds of the names that are kept from call to call.
const (
	maxWords = 1 << 12
	maxHeld  = 1 << 18 // bytes
)

func (w *walker) reset(plan *Plan) {
	clear(w.leaves) // do not hold on to a call
	w.plan, w.fault = plan, ""
	w.tracks = plan.Binding != nil || plan.Named != [shapes]string{}
	w.ptr, w.where, w.names, w.leaves = w.ptr[:0], w.where[:0], w.names[:0], w.leaves[:0]
	if w.words == nil || len(w.words) > maxWords || w.held > maxHeld {
		w.words, w.held = make(map[string]*word), 0
	}
	w.call++
	w.shadows = w.shadows[:0]
}

// read walks the arguments.
func (w *walker) read(arguments []byte) {
	if arguments == nil {
		return
	}
	w.in.Reset(arguments)
	if w.dec == nil {
		w.dec = jsontext.NewDecoder(&w.in, jsontext.AllowDuplicateNames(true)) // watched in object, at less cost
	} else {
		w.dec.Reset(&w.in, jsontext.AllowDuplicateNames(true))
	}
	switch w.dec.PeekKind() {
	case 'n', '{':
	default:
		w.fault = "the arguments are no object"
		return
	}
	err := w.value(-1)
	if err == nil {
		if _, err = w.dec.ReadToken(); err == io.EOF {
			return
		}
	}
	if w.fault == "" {
		w.fault = "the arguments are not JSON with one reading"
	}
}

// errStop ends a walk whose fault is told already.
var errStop = fmt.Errorf("derive: stopped")

// value reads one value; name is the place of the member it belongs to, through
// any lists, -1 without one.
func (w *walker) value(name int) error {
	l := leaf{name: name, kind: w.dec.PeekKind()}
	if w.dec.StackDepth() >= maxDepth {
		w.fault = fmt.Sprintf("the arguments are nested deeper than %d", maxDepth)
		return errStop
	}
	if w.tracks && w.bind(&l) {
		return w.dec.SkipValue()
	}
	if name >= 0 && !l.fixed && w.names[name].mayBe(l.kind) {
		w.names[name].free = true
	}
	switch l.kind {
	case '{':
		return w.object(l)
	case '[':
		return w.array(name)
	case '"':
		if name >= 0 {
			w.names[name].text = true
		}
		raw, err := w.dec.ReadValue()
		if err != nil {
			return err
		}
		return w.leaf(l, raw)
	}
	if _, err := w.dec.ReadToken(); err != nil {
		return err
	}
	return w.leaf(l, nil)
}

func (w *walker) object(l leaf) error {
	if _, err := w.dec.ReadToken(); err != nil {
		return err
	}
	ptr, where, before := len(w.ptr), len(w.where), len(w.leaves)
	w.objects++
	object, outer := w.objects, len(w.shadows)
	for w.dec.PeekKind() != '}' {
		raw, err := w.dec.ReadValue()
		if err != nil {
			return err
		}
		index, err := w.name(raw)
		if err != nil {
			return err
		}
		word := w.names[index].word
		if word.object == object {
			w.fault = "a member of the arguments is there twice"
			return errStop
		}
		if l.name >= 0 && w.names[l.name].takes&fileShapes != 0 && strings.ContainsAny(word.name, `/\`) {
			l.keyed = true
		}
		w.shadows = append(w.shadows, shadowed{word, word.object})
		word.object = object
		w.ptr = appendStep(w.ptr, word.name)
		if w.tracks {
			w.where = appendStep(w.where, word.name)
		}
		if err := w.value(index); err != nil {
			return err
		}
		w.ptr, w.where = w.ptr[:ptr], w.where[:where]
	}
	if _, err := w.dec.ReadToken(); err != nil {
		return err
	}
	empty := len(w.shadows) == outer
	for _, s := range w.shadows[outer:] {
		s.word.object = s.object
	}
	w.shadows = w.shadows[:outer]
	if l.keyed && !l.fixed {
		w.names[l.name].free = true
	}
	if l.fixed || l.keyed || l.name >= 0 && !empty && !w.supplied(before, l.name) {
		return w.leaf(l, nil)
	}
	return nil
}

// supplied reports whether a string among the leaves from the given one on may
// supply what the name does. A member name with a slash is more likely a path
// than a word for one, and what it holds is something else.
func (w *walker) supplied(from, name int) bool {
	for _, l := range w.leaves[from:] {
		if l.kind == '"' && l.name >= 0 && w.names[l.name].takes&w.names[name].takes != 0 && !strings.ContainsAny(w.names[l.name].name, `/\`) {
			return true
		}
	}
	return false
}

func (w *walker) array(name int) error {
	if _, err := w.dec.ReadToken(); err != nil {
		return err
	}
	ptr := len(w.ptr)
	if name >= 0 && w.dec.PeekKind() == ']' {
		w.names[name].free = true // as good as absent
	}
	for i := 0; w.dec.PeekKind() != ']'; i++ {
		w.ptr = strconv.AppendInt(append(w.ptr, '/'), int64(i), 10)
		if err := w.value(name); err != nil {
			return err
		}
		w.ptr = w.ptr[:ptr]
	}
	_, err := w.dec.ReadToken()
	return err
}

// name notes a member name, a string token, and returns its place.
func (w *walker) name(raw jsontext.Value) (index int, err error) {
	text := raw[1:max(1, len(raw)-1)]
	if raw.Kind() != '"' {
		return 0, errStop // the decoder tells the fault
	}
	if bytes.IndexByte(raw, '\\') >= 0 {
		if text, err = jsontext.AppendUnquote(nil, raw); err != nil {
			return 0, err
		}
	}
	known := w.words[string(text)]
	if known == nil {
		known = newWord(string(text))
		w.words[known.name] = known
		w.held += len(text)
	}
	if known.call == w.call {
		return known.index, nil
	}
	if len(w.names) == maxNames {
		w.fault = fmt.Sprintf("the arguments have more than %d distinct member names", maxNames)
		return 0, errStop
	}
	known.call, known.index = w.call, len(w.names)
	w.names = append(w.names, name{word: known})
	return known.index, nil
}

// mayBe reports whether a value of that kind may be what its name says: `path`
// may stand for a path whatever it holds but a boolean; `max_files` does not
// with a number, nor `path_options` with an object. A list is what its elements are.
func (w *word) mayBe(kind jsontext.Kind) bool {
	switch kind {
	case 't', 'f', '[':
		return false
	case '0', '{':
		return w.plain
	}
	return true
}

// newWord asks package shape once.
func newWord(text string) *word {
	w := &word{name: text, plain: len(shape.Segments(text)) == 1}
	for _, s := range shape.All() {
		if s.Takes(text) {
			w.takes = w.takes.With(s)
		}
	}
	w.content = shape.Recognise("", []shape.Property{{Name: "path"}, {Name: text}}).Has(shape.FilesystemWrite)
	return w
}

// leaf keeps a value that may supply a shape.
func (w *walker) leaf(l leaf, raw jsontext.Value) error {
	switch {
	case l.kind == 'n': // as good as absent
		return nil
	case l.bound == 0 && (l.name < 0 || w.names[l.name].takes == 0):
		return nil
	case len(w.leaves) == maxParams:
		w.fault = fmt.Sprintf("more than %d arguments would have to be judged", maxParams)
		return errStop
	}
	if l.kind == '"' {
		text, err := jsontext.AppendUnquote(nil, raw)
		if err != nil {
			return err
		}
		l.text = string(text)
	}
	l.arg = string(w.ptr)
	w.leaves = append(w.leaves, l)
	return nil
}

// bind sets what the plan says of the value at hand; none means that a binding
// sets it aside.
func (w *walker) bind(l *leaf) (none bool) {
	if b := w.plan.Binding; b != nil {
		for _, other := range b.Other {
			if within(w.where, other) {
				none = true
			}
		}
		for _, bound := range b.Bound {
			if w.at(bound.Pointer) {
				l.bound, l.fixed, none = l.bound.With(bound.Shape), true, false
			}
		}
	}
	for s, pointer := range w.plan.Named {
		if pointer != "" && w.at(pointer) {
			l.bound, l.named, none = l.bound.With(shape.Shape(s)), l.named.With(shape.Shape(s)), false
		}
	}
	return none
}

// at reports whether the value at hand is the argument that a plan names, or one
// that some servers take for it: they are blind to the case of names. Nothing is
// set aside that way.
func (w *walker) at(pointer string) bool {
	// A letter that folds into ASCII takes up to three bytes.
	return string(w.where) == pointer || len(w.where) <= 3*len(pointer) && strings.EqualFold(string(w.where), pointer)
}

// within reports whether pointer is root or lies below it.
func within(pointer []byte, root string) bool {
	return len(pointer) >= len(root) && string(pointer[:len(root)]) == root &&
		(len(pointer) == len(root) || pointer[len(root)] == '/')
}

// appendStep appends one reference token (RFC 6901, section 3).
func appendStep(b []byte, member string) []byte {
	b = append(b, '/')
	for i := range len(member) {
		switch c := member[i]; c {
		case '~':
			b = append(b, "~0"...)
		case '/':
			b = append(b, "~1"...)
		default:
			b = append(b, c)
		}
	}
	return b
}

// Pointer is the JSON pointer of an argument that is named in a policy: the
// pointer itself, or the name of a member of the arguments.
func Pointer(name string) string {
	if strings.HasPrefix(name, "/") {
		return name
	}
	return string(appendStep(nil, name))
}

// params makes parameters of what was collected.
func (w *walker) params(tool string) (Params, shape.Set) {
	found := w.shapes(tool)
	if w.fault != "" {
		// It may hold anything: no shape is spared, a tool without any neither.
		return Params{{Shape: first(found), Fault: Ambiguous, Why: w.fault}}, found
	}
	params := make(Params, 0, len(w.leaves)) // they are large: growing a list of them would cost more than reading
	var supplied, named shape.Set
	moves := moves(tool)
	for i := range w.leaves {
		l := &w.leaves[i]
		set := l.bound
		named |= l.named
		if !l.fixed && l.name >= 0 {
			set |= axes(w.names[l.name].name, w.names[l.name].takes, found, moves)
		}
		for _, s := range (set & found).Shapes() {
			switch {
			case l.kind == '"':
				params, supplied = w.derive(params, s, l), supplied.With(s)
			case l.bound.Has(s) || l.keyed && fileShapes.Has(s) || w.names[l.name].mayBe(l.kind):
				params = append(params, Param{Shape: s, Arg: l.arg, Fault: Missing, Why: "is " + kindText(l.kind) + ", not a string"})
				supplied = supplied.With(s)
			}
		}
		if len(params) > maxParams {
			return Params{{Shape: first(found), Fault: Ambiguous, Why: fmt.Sprintf("more than %d arguments would have to be judged", maxParams)}}, found
		}
	}
	for s, pointer := range w.plan.Named {
		if s := shape.Shape(s); pointer != "" && found.Has(s) && !named.Has(s) {
			params, supplied = append(params, Param{Shape: s, Arg: pointer, Fault: Missing, Why: "is absent"}), supplied.With(s)
		}
	}
	for _, s := range found.Shapes() {
		if !supplied.Has(s) {
			params = append(params, Param{Shape: s, Fault: Missing, Why: "no argument supplies it"})
		}
	}
	return params, found
}

// shapes is what the tool has.
func (w *walker) shapes(tool string) shape.Set {
	found := w.plan.Shapes
	for i := range w.leaves {
		found |= w.leaves[i].named
	}
	if w.plan.Known {
		return found
	}
	b := w.plan.Binding
	if b != nil {
		// The name of the tool says nothing where a binding does; what the
		// binding does not name is recognised by its own names.
		tool = ""
		for _, bound := range b.Bound {
			found = found.With(bound.Shape)
		}
	}
	props := make([]shape.Property, 0, 8)
	for _, n := range w.names {
		if n.free && (n.takes != 0 || n.content) {
			props = append(props, shape.Property{Name: n.name, Text: n.text})
		}
	}
	return Join(found, shape.Recognise(tool, props))
}

// Join adds to the shapes that a tool is given those that are guessed. A tool
// that is said to write is not also taken to read only because it has a path:
// that is the least a path means.
func Join(given, guessed shape.Set) shape.Set {
	if given.Has(shape.FilesystemWrite) && !guessed.Has(shape.FilesystemWrite) {
		guessed &^= 1 << shape.FilesystemRead
	}
	return given | guessed
}

const fileShapes = shape.Set(1<<shape.FilesystemWrite | 1<<shape.FilesystemRead)

// Axes is which shapes an argument supplies by its name, where the tool has those
// of found. Of a tool that both reads and writes, such as a copy, what is called a
// source is read, unless the tool takes it away from there; any other path that
// could be either is judged as both.
func Axes(tool, argument string, found shape.Set) shape.Set {
	var takes shape.Set
	for _, s := range shape.All() {
		if s.Takes(argument) {
			takes = takes.With(s)
		}
	}
	return axes(argument, takes, found, moves(tool))
}

func axes(name string, takes, found shape.Set, moves bool) shape.Set {
	set := takes & found
	if set&fileShapes == fileShapes && !moves && namesSource(name) {
		set &^= 1 << shape.FilesystemWrite
	}
	return set
}

func namesSource(property string) bool {
	return slices.ContainsFunc(shape.Segments(property), func(s string) bool {
		return s == "src" || s == "source" || s == "sources"
	})
}

// moves reports whether the name of a tool says that it takes a file away from
// where it reads it.
func moves(tool string) bool {
	return slices.ContainsFunc(shape.Segments(tool), func(s string) bool {
		return s == "move" || s == "mv" || s == "rename"
	})
}

func first(s shape.Set) shape.Shape {
	for _, s := range s.Shapes() {
		return s
	}
	return shape.FilesystemWrite
}

func kindText(k jsontext.Kind) string {
	switch k {
	case '{':
		return "an object"
	case 't', 'f':
		return "a boolean"
	}
	return "a number"
}

// derive reads the text of one argument as s. A path whose last name is a link
// is two parameters: what the link leads to, and the entry that a rename or an
// unlink would touch.
func (w *walker) derive(params Params, s shape.Shape, l *leaf) Params {
	p := Param{Shape: s, Arg: l.arg}
	switch s {
	case shape.FilesystemWrite, shape.FilesystemRead:
		if w.plan.Resolve.Has(s) {
			p.Path = ResolvePath(l.text)
		} else {
			p.Path = ReadPath(l.text)
		}
		p.Why = p.Path.Fault
	case shape.ShellExec:
		p.Command = ReadCommand(l.text)
		p.Why = p.Command.Fault
		if len(p.Command.Words) == 0 && p.Why == "" {
			p.Why = "it has no word"
		}
	case shape.HTTPRequest:
		p.Target = ReadTarget(l.text)
		p.Why = p.Target.Fault
		if p.Why == "" {
			p.spelt = spelling(l.text, p.Target.Host)
		}
	case shape.SQLQuery:
		p.Query = ReadQuery(l.text, w.plan.Dialect)
		p.Why = p.Query.Fault
		if len(p.Query.Kinds) == 0 && p.Why == "" {
			p.Why = "it has no statement"
		}
	}
	if p.Why != "" {
		p.Fault = Ambiguous
	}
	params = append(params, p)
	if p.Fault == None && p.Path.Entry != p.Path.Clean {
		p.Path.Clean = p.Path.Entry
		params = append(params, p)
	}
	return params
}

// spelling is where text has the lower-case host in other letters; "" if it has
// it nowhere, as with a number that was read as an address.
func spelling(text, host string) string {
	lower := strings.ToLower(text)
	if at := strings.Index(lower, host); at >= 0 && len(lower) == len(text) {
		return text[at : at+len(host)]
	}
	return ""
}
