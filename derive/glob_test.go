package derive

import (
	"strconv"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"
)

func globs(t *testing.T, patterns ...string) []Glob {
	t.Helper()
	var all []Glob
	for _, p := range patterns {
		g, err := ParseGlob(p)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, g)
	}
	return all
}

func anyGlob(list []Glob, clean string, match func(Glob, string) bool) bool {
	for _, g := range list {
		if match(g, clean) {
			return true
		}
	}
	return false
}

func TestGlobMatch(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ pattern, matches, misses string }{
		{"/srv/x/**", "/srv/x /srv/x/a /srv/x/a/b /srv/x/.a", "/srv/x-other /srv/x-other/a /srv /srv/X srv/x/a /"},
		{"/srv/x", "/srv/x", "/srv/x/a srv/x"},
		{"/srv/*", "/srv/a /srv/.a", "/srv /srv/a/b"},
		{"/srv/*.key", "/srv/a.key /srv/.key", "/srv/a.keys /srv/a/b.key"},
		{"/q/?.log", "/q/a.log /q/\u00e9.log", "/q/ab.log /q/.log"},
		{"/a/**/z", "/a/z /a/b/z /a/b/c/z /a/z/z", "/a /a/b /a/z/b"},
		{"/a/**/b/**/c", "/a/b/c /a/x/b/y/c /a/b/b/c/c", "/a/c /a/b /a/c/b"},
		{"/**", "/ /a /a/b", ". a"},
		{"/", "/", "/a . a"},
		{"**", ". / a /a /a/b a/b", ""},
		{"**/*.env", ".env a/.env /a/.env /.env prod.env", ".env.local prod.env.bak / ."},
		{"**/.ssh/**", ".ssh /home/u/.ssh /home/u/.ssh/id a/.ssh/b", "/home/u/.sshx /home/ssh"},
		{"*", "a .a", "/a a/b . /"},
		{"rel/**", "rel rel/a", "/rel /rel/a relx ."},
		{"rel/*.txt", "rel/a.txt", "/rel/a.txt rel/d/a.txt"},
		{"*/**", "a a/b", ". / /a"},
		{"/a/**/**/b", "/a/b /a/x/b", "/a"},
		{"/a/b**c", "/a/bc /a/bxc", "/a/b/c"},
		{"/a/*b*c*", "/a/bc /a/xbxcx /a/bbcc", "/a/cb /a/b"},
		// Nothing else is magic.
		{"/a/[bc]", "/a/[bc]", "/a/b"},
		{"/a/{b,c}", "/a/{b,c}", "/a/b"},
		{"/a/!b", "/a/!b", "/a/c"},
	} {
		g := globs(t, tt.pattern)[0]
		for _, p := range strings.Fields(tt.matches) {
			if !g.Match(p) || !g.MatchFold(p) {
				t.Errorf("%s misses %s", tt.pattern, p)
			}
		}
		for _, p := range strings.Fields(tt.misses) {
			if g.Match(p) {
				t.Errorf("%s matches %s", tt.pattern, p)
			}
		}
		if g.Match("") || g.MatchFold("") {
			t.Errorf("%s matches the empty path", tt.pattern)
		}
		if never := g.Never(); never != "" {
			t.Errorf("%s: %s", tt.pattern, never)
		}
		if g.String() != tt.pattern {
			t.Error(g)
		}
	}
}

func TestGlobMatchFold(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ pattern, matches, misses string }{
		{"/srv/Key", "/srv/key /SRV/KEY /srv/\u212aey", "/srv/keys"},
		{"/srv/\u212aey", "/srv/key /srv/Key", "/srv/ey"},
		{"/stra\u00dfe", "/STRA\u1e9eE /Stra\u00dfe", "/strasse"},
		{"/caf\u00e9", "/caf\u00e9 /CAFE\u0301 /Caf\u00c9", "/cafe"},
		{"/caf?", "/caf\u00e9 /cafe\u0301", "/caf /cafes"},
		{"/caf??", "/cafe\u0301 /CAFE\u0301", "/caf"},
		{"/\u03c3", "/\u03c2 /\u03a3", "/s"},
		{"/.ssh/*", "/.s\u200dsh/x /.ss\u00adh/x /.\u017fsh/x", "/.ssh"},
		{"/a\u200db", "/ab /AB", "/a-b"},
		{"/\uac00", "/\u1100\u1161", "/\u1100"},
	} {
		g := globs(t, tt.pattern)[0]
		for _, p := range strings.Fields(tt.matches) {
			if !g.MatchFold(p) {
				t.Errorf("%s misses %+q", tt.pattern, p)
			}
		}
		for _, p := range strings.Fields(tt.misses) {
			if g.MatchFold(p) {
				t.Errorf("%s matches %+q", tt.pattern, p)
			}
		}
	}
}

