package derive

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestCommandWords(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		line  string
		words []string
	}{
		{"ls", []string{"ls"}},
		{"ls -la /srv", []string{"ls", "-la", "/srv"}},
		{" \t ls  -l ", []string{"ls", "-l"}},
		{"/bin/ls", []string{"/bin/ls"}},
		{"./ls", []string{"./ls"}},
		{`l's' "-l"a`, []string{"ls", "-la"}},
		{`l\s a\ b`, []string{"ls", "a b"}},
		{`ls '' ""`, []string{"ls", "", ""}},
		{`ls "a\"b\\c\d"`, []string{"ls", `a"b\c\d`}},
		{`ls 'a\b;c|$(d)'`, []string{"ls", `a\b;c|$(d)`}},
		{`ls \; \$x \* \~ \! "\$x" "*?[]{}~!^=%#;|&<>()"`, []string{"ls", ";", "$x", "*", "~", "!", "$x", "*?[]{}~!^=%#;|&<>()"}},
		{"ls --x=y a=b c%d e#f g~ h]", []string{"ls", "--x=y", "a=b", "c%d", "e#f", "g~", "h]"}},
		{"'a=b' c", []string{"a=b", "c"}},
		{"'if' x", []string{"if", "x"}},
		{`\if x`, []string{"if", "x"}},
		{"date +%F", []string{"date", "+%F"}},
		{"ls \u00e9t\u00e9 '\u00a0'", []string{"ls", "\u00e9t\u00e9", "\u00a0"}},
		{"ls 'a\tb'", []string{"ls", "a\tb"}},
		{"\n\nls\n \n", []string{"ls"}},
		{"l\\\ns \"a\\\nb\" 'c\\\nd'", []string{"ls", "ab", "c\\\nd"}},
	} {
		c := ReadCommand(tt.line)
		if c.Metachar || c.Fault != "" || c.Found != "" || !slices.Equal(c.Words, tt.words) {
			t.Errorf("%q: %+v, want %q", tt.line, c, tt.words)
		}
	}
}

func TestCommandMetachar(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		line, found string
		words       []string
	}{
		{"ls; rm", foundSeparator, []string{"ls"}},
		{"ls;", foundSeparator, []string{"ls"}},
		{"ls | sh", foundPipe, []string{"ls"}},
		{"ls & rm", foundBackground, []string{"ls"}},
		{"ls&&rm", foundBackground, []string{"ls"}},
		{"ls > x", foundRedirection, []string{"ls"}},
		{"ls a 2>x", foundRedirection, []string{"ls", "a"}},
		{"ls <<x\nx", foundRedirection, []string{"ls"}},
		{"ls <(id)", foundRedirection, []string{"ls"}},
		{"(ls)", foundGroup, nil},
		{"f() { ls; }", foundGroup, []string{"f"}},
		{"ls `id`", foundSubstitution, []string{"ls"}},
		{"ls \"`id`\"", foundSubstitution, []string{"ls"}},
		{"ls a$(id)", foundExpansion, []string{"ls"}},
		{"ls \"a$x\" b", foundExpansion, []string{"ls"}},
		{"ls ${HOME}", foundExpansion, []string{"ls"}},
		{"$x ls", foundExpansion, nil},
		{"ls $'a'", foundExpansion, []string{"ls"}},
		{"ls *", foundPattern, []string{"ls"}},
		{"ls a?", foundPattern, []string{"ls"}},
		{"[ a ]", foundPattern, nil},
		{"ls {a,b}", foundBrace, []string{"ls"}},
		{"ls ~/x", foundTilde, []string{"ls"}},
		{"ls a=~/x", foundTilde, []string{"ls"}},
		{"ls a:~", foundTilde, []string{"ls"}},
		{"! ls", foundHistory, nil},
		{"ls a!b", foundHistory, []string{"ls"}},
		{"ls HEAD^", foundHistory, []string{"ls"}},
		{"ls =cmd", foundEquals, []string{"ls"}},
		{`ls ""=cmd`, foundEquals, []string{"ls"}},
		{"ls \"\\\n\"''=cmd", foundEquals, []string{"ls"}},
		{"ls ''~", foundTilde, []string{"ls"}},
		{"kill %1", foundEquals, []string{"kill"}},
		{"ls # x", foundComment, []string{"ls"}},
		{"ls\r\n", foundControl, nil},
		{"ls 'a\rb'", foundControl, []string{"ls"}},
		{"ls \"\\\r\"", foundControl, []string{"ls"}},
		{"ls \\\r", foundControl, []string{"ls"}},
		{"ls\va", foundControl, nil},
		{"ls\u00a0-l", foundSpace, nil},
		{"ls \u2028id", foundSpace, []string{"ls"}},
		{"ls a\u200bb", foundSpace, []string{"ls"}},
		{`ls 'a\' b`, foundEscape, []string{"ls"}},
		{"if ls", foundReserved, nil},
		{"time ls", foundReserved, nil},
		{"let x", foundReserved, nil},
		{"while", foundReserved, nil},
		{"LD_PRELOAD=x ls -l", foundAssignment, []string{"ls", "-l"}},
		{"x=y", foundAssignment, nil},
		{"export x", foundCompound, nil},
	} {
		c := ReadCommand(tt.line)
		if !c.Metachar || c.Found != tt.found || c.Fault != "" || !slices.Equal(c.Words, tt.words) {
			t.Errorf("%q: %+v, want %q, found %s", tt.line, c, tt.words, tt.found)
		}
	}
}

