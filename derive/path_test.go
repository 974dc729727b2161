package derive

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestReadPath(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ raw, clean string }{
		{"/srv/share/a", "/srv/share/a"},
		{"/srv//share/./a", "/srv/share/a"},
		{"///srv/share/a/", "/srv/share/a"},
		{"/srv/share/../b", "/srv/b"},
		{"/../..", "/"},
		{"/", "/"},
		{"//", "/"},
		{"//host/share", "/host/share"},
		{"srv/share/a", "srv/share/a"},
		{"./a//b/", "a/b"},
		{"a/..", "."},
		{".", "."},
		{"a/b/../../c", "c"},
		{"/srv/100%25 done.txt", "/srv/100%25 done.txt"},
		{"/srv/100%", "/srv/100%"},
		{"/srv/a..b.txt", "/srv/a..b.txt"},
		{"/srv/...hidden", "/srv/...hidden"},
		{"/srv/...", "/srv/..."},
		{"/srv/a%2fb", "/srv/a%2fb"},
		{"/srv/a~", "/srv/a~"},
		{"[slug]", "[slug]"},
		{"{a}", "{a}"},
		{"/srv/~u/x", "/srv/~u/x"},
		{"/c:/x", "/c:/x"},
		{"ab:/x", "ab:/x"},
		{"/srv/caf\u00e9", "/srv/caf\u00e9"},
		{"/srv/cafe\u0301", "/srv/cafe\u0301"},
		{"/srv/\u0646\u0627\u0645\u0647\u200c\u0647\u0627", "/srv/\u0646\u0627\u0645\u0647\u200c\u0647\u0627"},
		{"/srv/\U0001f469\u200d\U0001f4bb\ufe0f", "/srv/\U0001f469\u200d\U0001f4bb\ufe0f"},
		{"/srv/either\u2215or", "/srv/either\u2215or"},
		{"/srv/v1\uff0e2", "/srv/v1\uff0e2"},
		{"file:///srv/a", "/srv/a"},
		{"FILE://LocalHost/srv/a", "/srv/a"},
		{"file:/srv/a", "/srv/a"},
		{"file:////srv/a", "/srv/a"},
		{"file:///srv/share/%2e%2e/private/k", "/srv/private/k"},
		{"file:///srv/100%25%20done.txt", "/srv/100% done.txt"},
		{"file:///srv/caf%C3%A9", "/srv/caf\u00e9"},
	} {
		if p := ReadPath(tt.raw); p.Clean != tt.clean || p.Entry != tt.clean || p.Fault != "" || p.Literal || p.Raw != tt.raw || p.Resolved != Lexical {
			t.Errorf("%q: %+v, want %q", tt.raw, p, tt.clean)
		}
	}
}

func TestPathFaults(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ raw, fault string }{
		{"", faultPathEmpty},
		{"..", faultPathClimbs},
		{"../a", faultPathClimbs},
		{"a/../../b", faultPathClimbs},
		{"a/../../a/b", faultPathClimbs},
		{"/srv/a.txt\x00.png", faultPathControl},
		{"/srv/a\n", faultPathControl},
		{"/srv/a\x7f", faultPathControl},
		{"/srv/\u0085a", faultPathControl},
		{"/srv/\u2028a", faultPathControl},
		{"/srv/\xff", faultPathUTF8},
		{"/srv/\u202efdp.exe", faultPathInvisible},
		{"/srv/a\u200bb", faultPathInvisible},
		{"/srv/\ufeffa", faultPathInvisible},
		{" /etc/passwd", faultPathSpace},
		{`["/etc/passwd"]`, faultPathJSON},
		{`{"path": "/etc/passwd"}`, faultPathJSON},
		{"/etc/passwd ", faultPathSpace},
		{"./ a", faultPathSpace},
		{"/etc/passwd\u00a0", faultPathSpace},
		{"/srv/\uff0e\uff0e/k", faultPathDisguised},
		{"\uff0e\uff0e/k", faultPathDisguised},
		{"/srv/.\u2024/k", faultPathDisguised},
		{"/srv/\u2025/k", faultPathDisguised},
		{"/srv/\u2024", faultPathDisguised},
		{"/srv/..\uff0fk", faultPathDisguised},
		{"/srv/a\u2215..\u2215k", faultPathDisguised},
		{"/srv/..\uff3ck", faultPathDisguised},
		{"/srv/.\u200d./k", faultPathDisguised},
		{"/srv/%2e%2e/k", faultPathDisguised},
		{"/srv/%2E./k", faultPathDisguised},
		{"/srv/%252e%252e/k", faultPathDisguised},
		{"/srv/%25252e./k", faultPathDisguised},
		{"/srv/..%2fk", faultPathDisguised},
		{"/srv/a%5c..%255ck", faultPathDisguised},
		{"file:srv/a", faultPathURIForm},
		{"./file:/srv/a", faultPathURIForm},
		{"file:", faultPathURIForm},
		{"file://", faultPathURIForm},
		{`file:///srv\a`, faultPathURIForm},
		{"file://host/srv/a", faultPathURIHost},
		{"file://127.0.0.1/srv/a", faultPathURIHost},
		{"file://localhost:80/srv/a", faultPathURIHost},
		{"file:///srv/a?b", faultPathURIPart},
		{"file:///srv/a#b", faultPathURIPart},
		{"file:///srv/%252e%252e/k", faultPathURICode},
		{"file:///srv/a%2fb", faultPathURICode},
		{"file:///srv/a%5Cb", faultPathURICode},
		{"file:///srv/a%zz", faultPathURICode},
		{"file:///srv/a%2", faultPathURICode},
		{"file:///srv/a%00", faultPathControl},
		{"file:///srv/%ff", faultPathUTF8},
		{"file:///srv/%ef%bc%8e%ef%bc%8e/k", faultPathDisguised},
		{"/" + strings.Repeat("a", MaxPath), faultPathLong},
		{"file:///" + strings.Repeat("%61", MaxPath), faultPathLong},
		{strings.Repeat("a", MaxPathArgument+1), faultPathLong},
	} {
		if p := ReadPath(tt.raw); p.Fault != tt.fault || p.Literal || p.Clean != "" || p.Entry != "" {
			t.Errorf("%.60q: %.200v, want %q", tt.raw, p, tt.fault)
		}
	}
}