// The scripts that are folded without a look have no case.
func TestFoldRune(t *testing.T) {
	t.Parallel()
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if ignorable(r) {
			continue
		}
		for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
			if foldRune(other) != foldRune(r) {
				t.Errorf("%U and %U fold to %U and %U", r, other, foldRune(r), foldRune(other))
			}
		}
		if folded := foldRune(r); foldRune(folded) != folded || r < 0x80 && folded >= 0x80 {
			t.Errorf("%U folds to %U", r, folded)
		}
	}
}

// Letters with marks are equal in every case and in every normalisation form.
func TestFoldText(t *testing.T) {
	t.Parallel()
	for r := rune(0x80); r <= 0x1ffff; r++ {
		if unicode.SimpleFold(r) == r && norm.NFD.IsNormalString(string(r)) || ignorable(r) {
			continue
		}
		if r == iotaBelow || r == '\u1fbe' {
			continue // a mark that is a letter in another case has no place of its own
		}
		for _, mark := range []string{"", "\u0301", "\u0308", "\u0345", "\u030c", "\u0331", "\u0342\u0345"} {
			text := string(r) + mark
			want := foldText(text)
			for _, other := range []string{
				norm.NFC.String(text), norm.NFD.String(text), want, norm.NFD.String(want),
				strings.Map(unicode.SimpleFold, text),
				strings.Map(unicode.SimpleFold, norm.NFC.String(text)), strings.Map(unicode.SimpleFold, norm.NFD.String(text)),
				strings.Map(unicode.ToUpper, norm.NFD.String(text)), strings.Map(unicode.ToLower, norm.NFD.String(text)),
			} {
				if got := foldText(other); got != want {
					t.Errorf("%+q folds to %+q, but %+q to %+q", text, want, other, got)
				}
			}
		}
	}
}

// A path prefix ends at a separator, and a name that goes on is another name.
func TestGlobBoundaries(t *testing.T) {
	t.Parallel()
	allow := globs(t, "/srv/share/**")
	deny := globs(t, "/etc/keys/**", "**/*.env")
	for raw, want := range map[string]bool{
		"/srv/share-old/x":          false,
		"/srv/share/../share-old/x": false,
		"/srv//share/./a":           true,
		"///srv/share/a":            true,
		"/srv/share":                true,
		"/srv/share/":               true,
		"srv/share/a":               false,
		"":                          false,
	} {
		if p := ReadPath(raw); (p.Fault == "" && anyGlob(allow, p.Clean, Glob.Match)) != want {
			t.Errorf("allow %q: %v, want %v", raw, !want, want)
		}
	}
	for raw, want := range map[string]bool{
		"/etc/keys":        true,
		"/etc/keys/":       true,
		"/etc/keysmith/x":  false,
		".env":             true,
		"a/.env":           true,
		"/a/.env":          true,
		".env.local":       false,
		"prod.env.bak":     false,
		"/x/../etc/keys/k": true,
	} {
		if p := ReadPath(raw); p.Fault != "" || anyGlob(deny, p.Clean, Glob.MatchFold) != want {
			t.Errorf("deny %q: %v, want %v (%s)", raw, !want, want, p.Fault)
		}
	}
}

func TestGlobNever(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{
		"", "/a//b", "/a/./b", "/a/../b", "../a/**", "./a", "/a/", "/a/**/", "//a", `/a\b/*`, `C:\x\*`, "~/x/**", "C:/*",
		"/a\x00", "/a\n", "file:///a/*", " /a", "/a ", "/\u202ea", "/\uff0e\uff0e/a", "/" + strings.Repeat("a", MaxPath),
	} {
		g := globs(t, pattern)[0]
		if g.Never() == "" {
			t.Errorf("%.40q can match", pattern)
		}
	}
	for _, pattern := range []string{"/", "**", "/a/**", "~/x", `C:\x`, `\\host\k`, "?:/x", "/a*b/?", ".*", "..*/x", "%2?"} {
		if never := globs(t, pattern)[0].Never(); never != "" {
			t.Errorf("%q: %s", pattern, never)
		}
	}
}

