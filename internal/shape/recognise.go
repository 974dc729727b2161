package shape

import "strings"

// Property is one property of a tool's input: declared in its schema, or
// present in a call.
type Property struct {
	Name string
	Text bool // its value, or declared type, is a string or a list of strings, or is not known
}

// table is one reading of names: what each word says.
type table struct {
	kindOf func(rune) kind
	words  map[string]sense
	folds  bool // a property is read a second time without its case
}

// sense is what a word says, in the name of a tool or of a property.
type sense struct {
	named   Set  // of a tool: it does this
	given   Set  // of a property: it is what this is done to
	content bool // of a property: it is what is written
	path    bool // of a property: it is a path, whatever the tool is called
}

// longest bounds the words that are looked up: no longer one is in a table.
const longest = 16

// say adds to the senses of words.
func (t *table) say(add sense, words ...string) {
	for _, w := range words {
		if len(w) > longest {
			panic("shape: the bound on words is too small for " + w)
		}
		s := t.words[w]
		t.words[w] = sense{s.named | add.named, s.given | add.given, s.content || add.content, s.path || add.path}
	}
}

// contractTable is the guard contract's. A lock's capabilities hang on it:
// nothing may be added.
var contractTable = func() *table {
	t := &table{kindOf: contract, words: map[string]sense{}}
	t.sayContract()
	return t
}()

func (t *table) sayContract() {
	var none Set
	write, read := none.With(FilesystemWrite), none.With(FilesystemRead)
	shell, http, sql := none.With(ShellExec), none.With(HTTPRequest), none.With(SQLQuery)

	t.say(sense{named: write}, "write", "save", "create", "delete", "rm", "unlink", "mkdir", "chmod", "mv", "rename")
	t.say(sense{named: read}, "read", "cat", "open", "load", "get", "list")
	t.say(sense{named: shell}, "shell", "exec", "spawn", "system", "subprocess", "sudo", "bash", "sh", "cmd", "powershell")
	t.say(sense{named: http}, "fetch", "http", "request", "curl", "download", "webhook")
	t.say(sense{named: sql}, "sql", "query", "execute", "db")

	t.say(sense{given: write}, "path", "file", "filename", "dest", "target")
	t.say(sense{given: read}, "path", "file", "filename", "src", "source")
	t.say(sense{given: shell}, "command", "cmd", "script", "shell")
	t.say(sense{given: http}, "url", "uri", "endpoint", "host", "hostname")
	t.say(sense{given: sql}, "query", "sql", "statement")
	t.say(sense{content: true}, "content", "data", "body", "text", "bytes", "payload")
}

// policyTable is what a policy judges by: the contract's and, since every
// argument that names something is judged, more verbs, plurals and the words
// for directories.
var policyTable = func() *table {
	t := &table{kindOf: house, words: map[string]sense{}, folds: true}
	t.sayContract()
	var none Set
	write, read := none.With(FilesystemWrite), none.With(FilesystemRead)
	shell, http, sql := none.With(ShellExec), none.With(HTTPRequest), none.With(SQLQuery)

	t.say(sense{named: write}, "edit", "move", "append", "patch", "truncate", "put", "post",
		"remove", "replace", "insert", "modify", "update", "overwrite", "touch", "rmdir", "erase", "trash", "link", "symlink", "extract", "unzip", "download")
	// These read one path and write another.
	t.say(sense{named: write | read}, "copy", "upload")

	t.say(sense{given: write | read, path: true},
		"path", "paths", "pathname", "file", "files", "filename", "filenames", "filepath", "filepaths",
		"dir", "dirs", "directory", "directories", "folder", "folders")
	t.say(sense{given: write}, "destination", "src")
	t.say(sense{given: read}, "sources")
	t.say(sense{given: shell}, "commands", "cmds", "scripts")
	t.say(sense{given: http}, "urls", "uris", "endpoints", "hosts", "hostnames")
	t.say(sense{given: sql}, "queries", "statements")
	t.say(sense{content: true}, "contents", "write")
	return t
}()

// Recognise is what a policy takes the tool to do. A tool none of whose names
// say what it does with a path reads it, at the least.
func Recognise(tool string, props []Property) Set {
	return policyTable.recognise(tool, props) | contractTable.recognise(tool, props)
}

// RecogniseContract is what the guard contract takes the tool to do: the
// capabilities of its lock.
func RecogniseContract(tool string, props []Property) Set {
	return contractTable.recognise(tool, props)
}

// Takes reports whether a property of that name supplies what the shape is
// about: its path, command line, URL or host, or query. A write takes sources
// as well, although a source alone does not make a tool a writer: what is moved
// away is written too.
func (s Shape) Takes(property string) bool {
	given := policyTable.ofProperty(property).given
	return given.Has(s) || s == FilesystemWrite && given.Has(FilesystemRead)
}

// of is what the words of a name say together.
func (t *table) of(name string) (all sense) {
	walk(name, t.kindOf, func(segment string) {
		// A letter that folds into ASCII takes up to three bytes.
		if len(segment) > 3*longest {
			return
		}
		s := t.words[strings.ToLower(segment)]
		all.named |= s.named
		all.given |= s.given
		all.content = all.content || s.content
		all.path = all.path || s.path
	})
	return all
}

// ofProperty is what the name of a property says. Some servers fill in a member
// that differs from theirs by case only (Go's encoding/json does, with simple
// folding): pAth is a path to them.
func (t *table) ofProperty(name string) sense {
	said := t.of(name)
	if !t.folds {
		return said
	}
	folded := strings.ReplaceAll(strings.ToLower(name), "ſ", "s") // long s; ToLower has the Kelvin sign
	if folded == name {
		return said
	}
	again := t.of(folded)
	said.given |= again.given
	said.content = said.content || again.content
	said.path = said.path || again.path
	return said
}

func (t *table) recognise(tool string, props []Property) Set {
	named := t.of(tool).named
	var all sense // of the properties
	for _, p := range props {
		s := t.ofProperty(p.Name)
		if !p.Text {
			s.given &^= Set(0).With(ShellExec)
		}
		all.given |= s.given
		all.content = all.content || s.content
		all.path = all.path || s.path
	}

	found := (named | all.given) &^ Set(0).With(FilesystemWrite).With(FilesystemRead)
	// A verb such as get or delete says nothing without a path to do it to.
	if all.given.Has(FilesystemWrite) && (named.Has(FilesystemWrite) || all.content) {
		found = found.With(FilesystemWrite)
	}
	if all.given.Has(FilesystemRead) && named.Has(FilesystemRead) {
		found = found.With(FilesystemRead)
	}
	if all.path && !found.Has(FilesystemWrite) {
		found = found.With(FilesystemRead)
	}
	return found
}