// Forms that mean one thing here and another elsewhere are permitted by a
// pattern with the same spelling only; deny patterns see what they mean there.
func TestPathsAllowedAsWritten(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ raw, fault, clean string }{
		{"~", faultPathHome, "~"},
		{"~/.ssh/config", faultPathHome, "~/.ssh/config"},
		{"~root/x", faultPathHome, "~root/x"},
		{"./~root/x", faultPathHome, "~root/x"},
		{`\\host\share\k`, faultPathBackslash, "/host/share/k"},
		{`C:\x`, faultPathBackslash, "C:/x"},
		{`a\..\b`, faultPathBackslash, "b"},
		{`/srv/a\b`, faultPathBackslash, "/srv/a/b"},
		{"C:/x", faultPathDrive, "C:/x"},
		{"c:x", faultPathDrive, "c:x"},
		{"./c:x", faultPathDrive, "c:x"},
	} {
		p := ReadPath(tt.raw)
		if p.Fault != tt.fault || !p.Literal || p.Clean != tt.clean {
			t.Errorf("%q: %+v, want %q, %q", tt.raw, p, tt.fault, tt.clean)
		}
		if !p.AsWritten(tt.raw) || p.AsWritten(tt.raw+"/") || p.AsWritten("**") {
			t.Errorf("%q: as written", tt.raw)
		}
	}
	if p := ReadPath(`..\a`); p.Literal || p.Fault != faultPathClimbs {
		t.Errorf("%+v", p)
	}
	for _, plain := range []string{"/srv/a", "../a", "/srv/\x00"} {
		if ReadPath(plain).AsWritten(plain) {
			t.Errorf("%q is permitted as written", plain)
		}
	}
}

// Spelling tricks: what reaches a path that a deny pattern names is denied or
// has a fault, and what only looks odd is a plain name.
func TestPathSpellingTricks(t *testing.T) {
	t.Parallel()
	deny := globs(t, "**/.ssh/**", "**/.env")
	allow := globs(t, "/srv/share/**", "/srv/caf\u00e9/**", "/home/u/**", "*/**")
	allowed := func(raw string) bool {
		p := ReadPath(raw)
		return p.Fault == "" && !anyGlob(deny, p.Clean, Glob.MatchFold) && anyGlob(allow, p.Clean, Glob.Match)
	}
	for _, raw := range []string{
		"a.txt\x00.png", "file:///srv/share/%2e%2e/private/k", "file:///srv/share/%252e%252e/k", "\uff0e\uff0e/k",
		"/home/u/.SSH/id_test", "/home/u/.Env", "/home/u/.\u017fsh/x", "/home/u/.s\u200dsh/x", "~/.ssh/config", "~root/x",
		`\\host\share\k`, `C:\x`, "/srv/cafe\u0301/x", "/srv/share/.ENV", "/home/u/.ssh",
	} {
		if allowed(raw) {
			t.Errorf("%q is allowed", raw)
		}
	}
	for _, raw := range []string{"/srv/share/100%25 done.txt", "/srv/share/a..b.txt", "/srv/share/...hidden", "/srv/caf\u00e9/x"} {
		if !allowed(raw) {
			t.Errorf("%q is denied: %+v", raw, ReadPath(raw))
		}
	}
	// A deny pattern in either normalisation form takes both.
	for _, pattern := range []string{"/srv/caf\u00e9/**", "/srv/cafe\u0301/**", "/SRV/CAFE\u0301/**"} {
		for _, path := range []string{"/srv/caf\u00e9/x", "/srv/cafe\u0301/x", "/srv/CAF\u00c9/x"} {
			if !globs(t, pattern)[0].MatchFold(path) {
				t.Errorf("deny %q does not take %q", pattern, path)
			}
		}
	}
}