func TestGlobErrors(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{strings.Repeat("a", MaxGlob+1), "/\xff"} {
		if _, err := ParseGlob(pattern); err == nil {
			t.Errorf("%.20q is a pattern", pattern)
		}
	}
}

var anyGlobText = rapid.Custom(func(t *rapid.T) string {
	part := rapid.SampledFrom([]string{"**", "**", "*", "a", "b", "srv", "*.env", "?", "a*", "*a*", "??", "\u00e9", "e\u0301", "\u00c9*", "K", "\u212a", "?\u0301", "a\u200db", "*\u200d*"})
	pattern := strings.Join(rapid.SliceOfN(part, 1, 5).Draw(t, "parts"), "/")
	if rapid.Bool().Draw(t, "absolute") {
		pattern = "/" + pattern
	}
	return pattern
})

// slowGlob is the definition, by recursion on both.
func slowGlob(pattern, clean []string) bool {
	switch {
	case len(pattern) == 0:
		return len(clean) == 0
	case pattern[0] == "**":
		return slowGlob(pattern[1:], clean) || len(clean) > 0 && slowGlob(pattern, clean[1:])
	case len(clean) == 0:
		return false
	}
	return slowSegment([]rune(pattern[0]), []rune(clean[0])) && slowGlob(pattern[1:], clean[1:])
}

func slowSegment(pattern, name []rune) bool {
	switch {
	case len(pattern) == 0:
		return len(name) == 0
	case pattern[0] == '*':
		return slowSegment(pattern[1:], name) || len(name) > 0 && slowSegment(pattern, name[1:])
	case len(name) == 0:
		return false
	}
	return (pattern[0] == '?' || pattern[0] == name[0]) && slowSegment(pattern[1:], name[1:])
}

func slowMatch(pattern, clean string) bool {
	parts := func(s string) []string {
		if s = strings.TrimPrefix(s, "/"); s == "" || s == "." {
			return nil
		}
		return strings.Split(s, "/")
	}
	absolute := strings.HasPrefix(clean, "/")
	if strings.HasPrefix(pattern, "/") != absolute && !(absolute && strings.HasPrefix(pattern+"/", "**/")) {
		return false
	}
	return slowGlob(parts(pattern), parts(clean))
}

func TestGlobEqualsItsDefinition(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		pattern, clean := anyGlobText.Draw(t, "pattern"), anyCleanPath.Draw(t, "path")
		g, err := ParseGlob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := g.Match(clean), slowMatch(pattern, clean); got != want {
			t.Fatalf("%q matches %q: %v, by definition %v", pattern, clean, got, want)
		}
		if g.Match(clean) && !g.MatchFold(clean) {
			t.Fatalf("%q matches %q, but not when folded", pattern, clean)
		}
		for _, other := range []string{strings.ToUpper(clean), strings.ToLower(clean)} {
			if g.Match(other) && !g.MatchFold(clean) {
				t.Fatalf("%q matches %q, but folded it does not match %q", pattern, other, clean)
			}
		}
	})
}

// A pattern made narrower never matches more: a wildcard replaced by a text it
// stands for, or a segment put after what ended in **.
func TestNarrowedGlobMatchesNoMore(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		wide := anyGlobText.Draw(t, "pattern")
		parts := strings.Split(wide, "/")
		at := rapid.IntRange(0, len(parts)-1).Draw(t, "at")
		narrower := map[string][]string{"**": {"**/a", "a/**", "a", "*/**", "b/a"}, "*": {"a", "*a*", "?", "a*"}, "?": {"a", "\u00e9"}, "a*": {"a", "ab"}, "*.env": {".env", "a.env"}}[parts[at]]
		if narrower == nil || at == 0 && parts[at] == "**" {
			return
		}
		parts[at] = rapid.SampledFrom(narrower).Draw(t, "narrower")
		narrow := strings.Join(parts, "/")
		all := make([]Glob, 2)
		for i, pattern := range []string{wide, narrow} {
			var err error
			if all[i], err = ParseGlob(pattern); err != nil {
				t.Fatal(err)
			}
		}
		clean := anyCleanPath.Draw(t, "path")
		if all[1].Match(clean) && !all[0].Match(clean) || all[1].MatchFold(clean) && !all[0].MatchFold(clean) {
			t.Fatalf("%q matches %q, the wider %q does not", narrow, clean, wide)
		}
	})
}

