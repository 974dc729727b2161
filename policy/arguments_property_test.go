package policy_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aegis-aar/aegis/aar"
	"github.com/aegis-aar/aegis/policy"
	"github.com/go-json-experiment/json"
	"pgregory.net/rapid"
)

// What the property tests draw from: patterns with narrower ones behind them,
// and calls that meet them.
var (
	drawnPaths    = []string{"/a", "/a/b", "/a/b/c", "/a-b", "/A/b", "a/b", "/a/../c", "/c/.env", "/c/.ENV", "/a/x.txt", "~/a", "/a/\x00", "", "file:///a/b", "/c"}
	drawnGlobs    = []string{"/**", "/a/**", "/a/b/**", "/a/b", "/a/*", "/a/*.txt", "**/.env", "a/**", "/?", "~/a", "/c/**"}
	drawnHosts    = []string{"http://8.8.8.8/", "https://a.example/", "https://b.a.example:8443/", "http://10.1.2.3/", "http://10.9.2.3/", "http://169.254.169.254/", "http://localhost/", "http://0x7f.1/", "x@y", "http://metadata/", "[::1]:80", "https://a.example./"}
	drawnPatterns = []string{"a.example", "*.a.example", "b.a.example:8443", "8.8.8.8", "10.1.2.3", "localhost"}
	drawnCIDRs    = []string{"10.0.0.0/8", "10.1.0.0/16", "10.1.2.3/32", "127.0.0.0/8", "::1/128", "8.0.0.0/8", "169.254.0.0/16"}
	drawnCommands = []string{"ls", "ls -l", "git commit -m 'a b'", "ls; id", "ls $HOME", "'ls", "", "rm x", "/bin/ls"}
	drawnQueries  = []string{"SELECT 1", "DELETE FROM t", "INSERT INTO t VALUES (1)", "SELECT 1; SELECT 2", "", "nonsense here", "DROP TABLE t"}
)

func drawList(t *rapid.T, label string, from []string) []string {
	return rapid.SliceOfNDistinct(rapid.SampledFrom(from), 0, 6, rapid.ID[string]).Draw(t, label)
}

func yamlList(list []string) string {
	quotedAll := make([]string, len(list))
	for i, s := range list {
		quotedAll[i] = jsonText(s)
	}
	return "[" + strings.Join(quotedAll, ", ") + "]"
}

// drawSections draws constraints of every shape, each given or not.
func drawSections(t *rapid.T, label string) map[string]map[string]string {
	out := map[string]map[string]string{}
	given := func(key string) bool { return rapid.Bool().Draw(t, label+key) }
	flag := func(key string) string { return fmt.Sprint(rapid.Bool().Draw(t, label+key)) }
	put := func(shape string, keys ...[2]string) {
		if !given(shape) {
			return
		}
		out[shape] = map[string]string{}
		for _, k := range keys {
			if given(shape + k[0] + " given") {
				out[shape][k[0]] = k[1]
			}
		}
	}
	for _, s := range []string{"filesystem_write", "filesystem_read"} {
		put(s, [2]string{"allow_paths", yamlList(drawList(t, label+"allow", drawnGlobs))}, [2]string{"deny_paths", yamlList(drawList(t, label+"deny", drawnGlobs))},
			[2]string{"path_arg", rapid.SampledFrom([]string{"path", "x", "/list/path", "nowhere"}).Draw(t, label+"arg")})
	}
	put("shell_exec", [2]string{"allow", flag("allow")}, [2]string{"allow_commands", yamlList(drawList(t, label+"commands", []string{"ls", "git", "rm"}))})
	put("http_request", [2]string{"allow_hosts", yamlList(drawList(t, label+"hosts", drawnPatterns))}, [2]string{"deny_cidrs", yamlList(drawList(t, label+"cidrs", drawnCIDRs))},
		[2]string{"deny_private", flag("private")}, [2]string{"allow_cidrs", yamlList(drawList(t, label+"opened", drawnCIDRs))}, [2]string{"allow_unresolved", flag("unresolved")})
	put("sql_query", [2]string{"allow_readonly_only", flag("readonly")}, [2]string{"dialect", rapid.SampledFrom([]string{"postgres", "sqlite"}).Draw(t, label+"dialect")})
	return out
}

