package derive

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aegis-aar/aegis/internal/shape"
)

// read is what a call says it would touch, a parameter a word.
func read(tool string, arguments []byte, plan Plan) string {
	params, _ := Call(tool, arguments, &plan)
	var out []string
	for _, p := range params {
		s := p.Shape.Axis() + p.Arg
		switch {
		case p.Fault == Missing:
			s += "=missing"
		case p.Fault == Ambiguous:
			s += "=ambiguous"
		default:
			s += "=" + p.Path.Clean + strings.Join(p.Command.Words, "_") + p.Target.Host + strings.Join(p.Query.Kinds, "_")
		}
		out = append(out, s)
	}
	return strings.Join(out, " ")
}

// TestCallByNames: without lock and binding the names decide.
func TestCallByNames(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, tool, arguments, want string }{
		{"one path", "read_file", `{"path":"/srv/a"}`, "fs.read/path=/srv/a"},
		{"normal form", "read_file", `{"path":"/srv/./b/../a/"}`, "fs.read/path=/srv/a"},
		{"every path, in argument order", "save", `{"file":"/b","path":"/a","content":"x"}`, "fs.write/file=/b fs.write/path=/a"},
		{"a list, element by element", "read_multiple_files", `{"paths":["/a","/b"]}`, "fs.read/paths/0=/a fs.read/paths/1=/b"},
		{"a list of lists", "read_multiple_files", `{"paths":[["/a"],["/b"]]}`, "fs.read/paths/0/0=/a fs.read/paths/1/0=/b"},
		{"below objects and lists", "apply", `{"edits":[{"path":"/a"},{"path":"/b"}]}`, "fs.read/edits/0/path=/a fs.read/edits/1/path=/b"},
		{"a name that needs escapes", "read", `{"a/b~c path":"/x"}`, "fs.read/a~1b~0c path=/x"},
		{"an escaped member name", "read", `{"p\u0061th":"/x"}`, "fs.read/path=/x"},
		{"several shapes", "multi", `{"url":"https://example.com/","command":"ls -l","path":"/x","content":"y","query":"SELECT 1"}`,
			"net/url=example.com exec/command=ls_-l fs.write/path=/x sql/query=SELECT"},
		{"a move writes both ends", "move_file", `{"source":"/a","destination":"/b"}`, "fs.write/source=/a fs.write/destination=/b"},
		{"a copy reads one and writes the other", "copy_file", `{"source":"/a","destination":"/b"}`, "fs.read/source=/a fs.write/destination=/b"},
		{"an upload both reads and writes a path of either kind", "upload", `{"file":"/a"}`, "fs.write/file=/a fs.read/file=/a"},
		{"nothing to judge", "echo", `{"message":"/etc/passwd"}`, ""},
		{"no arguments", "echo", ``, ""},
		{"null arguments", "echo", `null`, ""},
		{"null is absent", "exec", `{"command":null}`, "exec=missing"},
		{"an empty list is absent", "fetch", `{"urls":[]}`, "net=missing"},
		{"a shape that nothing supplies", "fetch_inbox", `{}`, "net=missing"},
		{"a number for a path", "save", `{"file":"/a","path":5,"content":""}`, "fs.write/file=/a fs.write/path=missing"},
		{"a number that is about paths", "read_file", `{"path":"/a","max_files":5}`, "fs.read/path=/a"},
		{"a boolean is no path", "read_file", `{"path":"/a","file":true}`, "fs.read/path=/a"},
		{"a number and a boolean make no shape", "search", `{"topic":"x","max_files":5,"errorPath":true}`, ""},
		{"an object for a path", "read_file", `{"file":"/a","path":{"value":"/b"}}`, "fs.read/file=/a fs.read/path=missing"},
		{"an object whose members are called by paths", "push_files", `{"files":{"/etc/path":"/srv/a"},"content":""}`, "fs.write/files/~1etc~1path=/srv/a fs.write/files=missing"},
		{"a list of objects that hold the path under another name", "read_file", `{"files":[{"name":"/etc/passwd"}]}`, "fs.read/files/0=missing"},
		{"an object whose members are called by paths, with a path below", "push_files", `{"files":{"/etc/passwd":{"path":"/srv/a"}},"content":""}`, "fs.write/files/~1etc~1passwd/path=/srv/a fs.write/files=missing"},
		{"members called by paths, in an object of a longer name", "push", `{"source_files":{"lib/a.c":"x"}}`, "fs.read/source_files=missing"},
		{"an object of a longer name", "push", `{"file_options":{"mode":"x"}}`, ""},
		{"a name in another case", "read_file", `{"pAth":"/a","ſOurce":"/b"}`, "fs.read/pAth=/a fs.read/ſOurce=/b"},
		{"a list spelt as text", "read_file", `{"paths":"[\"/a\"]"}`, "fs.read/paths=ambiguous"},
		{"an object with a path", "read_file", `{"file":{"path":"/a","mode":"r"}}`, "fs.read/file/path=/a"},
		{"an exact number is never text", "read_file", `{"path":9007199254740993}`, "fs.read/path=missing"},

		{"a duplicate member", "echo", `{"a":1,"a":2}`, "fs.write=ambiguous"},
		{"a duplicate member behind an object that has it", "echo", `{"a":1,"b":{"a":2,"b":{"a":3}},"a":4}`, "fs.write=ambiguous"},
		{"a duplicate member that is escaped", "echo", `{"a":1,"\u0061":2}`, "fs.write=ambiguous"},
		{"one name in many objects", "echo", `{"a":{"a":{"a":1},"b":[{"a":1},{"a":1}]},"b":{"a":1}}`, ""},
		{"half a surrogate", "echo", `{"a":"\ud800"}`, "fs.write=ambiguous"},
		{"bytes behind", "echo", `{} {}`, "fs.write=ambiguous"},
		{"not JSON", "echo", `{"a":`, "fs.write=ambiguous"},
		{"a list of arguments", "exec", `["ls"]`, "exec=ambiguous"},
		{"text for arguments", "echo", `"x"`, "fs.write=ambiguous"},
	} {
		var raw []byte
		if c.arguments != "" {
			raw = []byte(c.arguments)
		}
		if got := read(c.tool, raw, Plan{}); got != c.want {
			t.Errorf("%s: %s\n got %q\nwant %q", c.name, c.arguments, got, c.want)
		}
	}
}

