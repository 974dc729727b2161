package lock

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

func skeleton(t testing.TB, schema string) string {
	t.Helper()
	n, err := parseNode([]byte(schema))
	if err != nil {
		t.Fatal(err)
	}
	s, err := skeletonOf(n, true)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, p := range s.Props {
		line := p.Path + ":" + strings.Join(p.Type, "|")
		if p.Required {
			line += "!"
		}
		for _, v := range p.Enum {
			line += " =" + string(v)
		}
		for _, c := range p.Constraints {
			if c.Name != "additionalProperties" || string(c.Value) != "true" {
				line += " " + c.Name + "=" + string(c.Value)
			}
		}
		out = append(out, line)
	}
	return strings.Join(out, "; ")
}

func TestSkeleton(t *testing.T) {
	t.Parallel()
	for schema, want := range map[string]string{
		`{}`:                       `$root:`,
		`{"type":["b","a","b",1]}`: `$root:a|b`,
		`{"properties":{"b":{"type":"string"},"a":{"properties":{"c":{}}}},"required":["b","x",1]}`: `$root:; a:; a.c:; b:string!`,
		`{"properties":{"l":{"items":{"items":{"type":"null"}}},"t":{"items":[{}]},"x":true}}`:      `$root:; l:; l[]:; l[][]:null; t:; x:`,
		`{"additionalProperties":{"type":"string"},"maxLength":1.0,"format":"uri","title":"x"}`:     `$root: additionalProperties={"type":"string"} format="uri" maxLength=1`,
		// By type and then by text, as the peer sorts.
		`{"enum":["b",10,2,"a\"","a",null,1.5,[1],{"b":1,"a":2},true,false]}`: `$root: =null =false =true ={"a":2,"b":1} =1.5 =10 =2 =[1] ="a" ="a\"" ="b"`,
		`{"enum":[]}`: `$root:`,
		// Refs in the document are followed, also through another one; all else is opaque.
		`{"properties":{"a":{"$ref":"#/$defs/A"}},"$defs":{"A":{"$ref":"#/$defs/B"},"B":{"type":"string"}}}`:                                                    `$root:; a:string`,
		`{"properties":{"a":{"$ref":"#/definitions/x~1y%20z"}},"definitions":{"x/y z":{"type":"null"}}}`:                                                        `$root:; a:null`,
		`{"properties":{"a":{"$ref":"#/l/1"},"b":{"$ref":"#/l/01"},"c":{"$ref":"#/l/2"}},"l":[{},{"type":"x"}]}`:                                                `$root:; a:x; b: $ref="#/l/01"; c: $ref="#/l/2"`,
		`{"properties":{"a":{"$ref":"#"},"b":{"$ref":"https://e.x/"},"c":{"$ref":"#/no"},"d":{"$ref":1},"e":{"$ref":"#/$defs/A","title":""}},"$defs":{"A":{}}}`: `$root:; a: $ref="#"; b: $ref="https://e.x/"; c: $ref="#/no"; d: $ref="1"; e: $ref="#/$defs/A"`,
		// A cycle ends, by whichever name it is entered.
		`{"properties":{"a":{"$ref":"#/$defs/L"}},"$defs":{"L":{"properties":{"n":{"$ref":"#/$defs/L"}}}}}`:   `$root:; a:; a.n: _truncated=true`,
		`{"properties":{"a":{"$ref":"#/$defs/L"}},"$defs":{"L":{"properties":{"n":{"$ref":"#/%24defs/L"}}}}}`: `$root:; a:; a.n: _truncated=true`,
		`{"$ref":"#/$defs/A","$defs":{"A":{}}}`: `$root: $ref="#/$defs/A"`,
		// A lock is committed: no secret in it.
		`{"enum":["ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"],"pattern":"AKIAIOSFODNN7EXAMPLE"}`: `$root: ="ghp_…(len=40)" pattern="AKIA…(len=20)"`,
	} {
		if got := skeleton(t, schema); got != want {
			t.Errorf("%s\n%s\nnot\n%s", schema, got, want)
		}
	}
}

// Each of a chain of definitions refers to the next one twice: 2^40 properties.
func TestSchemaThatUnfolds(t *testing.T) {
	t.Parallel()
	var defs []string
	for i := range 40 {
		defs = append(defs, fmt.Sprintf(`"D%d":{"properties":{"a":{"$ref":"#/$defs/D%d"},"b":{"$ref":"#/$defs/D%d"}}}`, i, i+1, i+1))
	}
	schema := `{"properties":{"x":{"$ref":"#/$defs/D0"}},"$defs":{` + strings.Join(defs, ",") + `}}`
	begun := time.Now()
	_, err := New(surfaceOf(`{"name":"t","inputSchema":`+schema+`}`), PinOptions{Schema: Level4, Now: noon})
	if _, ok := errors.AsType[*SurfaceError](err); !ok || !strings.Contains(err.Error(), "unfolds to more than 20000 properties") {
		t.Error(err)
	}
	if took := time.Since(begun); took > limit {
		t.Errorf("it took %v", took)
	}
	// The gate does not even unfold it: it is no tool that was pinned.
	if d, err := NewGate(pin(t, surfaceOf(`{"name":"t"}`), Level4)).Page([]byte(tools(`{"name":"t","inputSchema":`+schema+`}`)), ""); err != nil || len(d) == 0 {
		t.Error(d, err)
	}
}