func yamlSections(sections map[string]map[string]string) string {
	var shapes []string
	for s, keys := range sections {
		var parts []string
		for k, v := range keys {
			parts = append(parts, k+": "+v)
		}
		shapes = append(shapes, s+": {"+strings.Join(parts, ", ")+"}")
	}
	return "{" + strings.Join(shapes, ", ") + "}"
}

func drawArgumentPolicy(t *rapid.T, label string, bindings bool) string {
	src := "defaults: " + yamlSections(drawSections(t, label+"defaults")) + "\ntools:\n"
	for _, tool := range []string{"read_file", "t"} {
		src += "  " + tool + ": " + yamlSections(drawSections(t, label+tool)) + "\n"
	}
	if bindings && rapid.Bool().Draw(t, label+"bindings") {
		axis := rapid.SampledFrom([]string{"fs.read", "fs.write", "net", "exec", "sql"}).Draw(t, label+"axis")
		arg := rapid.SampledFrom([]string{"path", "url", "x", "/list/path"}).Draw(t, label+"arg")
		other := rapid.SampledFrom([]string{"command", "query", "y"}).Draw(t, label+"other")
		src += fmt.Sprintf("bindings: {t: {arguments: [{arg: %s, axis: %s}], other: [%s]}}\n", arg, axis, other)
	}
	if rapid.IntRange(0, 4).Draw(t, label+"default") == 0 {
		src += "default: deny\n"
	}
	return src
}

func drawCall(t *rapid.T) policy.Request {
	var members []string
	add := func(name, value string) { members = append(members, jsonText(name)+":"+value) }
	text := func(name string, from []string) string { return jsonText(rapid.SampledFrom(from).Draw(t, name)) }
	for _, m := range []struct {
		name string
		from []string
	}{{"path", drawnPaths}, {"dest", drawnPaths}, {"url", drawnHosts}, {"command", drawnCommands}, {"query", drawnQueries}, {"x", drawnPaths}, {"y", drawnHosts}, {"content", drawnQueries}} {
		switch rapid.IntRange(0, 15).Draw(t, "kind of "+m.name) {
		case 0, 1:
			add(m.name, text(m.name, m.from))
		case 2:
			add(m.name, "["+text(m.name, m.from)+","+text(m.name, m.from)+"]")
		case 3:
			add(m.name, rapid.SampledFrom([]string{"5", "null", "true", "[]", "{}", `{"a":1}`}).Draw(t, m.name))
		}
	}
	if rapid.IntRange(0, 9).Draw(t, "list") == 0 {
		add("list", `[{"path":`+text("path", drawnPaths)+`},{"path":`+text("path", drawnPaths)+`}]`)
	}
	return policy.Request{
		Tool:      rapid.SampledFrom([]string{"read_file", "write_file", "copy", "t", "fetch", "echo", "db"}).Draw(t, "tool"),
		Arguments: []byte("{" + strings.Join(rapid.Permutation(members).Draw(t, "order"), ",") + "}"),
	}
}

func decideDrawn(t *rapid.T, src string, req policy.Request) policy.Verdict {
	var v [1]policy.Verdict
	policy.NewEngine(parseDrawn(t, src)).Decide([]policy.Request{req}, v[:])
	return v[0]
}