func set(list ...shape.Shape) (s shape.Set) {
	for _, l := range list {
		s = s.With(l)
	}
	return s
}

// TestCallByPlan: what a policy, a lock or a binding says comes before names.
func TestCallByPlan(t *testing.T) {
	t.Parallel()
	named := func(s shape.Shape, pointer string) (n [shapes]string) {
		n[s] = pointer
		return n
	}
	bound := func(other []string, list ...Bound) Plan { return Plan{Binding: &Binding{Bound: list, Other: other}} }
	for _, c := range []struct {
		name, tool, arguments string
		plan                  Plan
		want                  string
	}{
		{"a shape the policy gives the tool", "run", `{"command":"ls"}`, Plan{Shapes: set(shape.ShellExec)}, "exec/command=ls"},
		{"a shape that no argument supplies", "run", `{"x":"ls"}`, Plan{Shapes: set(shape.ShellExec)}, "exec=missing"},
		{"a lock says all", "save", `{"path":"/a","content":"x","url":"http://x/"}`, Plan{Shapes: set(shape.FilesystemRead), Known: true}, "fs.read/path=/a"},
		{"a lock that says nothing", "save", `{"path":"/a","content":"x"}`, Plan{Known: true}, ""},
		{"path_arg adds to the guesses", "save", `{"o":"/a","path":"/b","content":""}`, Plan{Shapes: set(shape.FilesystemWrite), Named: named(shape.FilesystemWrite, "/o")}, "fs.write/o=/a fs.write/path=/b"},
		{"path_arg is absent", "save", `{"path":"/b","content":""}`, Plan{Shapes: set(shape.FilesystemWrite), Named: named(shape.FilesystemWrite, "/o")}, "fs.write/path=/b fs.write/o=missing"},
		{"path_arg is a number", "save", `{"o":1}`, Plan{Shapes: set(shape.FilesystemWrite), Named: named(shape.FilesystemWrite, "/o")}, "fs.write/o=missing"},
		{"path_arg of any tool that has it", "t", `{"o":"/a"}`, Plan{Named: named(shape.FilesystemRead, "/o")}, "fs.read/o=/a"},
		{"path_arg of a tool that has it not", "t", `{"x":"/a"}`, Plan{Named: named(shape.FilesystemRead, "/o")}, ""},
		{"path_arg below lists", "t", `{"l":[{"o":"/a"},{"o":"/b"}]}`, Plan{Shapes: set(shape.FilesystemRead), Named: named(shape.FilesystemRead, "/l/o")}, "fs.read/l/0/o=/a fs.read/l/1/o=/b"},

		{"a binding names the path", "t", `{"target_loc":"/a","x":"/b"}`, bound(nil, Bound{"/target_loc", shape.FilesystemRead}), "fs.read/target_loc=/a"},
		{"a binding overrides the axis", "copy", `{"source":"/a","dest":"/b"}`, bound(nil, Bound{"/source", shape.FilesystemWrite}, Bound{"/dest", shape.FilesystemRead}), "fs.write/source=/a fs.read/dest=/b"},
		{"a binding for two axes", "t", `{"p":"/a"}`, bound(nil, Bound{"/p", shape.FilesystemWrite}, Bound{"/p", shape.FilesystemRead}), "fs.write/p=/a fs.read/p=/a"},
		{"a binding through lists", "t", `{"l":[{"p":"/a"},{"p":"/b"}],"p":"/c"}`, bound([]string{"/p"}, Bound{"/l/p", shape.FilesystemRead}), "fs.read/l/0/p=/a fs.read/l/1/p=/b"},
		{"a bound name in another case", "t", `{"x":"/a","X":"/b"}`, bound(nil, Bound{"/x", shape.FilesystemRead}), "fs.read/x=/a fs.read/X=/b"},
		{"path_arg in another case", "t", `{"o":"/a","O":"/b"}`, Plan{Named: named(shape.FilesystemRead, "/o")}, "fs.read/o=/a fs.read/O=/b"},
		{"what is set aside is exact", "search_nodes", `{"query":"x","Query":"SELECT 1"}`, bound([]string{"/query"}), "sql/Query=SELECT"},
		{"what a binding sets aside", "search_nodes", `{"query":"x"}`, bound([]string{"/query"}), ""},
		{"with all that lies below", "t", `{"o":{"path":"/a","l":[{"url":"x"}]}}`, bound([]string{"/o"}), ""},
		{"a name that only begins the same", "t", `{"o":"x","op":{"path":"/a"}}`, bound([]string{"/o"}), "fs.read/op/path=/a"},
		{"the name of a bound tool says nothing", "fetch_inbox", `{}`, bound(nil), ""},
		{"what a binding does not name is guessed", "t", `{"x":"/a","url":"http://h/"}`, bound(nil, Bound{"/x", shape.FilesystemRead}), "fs.read/x=/a net/url=h"},
		{"a bound number", "t", `{"x":1}`, bound(nil, Bound{"/x", shape.FilesystemRead}), "fs.read/x=missing"},
		{"a bound boolean", "t", `{"x":true}`, bound(nil, Bound{"/x", shape.FilesystemRead}), "fs.read/x=missing"},
		{"a bound object", "t", `{"x":{"path":"/a"}}`, bound(nil, Bound{"/x", shape.FilesystemRead}), "fs.read/x/path=/a fs.read/x=missing"},
		{"a bound argument is absent", "t", `{}`, bound(nil, Bound{"/x", shape.FilesystemRead}), "fs.read=missing"},
		{"one of two bound arguments is absent", "t", `{"y":"/a"}`, bound(nil, Bound{"/x", shape.FilesystemRead}, Bound{"/y", shape.FilesystemRead}), "fs.read/y=/a"},
	} {
		if got := read(c.tool, []byte(c.arguments), c.plan); got != c.want {
			t.Errorf("%s: %s\n got %q\nwant %q", c.name, c.arguments, got, c.want)
		}
	}
}

// TestCallIsBounded: a call that would leave too much to judge is not judged.
func TestCallIsBounded(t *testing.T) {
	t.Parallel()
	paths := `{"paths":[` + strings.Repeat(`"/a",`, maxParams) + `"/a"]}`
	names := strings.Builder{}
	names.WriteByte('{')
	for i := range maxNames + 1 {
		fmt.Fprintf(&names, `"k%d":0,`, i)
	}
	names.WriteString(`"z":0}`)
	for _, arguments := range []string{paths, names.String(), strings.Repeat(`{"a":`, 20000) + "0" + strings.Repeat("}", 20000)} {
		params, _ := Call("read", []byte(arguments), &Plan{})
		if len(params) != 1 || params[0].Fault != Ambiguous || params[0].Arg != "" {
			t.Errorf("%d parameters of %.20s…", len(params), arguments)
		}
	}
	if params, _ := Call("read", []byte(`{"paths":[`+strings.Repeat(`"/a",`, maxParams-1)+`"/a"]}`), &Plan{}); len(params) != maxParams || params[maxParams-1].Fault != None {
		t.Errorf("%d parameters", len(params))
	}
}