func TestCommandNotUnderstood(t *testing.T) {
	t.Parallel()
	for line, fault := range map[string]string{
		"":                                 faultCommandEmpty,
		" \t\n":                            faultCommandEmpty,
		"\\\n":                             faultCommandEmpty,
		"ls 'a":                            faultCommandQuote,
		`ls "a`:                            faultCommandQuote,
		`ls \`:                             faultCommandQuote,
		"ls\x00":                           faultCommandNUL,
		"ls \xff":                          faultCommandUTF8,
		strings.Repeat("a", MaxCommand+1):  faultCommandLong,
		strings.Repeat("l ", MaxCommand/2): "",
	} {
		if c := ReadCommand(line); c.Fault != fault || c.Metachar {
			t.Errorf("%.20q: %.80v, want fault %q", line, c, fault)
		}
	}
}

// A newline separates commands outside of quotes and is data within them; at
// either end it is nothing.
func TestNewlineAsCommandSeparator(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"ls /srv\nrm -rf /srv/data",
		"ls\r\nid",
		"ls & id",
		"ls&&id",
		"ls|sh",
		"ls ;id",
		"ls # x\nid",
	} {
		if c := ReadCommand(line); !c.Metachar {
			t.Errorf("%q: %+v", line, c)
		}
	}
	for line, words := range map[string][]string{
		"ls -la /srv\n": {"ls", "-la", "/srv"},
		"git commit -m \"line one\nreboot later\"": {"git", "commit", "-m", "line one\nreboot later"},
		"ls \\\n -l": {"ls", "-l"},
	} {
		if c := ReadCommand(line); c.Metachar || c.Fault != "" || !slices.Equal(c.Words, words) {
			t.Errorf("%q: %+v, want %q", line, c, words)
		}
	}
}

// Words that need no parser are the parser's.
func TestPlainWordsAreTheParsers(t *testing.T) {
	t.Parallel()
	part := rapid.SampledFrom([]string{" ", "\t", "ls", "export", "local", "time", "a", "-l", "%", "+", ":", "@", ",", ".", "/", "]", "~", "#", "let", "if"})
	rapid.Check(t, func(t *rapid.T) {
		line := strings.Join(rapid.SliceOfN(part, 1, 12).Draw(t, "parts"), "")
		c := ReadCommand(line)
		if c.Metachar || c.Fault != "" {
			return
		}
		if parsed := parseCommand(line); !slices.Equal(c.Words, parsed.Words) || parsed.Metachar || parsed.Fault != "" {
			t.Fatalf("%q: %q, parsed %+v", line, c.Words, parsed)
		}
	})
}

// Nothing an attacker nests costs a stack: the parser does not see it.
func TestDeepCommandsAreRefusedWithoutRecursion(t *testing.T) {
	for _, piece := range []string{"(", "{ ", "$(", "`", "\"$(", "if ", "! ", "time ", "while ", "case a in ", "coproc ",
		"i\\\nf ", "a=(", "[[ ", "let -", "$((", "<(", "${a:-", "f(){ ", "!(", "select "} {
		line := strings.Repeat(piece, MaxCommand/len(piece))
		allocated := testing.AllocsPerRun(1, func() {
			if c := ReadCommand(line); !c.Metachar && c.Fault == "" {
				t.Errorf("%q repeated is allowed: %.5q", piece, c.Words)
			}
		})
		if allocated > 1000 {
			t.Errorf("%q repeated: %v allocations", piece, allocated)
		}
	}
}

// FuzzReadCommand: words that are allowed can be quoted and read back, and the
// reading does not depend on blanks around them.
func FuzzReadCommand(f *testing.F) {
	for _, line := range []string{"ls -l", "ls; id", `git commit -m "a` + "\n" + `b"`, "a\\\nb", "$(x)", "'", "\"a\\\"\"", "a=b c", "if", "ls\r\n", "\u00a0", "export a", "é"} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		c := ReadCommand(line)
		if (c.Found != "") != c.Metachar || c.Metachar && c.Fault != "" {
			t.Fatalf("%q: %+v", line, c)
		}
		for _, w := range c.Words {
			if !utf8.ValidString(w) {
				t.Fatalf("%q: word %q", line, w)
			}
		}
		if c.Metachar || c.Fault != "" {
			return
		}
		if len(c.Words) == 0 {
			t.Fatalf("%q: no words", line)
		}
		if again := ReadCommand("\n " + line + " \n"); !slices.Equal(again.Words, c.Words) || again.Metachar || again.Fault != "" {
			t.Fatalf("%q: %+v between blanks", line, again)
		}
		quoted := ""
		for _, w := range c.Words {
			quoted += ` "` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`").Replace(w) + `"`
		}
		if len(quoted) <= MaxCommand {
			if again := ReadCommand(quoted); !slices.Equal(again.Words, c.Words) {
				t.Fatalf("%q: %q, quoted %q", line, c.Words, again.Words)
			}
		}
	})
}

func BenchmarkReadCommand(b *testing.B) {
	for name, line := range map[string]string{
		"short":     "git status --short",
		"1KiB":      "git commit -m '" + strings.Repeat("one word and more ", 55) + "' a.txt b.txt",
		"1KiBWords": strings.Repeat("one word and more ", 57),
		"1KiBMeta":  strings.Repeat("one word and more ", 56) + "; id",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				ReadCommand(line)
			}
		})
	}
}

func BenchmarkReadCommandDoubling(b *testing.B) {
	for _, piece := range []string{"a ", `\a`, `"\""`, "''", "é", "\\\n"} {
		for kib := 1; kib <= MaxCommand>>10; kib *= 2 {
			line := "a" + strings.Repeat(piece, (kib<<10)/len(piece)-1)
			b.Run(strconv.Quote(piece)+"/"+strconv.Itoa(kib)+"KiB", func(b *testing.B) {
				b.SetBytes(int64(len(line)))
				for b.Loop() {
					ReadCommand(line)
				}
			})
		}
	}
}