// TestNarrowingNeverAdmitsMore: a shorter allow list, or one with a narrower
// pattern or network in it, and a longer deny list, admit nothing new.
func TestNarrowingNeverAdmitsMore(t *testing.T) {
	narrower := map[string][]string{
		"/**": {"/a/**", "/?", "/c/**"}, "/a/**": {"/a/b/**", "/a/*", "/a/b"}, "/a/*": {"/a/*.txt", "/a/b"}, "/a/b/**": {"/a/b"},
		"*.a.example": {"b.a.example:8443", "*.b.a.example"}, "a.example": {"a.example:443"},
		"10.0.0.0/8": {"10.1.0.0/16"}, "10.1.0.0/16": {"10.1.2.3/32"},
	}
	rapid.Check(t, func(t *rapid.T) {
		wide := drawSections(t, "")
		narrow := map[string]map[string]string{}
		for shape, keys := range wide {
			narrow[shape] = map[string]string{}
			for key, v := range keys {
				narrow[shape][key] = v
				if !strings.HasPrefix(v, "[") {
					continue
				}
				var list []string
				if err := json.Unmarshal([]byte(v), &list); err != nil {
					t.Fatal(err)
				}
				if strings.HasPrefix(key, "deny") {
					more := map[string][]string{"deny_paths": drawnGlobs, "deny_cidrs": drawnCIDRs}[key]
					list = append(list, rapid.SampledFrom(more).Draw(t, "more"))
				} else {
					var kept []string
					for _, entry := range list {
						switch fewer := narrower[entry]; rapid.IntRange(0, 2).Draw(t, "narrow "+entry) {
						case 1:
							kept = append(kept, entry)
						case 2:
							if fewer != nil {
								kept = append(kept, rapid.SampledFrom(fewer).Draw(t, "narrower"))
							}
						}
					}
					list = kept
				}
				narrow[shape][key] = yamlList(list)
			}
		}
		req := drawCall(t)
		before := decideDrawn(t, "defaults: "+yamlSections(wide)+"\n", req)
		after := decideDrawn(t, "defaults: "+yamlSections(narrow)+"\n", req)
		if after.Status == policy.Allowed && before.Status != policy.Allowed {
			t.Fatalf("%s %s: %s\n%s\n%s", req.Tool, req.Arguments, before.Reason, yamlSections(wide), yamlSections(narrow))
		}
	})
}

// TestMergeLaws: a tool without a section is judged by the defaults, with an
// empty one as well, with a copy of them too; and what a tool gives in full makes
// the defaults count for nothing.
func TestMergeLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		defaults, own, req := drawSections(t, "defaults"), drawSections(t, "own"), drawCall(t)
		empty, full := map[string]map[string]string{}, map[string]map[string]string{}
		for shape, keys := range defaults {
			empty[shape] = nil
			full[shape] = map[string]string{}
			for k, v := range keys {
				full[shape][k] = v
			}
		}
		for shape, keys := range own {
			if full[shape] == nil {
				full[shape] = map[string]string{}
			}
			for k, v := range keys {
				full[shape][k] = v
			}
		}
		status := func(defaults, tool map[string]map[string]string) policy.Status {
			return decideDrawn(t, "defaults: "+yamlSections(defaults)+"\ntools: {"+jsonText(req.Tool)+": "+yamlSections(tool)+"}\n", req).Status
		}
		if a, b := status(defaults, empty), status(defaults, defaults); a != b {
			t.Fatalf("an empty section is %v, a copy of the defaults %v", a, b)
		}
		// full is what is merged by hand; the shapes that it names are armed, so
		// that both sides name the same.
		names := map[string]map[string]string{}
		for shape := range full {
			names[shape] = own[shape]
		}
		if a, b := status(defaults, names), status(nil, full); a != b {
			t.Fatalf("merged %v, by hand %v", a, b)
		}
	})
}

// recordOf is the outcome of a decided Call, as wrap writes it.
func recordOf(t *rapid.T, req policy.Request, v policy.Verdict, hash aar.PolicySetHash) string {
	t.Helper()
	axes := ""
	if v.Derived {
		derived, err := json.Marshal(v.Params.Recorded())
		if err != nil {
			t.Fatal(err)
		}
		axes = `"derived":` + string(derived)
	}
	verdict := wasAllowed
	if v.Status != policy.Allowed {
		verdict = wasDenied
	}
	line := call(req.Tool, verdict, axes)
	return strings.Replace(line, `"policy_set_hash":"`+zeros, `"policy_set_hash":"`+hash.String(), 1)
}