func TestSchemaThatIsDeep(t *testing.T) {
	t.Parallel()
	schema := strings.Repeat(`{"properties":{"a":`, 62) + "{}" + strings.Repeat("}}", 62)
	if got := skeleton(t, schema); strings.Contains(got, "_truncated") {
		t.Error("62 levels are truncated")
	}
	// A list of refs that leads far down.
	var defs []string
	for i := range 70 {
		defs = append(defs, fmt.Sprintf(`"D%d":{"properties":{"a":{"$ref":"#/$defs/D%d"}}}`, i, i+1))
	}
	schema = `{"properties":{"x":{"$ref":"#/$defs/D0"}},"$defs":{` + strings.Join(defs, ",") + `}}`
	if got := skeleton(t, schema); !strings.HasSuffix(got, "_truncated=true") {
		t.Error(got[len(got)-100:])
	}
}

func TestSchemaDrift(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ was, is, want string }{
		"required to optional":   {`{"properties":{"a":{}},"required":["a"]}`, `{"properties":{"a":{}}}`, "schema-constraint-relaxed"},
		"optional to required":   {`{"properties":{"a":{"maxLength":1}}}`, `{"properties":{"a":{"maxLength":1}},"required":["a"]}`, "schema-required-added"},
		"any type to one":        {`{}`, `{"type":"string"}`, "schema-type-narrowed"},
		"one type to any":        {`{"type":"string"}`, `{}`, "schema-type-broadened"},
		"fewer types":            {`{"type":["string","null"]}`, `{"type":"string"}`, "schema-type-narrowed"},
		"enum added":             {`{}`, `{"enum":[1]}`, "schema-enum-added"},
		"enum narrowed":          {`{"enum":[1,2]}`, `{"enum":[1]}`, "schema-enum-narrowed"},
		"enum of none":           {`{"enum":[1,2]}`, `{"enum":[]}`, "schema-enum-narrowed"},
		"minimum up":             {`{"minimum":1}`, `{"minimum":2}`, "schema-constraint-tightened"},
		"minimum is none":        {`{"minimum":1}`, `{"minimum":"1"}`, "schema-constraint-relaxed"},
		"a bound past a float":   {`{"maximum":9007199254740992}`, `{"maximum":9007199254740993}`, "schema-constraint-relaxed"},
		"pattern changed":        {`{"pattern":"a"}`, `{"pattern":"b"}`, "schema-constraint-tightened"},
		"properties of any kind": {`{"additionalProperties":{"type":"string"}}`, `{"additionalProperties":{"type":"null"}}`, "schema-modified"},
		"two facts of one": {`{"properties":{"a":{"type":"string"}},"required":["a"]}`, `{"properties":{"a":{"type":["string","null"]}}}`,
			"schema-constraint-relaxed, schema-type-broadened"},
	} {
		tool := `{"name":"t","inputSchema":`
		var got []string
		for _, d := range Compare(pin(t, surfaceOf(tool+c.was+"}"), Level3), pin(t, surfaceOf(tool+c.is+"}"), Level3)) {
			got = append(got, d.Class)
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%s: %s, not %s", name, strings.Join(got, ", "), c.want)
		}
	}
}

// What level 4 tells beyond level 3, one thing at a time.
func TestLevel4Drift(t *testing.T) {
	t.Parallel()
	const base = `{"name":"t","description":"d","inputSchema":{},"outputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}`
	for change, want := range map[[2]string]string{
		{`true`, `false`}: "tool-annotations-modified high",
		{`"annotations":{"readOnlyHint":true}`, `"x":1`}:      "tool-annotations-modified high",
		{`"object"`, `"array"`}:                               "schema-out-modified high",
		{`"outputSchema":{"type":"object"},`, ``}:             "schema-out-removed high",
		{`"name":"t"`, `"name":"t","title":"T"`}:              "definition-modified medium",
		{`"inputSchema":{}`, `"inputSchema":{},"_meta":null`}: "definition-modified medium",
		{`"d"`, `"d\u200b"`}:                                  "description-modified low",
	} {
		if !strings.Contains(base, change[0]) {
			t.Fatal(change)
		}
		now := strings.Replace(base, change[0], change[1], 1)
		d := Compare(pin(t, surfaceOf(base), Level4), pin(t, surfaceOf(now), Level4))
		if len(d) != 1 || d[0].Class+" "+d[0].Severity != want || d[0].Rule != "WRD-DRIFT-"+strings.ToUpper(d[0].Class) {
			t.Errorf("%v: %v", change, d)
		}
	}
	d := Compare(pin(t, surfaceOf(`{"name":"t"}`), Level4), pin(t, surfaceOf(`{"name":"t","outputSchema":{}}`), Level4))
	if classes(d) != "schema-out-added tools/t" {
		t.Error(d)
	}
}