// respell writes a normalised path in another way that a kernel reads the same.
func respell(t *rapid.T, clean string) string {
	var b strings.Builder
	noise := func() {
		for range rapid.IntRange(0, 2).Draw(t, "noise") {
			b.WriteString(rapid.SampledFrom([]string{"/", "./", "q/../", ".//", "q/r/../../"}).Draw(t, "noise"))
		}
	}
	rest, absolute := strings.CutPrefix(clean, "/")
	if absolute {
		b.WriteString("/")
		noise()
	} else if rapid.Bool().Draw(t, "dot") {
		b.WriteString("./")
	}
	for part := range strings.SplitSeq(rest, "/") {
		b.WriteString(part)
		b.WriteString("/")
		noise()
	}
	spelled := b.String()
	if rapid.Bool().Draw(t, "bare") {
		if bare := strings.TrimRight(spelled, "/"); bare != "" {
			return bare
		}
	}
	return spelled
}

var anyCleanPath = rapid.Custom(func(t *rapid.T) string {
	name := rapid.SampledFrom([]string{"a", "b", "srv", "x.env", ".env", "...", "a b", "~", "\u00e9", "e\u0301", "\u00c9", "K", "\u212a", "%", "..x", "%2e", "C:", "a\u200db"})
	clean := strings.Join(rapid.SliceOfN(name, 0, 5).Draw(t, "names"), "/")
	if rapid.Bool().Draw(t, "absolute") || clean == "" {
		clean = "/" + clean
	}
	return clean
})

// What a kernel does not see changes nothing.
func TestSpellingChangesNoPath(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		clean := anyCleanPath.Draw(t, "path")
		want := ReadPath(clean)
		raw := respell(t, clean)
		got := ReadPath(raw)
		if got.Clean != want.Clean || got.Fault != want.Fault || got.Literal != want.Literal {
			t.Fatalf("%q: %+v, but %q: %+v", raw, got, clean, want)
		}
		if want.Fault == "" && want.Clean != filepath.ToSlash(filepath.Clean(clean)) {
			t.Fatalf("%q: %+v", clean, want)
		}
	})
}

// FuzzReadPath: a path without a fault is its own normal form, holds nothing
// that faults, and has the same reading as a file: URI.
func FuzzReadPath(f *testing.F) {
	for _, raw := range []string{"/a/../b", "a//b/./", "file:///a%20b", "~/x", `\\h\s`, "C:/x", "/\uff0e\uff0e", "%252e%252e", "/a\x00", "file://localhost/%2525", "\u00e9/e\u0301"} {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		p := ReadPath(raw)
		if p.Fault != "" {
			if !p.Literal && p.Clean != "" {
				t.Fatalf("%q: %+v", raw, p)
			}
			return
		}
		if p.Clean == "" || p.Literal || strings.ContainsAny(p.Clean, "\x00\n\\") || strings.Contains(p.Clean, "//") || strings.HasPrefix(p.Clean, "..") && (len(p.Clean) == 2 || p.Clean[2] == '/') {
			t.Fatalf("%q: %+v", raw, p)
		}
		if again := ReadPath(p.Clean); again.Clean != p.Clean || again.Fault != "" {
			t.Fatalf("%q: %+v, then %+v", raw, p, again)
		}
		if !strings.HasPrefix(p.Clean, "/") {
			return
		}
		uri := "file://"
		for i := range len(p.Clean) {
			if c := p.Clean[i]; c == '/' || c == '.' {
				uri += string(c)
			} else {
				uri += "%" + strconv.FormatUint(uint64(c)+0x100, 16)[1:]
			}
		}
		if u := ReadPath(uri); u.Clean != p.Clean && u.Fault != faultPathURICode && u.Fault != faultPathLong {
			t.Fatalf("%q: %+v as a URI", p.Clean, u)
		}
	})
}

func BenchmarkReadPath(b *testing.B) {
	for name, raw := range map[string]string{
		"short":    "/srv/share/projects/notes.txt",
		"1KiB":     strings.Repeat("/directory-name0", 64),
		"1KiBDots": strings.Repeat("/./a/../b//c/../", 64),
		"1KiBText": strings.Repeat("/\u00e9t\u00e9-\u65e5\u672c-%", 64),
		"1KiBURI":  "file://" + strings.Repeat("/dir%20%C3%A9", 78),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				ReadPath(raw)
			}
		})
	}
}

func BenchmarkReadPathDoubling(b *testing.B) {
	for kib := 1; kib <= 1024; kib *= 2 {
		raw := strings.Repeat("/./a/%2525.\u00e9.a.", kib<<6)
		b.Run(strconv.Itoa(kib)+"KiB", func(b *testing.B) {
			b.SetBytes(int64(len(raw)))
			for b.Loop() {
				// The reading itself, below the bounds that ReadPath sets.
				pathCharacters(raw)
				for segment := range strings.SplitSeq(raw, "/") {
					disguised(segment)
				}
				ReadPath(raw)
			}
		})
	}
}