func recheckOne(t *rapid.T, s *policy.Set, record string) (out policy.Rechecked) {
	t.Helper()
	_, err := policy.Recheck(strings.NewReader(record), s, func(r *policy.Rechecked) error {
		out = *r
		return nil
	}, func(n policy.Note) { t.Fatal(n) })
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestTheRecordJudgesAsTheCall: what was decided on a call is decided again on
// its record, by the same policy for certain; by another one the answer is the
// one the call would have got, or that it cannot be told.
func TestTheRecordJudgesAsTheCall(t *testing.T) {
	told := 0
	rapid.Check(t, func(t *rapid.T) {
		first, second := drawArgumentPolicy(t, "first", true), drawArgumentPolicy(t, "second", false)
		if rapid.Bool().Draw(t, "bindings in the second") {
			first, second = drawArgumentPolicy(t, "first again", false), drawArgumentPolicy(t, "second again", true)
		}
		req := drawCall(t)
		v := decideDrawn(t, first, req)
		s := parseDrawn(t, first)
		record := recordOf(t, req, v, s.Hash())
		if r := recheckOne(t, s, record); r.Change != policy.Unchanged || r.Rule != v.MatchedRule {
			t.Fatalf("by the same policy: %s by %q, want %v by %q\n%s\n%s", r.Clause(), r.Rule, v.Status, v.MatchedRule, first, record)
		}
		if strings.Contains(first, "bindings") {
			return // what a binding sets aside is not in the record
		}
		want := decideDrawn(t, second, req)
		r := recheckOne(t, parseDrawn(t, second), record)
		if r.Change == policy.Indeterminate {
			return
		}
		told++
		if r.Now != want.Status {
			t.Fatalf("%s, want %v: %s\n%s\n%s\n%s %s\n%s", r.Clause(), want.Status, want.Reason, first, second, req.Tool, req.Arguments, record)
		}
	})
	if told == 0 {
		t.Error("every recheck under another policy was indeterminate")
	}
}

// TestSpellingsChangeNothing: what a kernel, a resolver or a shell does not see
// changes no verdict.
func TestSpellingsChangeNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		src := "defaults: " + yamlSections(drawSections(t, "")) + "\n"
		path := rapid.SampledFrom([]string{"/a", "/a/b", "/a/b/c", "/a/x.txt", "/c/.env", "a/b"}).Draw(t, "path")
		host := rapid.SampledFrom([]string{"a.example", "b.a.example", "8.8.8.8", "10.1.2.3", "127.0.0.1", "localhost"}).Draw(t, "host")
		command := rapid.SampledFrom([]string{"ls", "git", "rm"}).Draw(t, "command")
		numeric := map[string][]string{"8.8.8.8": {"0x8080808", "8.526344", "134744072"}, "10.1.2.3": {"10.1.515", "0xa.1.2.3"}, "127.0.0.1": {"127.1", "2130706433", "0177.0.0.1", "[::ffff:127.0.0.1]"}}
		pick := func(label string, of ...string) string { return rapid.SampledFrom(of).Draw(t, label) }
		for _, c := range []struct{ member, plain, odd string }{
			{"path", path, pick("odd path", strings.ReplaceAll(path, "/", "//"), strings.ReplaceAll(path, "/", "/./"), path+"/", strings.Replace(path, "/a", "/a/../a", 1))},
			{"url", "https://" + host + "/", pick("odd host", "HTTPS://"+strings.ToUpper(host)+"/", "https://"+host+"./x?y#z", "https://"+host+":443", "https://"+pick("number", append(numeric[host], host)...)+"/")},
			{"command", command + " -x", pick("odd command", "  "+command+"\t-x ", "'"+command+"' -x", command[:1]+`""`+command[1:]+" -x", `\`+command+" -x", command+" -x\n")},
		} {
			status := func(value string) string {
				v := decideDrawn(t, src, policy.Request{Tool: "t", Arguments: []byte("{" + jsonText(c.member) + ":" + jsonText(value) + "}")})
				return v.Status.String() + " " + string(v.Code)
			}
			if a, b := status(c.plain), status(c.odd); a != b {
				t.Fatalf("%q is %s, %q is %s\n%s", c.plain, a, c.odd, b, src)
			}
		}
	})
}