// What a kernel does not see changes no verdict.
func TestSpellingChangesNoVerdict(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		g, err := ParseGlob(anyGlobText.Draw(t, "pattern"))
		if err != nil {
			t.Fatal(err)
		}
		clean := anyCleanPath.Draw(t, "path")
		a, b := ReadPath(clean), ReadPath(respell(t, clean))
		if a.Fault != b.Fault || a.Fault == "" && (g.Match(a.Clean) != g.Match(b.Clean) || g.MatchFold(a.Clean) != g.MatchFold(b.Clean)) {
			t.Fatalf("%q: %+v, %+v", g, a, b)
		}
	})
}

// FuzzGlob: matching never panics, folded matching takes all that exact
// matching takes, and a pattern that can never match matches no normal form.
func FuzzGlob(f *testing.F) {
	for _, pair := range [][2]string{{"/a/**", "/a/b"}, {"**/*.env", ".env"}, {"?", "\u00e9"}, {"/caf\u00e9", "/CAFE\u0301"}, {"a//b", "a/b"}, {"*a*a*b", "aaaa"}, {"/**/a/**", "/a"}} {
		f.Add(pair[0], pair[1])
	}
	f.Fuzz(func(t *testing.T, pattern, raw string) {
		g, err := ParseGlob(pattern)
		if err != nil {
			return
		}
		g.Match(raw)
		g.MatchFold(raw)
		p := ReadPath(raw)
		if p.Fault != "" {
			return
		}
		exact, folded := g.Match(p.Clean), g.MatchFold(p.Clean)
		if exact && !folded {
			t.Fatalf("%q matches %q, but not folded", pattern, p.Clean)
		}
		if never := g.Never(); exact && never != "" {
			t.Fatalf("%q matches %q although %s", pattern, p.Clean, never)
		}
		if self, err := ParseGlob(p.Clean); err == nil && !strings.ContainsAny(p.Clean, "*?") && (!self.Match(p.Clean) || self.Never() != "") && p.Clean != "." {
			t.Fatalf("%q does not match itself: %s", p.Clean, self.Never())
		}
	})
}

func BenchmarkGlob(b *testing.B) {
	for _, bb := range []struct{ name, pattern, path string }{
		{"Prefix", "/directory-name0/**", strings.Repeat("/directory-name0", 64)},
		{"Anywhere", "**/.ssh/**", strings.Repeat("/directory-name0", 64)},
		{"Suffix", "**/*.env", strings.Repeat("/directory-name0", 64)},
		{"Text", "**/.ssh/**", strings.Repeat("/\u00e9t\u00e9-\u65e5\u672c-%", 64)},
	} {
		g, err := ParseGlob(bb.pattern)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(bb.name+"/Match", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				g.Match(bb.path)
			}
		})
		b.Run(bb.name+"/MatchFold", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				g.MatchFold(bb.path)
			}
		})
	}
}

func BenchmarkGlobDoubling(b *testing.B) {
	for _, bb := range []struct{ pattern, piece string }{
		{"/**/a/**/a/**/b", "/a"}, {"/**/*a*a*a*b", "a"}, {"/**/a/a/a/a/b", "/a"}, {"**/*\u00e9*?b", "e\u0301"},
	} {
		g, err := ParseGlob(bb.pattern)
		if err != nil {
			b.Fatal(err)
		}
		for kib := 1; kib <= 1024; kib *= 2 {
			clean := "/x" + strings.Repeat(bb.piece, (kib<<10)/len(bb.piece))
			b.Run(bb.pattern[1:]+"/"+strconv.Itoa(kib)+"KiB", func(b *testing.B) {
				b.SetBytes(int64(len(clean)))
				for b.Loop() {
					g.MatchFold(clean)
				}
			})
		}
	}
}