func TestOtherDrift(t *testing.T) {
	t.Parallel()
	a := surfaceOf(toolA)
	b := surfaceOf(toolA)
	b.Args = []string{"--http"}
	if d := Compare(pin(t, a, Level4), pin(t, b, Level4)); classes(d) != "server-identity launch/command" || d[0].Severity != "critical" {
		t.Error(d)
	}
	if d := Compare(pin(t, a, Level3), pin(t, a, Level4)); classes(d) != "schema-version-migrated lock/schema_version" {
		t.Error(d)
	}
	approved := pin(t, a, Level4)
	if err := approved.Approve("alice", noon); err != nil {
		t.Fatal(err)
	}
	if d := Compare(approved, pin(t, surfaceOf(toolA, toolB), Level4)); classes(d) != "unapproved-change pin/approved_digest, tool-added tools/b" {
		t.Error(classes(d))
	}
	a.Resources = append(a.Resources, []byte(`{"uri":"x:1"}`), []byte(`{"uri":"x:2"}`))
	c := surfaceOf(toolA)
	c.Resources = append(c.Resources, []byte(`{"uri":"x:3"}`), []byte(`{"uri":"x:2","mimeType":"text/html"}`))
	if d := Compare(pin(t, a, Level4), pin(t, c, Level4)); classes(d) != "resource-removed resources/x:1, resource-modified resources/x:2, resource-added resources/x:3" {
		t.Error(classes(d))
	}
}

// A secret in what starts the server is in neither the lock nor its identity.
func TestSecretsOfTheCommand(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ one, two Surface }{
		"in a word":        {Surface{Args: []string{"--key=ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"}}, Surface{Args: []string{"--key=ghp_B1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"}}},
		"behind an option": {Surface{Args: []string{"--password", "Xa1!canary-77-x"}}, Surface{Args: []string{"--password", "Xa1!other-one-x"}}},
		"in a variable":    {Surface{Args: []string{"-e", "API_TOKEN=Xa1canary77QxPd"}}, Surface{Args: []string{"-e", "API_TOKEN=Xa1another7QxPd"}}},
		"in a query":       {Surface{URL: "https://e.x/mcp?key=Xa1canary77Qx&v=2"}, Surface{URL: "https://e.x/mcp?key=Xa1another7Qx&v=2"}},
		"in a path":        {Surface{URL: "https://e.x/s/sk-A1b2C3d4E5f6canary0K1l2/mcp"}, Surface{URL: "https://e.x/s/sk-AAb2C3d4E5f6xxxxxx0K1l2/mcp"}},
	} {
		one, two := pin(t, &c.one, Level4), pin(t, &c.two, Level4)
		if text := string(one.Bytes()); strings.Contains(text, "canary") || strings.Contains(text, "A1b2C3d4") {
			t.Errorf("%s: the secret is in the lock: %+v", name, one.Server)
		}
		if d := Compare(one, two); len(d) > 0 {
			t.Errorf("%s: %v", name, d)
		}
		if !strings.Contains(name, "query") && len(one.Findings) == 0 {
			t.Errorf("%s: nothing is told", name)
		}
	}
	// What is no secret tells servers apart.
	a, b := pin(t, &Surface{URL: "https://e.x/mcp?v=1"}, Level4), pin(t, &Surface{URL: "https://e.x/mcp?v=2"}, Level4)
	if d := Compare(a, b); len(d) != 1 {
		t.Error(d)
	}
}

// What cannot be pinned is said, with where it is.
func TestUnpinnable(t *testing.T) {
	t.Parallel()
	for tool, want := range map[string]string{
		`1`: "tools[0]: is no object", `{}`: "tools[0]: has no string name", `{"name":null}`: "tools[0]: has no string name",
		`{"name":"a","name":"a"}`:                                   "duplicate",
		`{"name":"a","Description":""}`:                             "a member that some readers take for description",
		`{"name":"a","x":"\ud800"}`:                                 "surrogate",
		`{"name":"a","x":` + strings.Repeat("1", maxNumber+1) + `}`: "a number of more than 1024 characters",
	} {
		_, err := New(surfaceOf(tool), PinOptions{Schema: Level4, Now: noon})
		if _, ok := errors.AsType[*SurfaceError](err); !ok || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: %v", tool, err)
		}
	}
	if _, err := New(surfaceOf(toolA, toolA), PinOptions{Schema: Level4, Now: noon}); err == nil || err.Error() != "tools/a: is declared twice" {
		t.Error(err)
	}
	// A resource that is listed twice is one, unless it is two.
	s := surfaceOf()
	s.Resources = append(s.Resources, []byte(`{"uri":"x:1"}`), []byte(`{"uri":"x:1"}`))
	if l := pin(t, s, Level4); len(l.Resources) != 1 {
		t.Error(l.Resources)
	}
	s.Resources = append(s.Resources, []byte(`{"uri":"x:1","name":"n"}`))
	if _, err := New(s, PinOptions{Schema: Level4, Now: noon}); err == nil || err.Error() != "resources/x:1: is declared twice" {
		t.Error(err)
	}
	if _, err := New(surfaceOf(), PinOptions{Schema: 2, Now: noon}); err == nil {
		t.Error("schema 2 was written")
	}
}
