package lock

import (
	"regexp"
	"slices"
	"strings"

	"github.com/aegis-aar/aegis/internal/report"
	"github.com/aegis-aar/aegis/internal/secret"
)

// launch looks at the command that starts the server: at packages whose code
// somebody else may change before the next start, and at secrets.
func (c *checker) launch(s *Surface) {
	argv := append([]string{s.Command}, s.Args...)
	for i, word := range argv {
		c.secret(targetLaunch, optionBefore(argv, i), word)
	}
	c.secret(targetLaunch, "", s.URL)
	if fetchesAndRuns(argv) {
		c.add(RuleCurlPipe, report.Critical, targetLaunch, "Launch fetches a program from the network and runs it", "")
	}
	for i, word := range argv {
		switch base := strings.ToLower(programName(word)); {
		case base == "npx":
			c.packages(argv, i, RuleNPXUnpinned, "Unpinned npx package: every start may run other code", npmPinned)
		case base == "uvx":
			c.packages(argv, i, RuleUVXUnpinned, "Unpinned uvx package: every start may run other code", pythonPinned)
		case base == "pip" || base == "pip3":
			if k := slices.Index(argv[i:], "install"); k > 0 {
				c.packages(argv, i+k, RulePIPUnpinned, "Unpinned pip install target: every start may run other code", pythonPinned)
			}
		}
	}
}

// programName is the last part of a path, without the suffix it has on Windows.
func programName(word string) string {
	if i := strings.LastIndexAny(word, `/\`); i >= 0 {
		word = word[i+1:]
	}
	for _, suffix := range []string{".cmd", ".exe"} {
		if len(word) > len(suffix) && strings.EqualFold(word[len(word)-len(suffix):], suffix) {
			return word[:len(word)-len(suffix)]
		}
	}
	return word
}

// packages looks at the package that the program at argv[i] is to run. Words
// behind it are that program's own, except for pip, which takes many.
func (c *checker) packages(argv []string, i int, rule, message string, pinned func(spec string, argv []string) bool) {
	takesValue := map[string]bool{"-p": true, "--package": true, "--from": true, "--with": true}
	for k := i + 1; k < len(argv); k++ {
		word, spec := argv[k], ""
		name, value, given := strings.Cut(word, "=")
		switch {
		case takesValue[name] && given:
			spec = value
		case takesValue[word] && k+1 < len(argv):
			k++
			spec = argv[k]
		case strings.HasPrefix(word, "-"):
			continue
		default:
			spec = word
		}
		if !localPath(spec) {
			shown, _ := secret.RedactAll(spec)
			switch {
			case strings.HasSuffix(spec, "@latest") || strings.HasSuffix(spec, "==latest"):
				c.add(RuleLatestTag, report.High, targetLaunch, "Explicit floating tag 'latest'", shown)
			case !pinned(spec, argv):
				c.add(rule, report.High, targetLaunch, message, shown)
			}
		}
		if rule != RulePIPUnpinned && spec == word {
			return
		}
	}
}

func localPath(word string) bool {
	for _, prefix := range []string{"./", "../", "/", "~", "file:", `.\`, `..\`} {
		if strings.HasPrefix(word, prefix) {
			return true
		}
	}
	return word == "." || len(word) > 2 && word[1] == ':' && (word[2] == '\\' || word[2] == '/')
}

// A version of npm begins with a digit; a range or a tag names no one version.
var npmVersion = regexp.MustCompile(`.@(\d[\w.+-]*|sha\d+[:-][0-9A-Za-z+/=]+)$`)

func npmPinned(spec string, _ []string) bool {
	version := spec[strings.LastIndexByte(spec, '@')+1:]
	return npmVersion.MatchString(spec) && !strings.Contains(strings.ToLower(version), "x")
}

var gitCommit = regexp.MustCompile(`@[0-9a-fA-F]{40}(#|$)`)

func pythonPinned(spec string, argv []string) bool {
	_, version, exact := strings.Cut(spec, "==")
	_, tag, tagged := strings.Cut(spec, "@")
	return slices.Contains(argv, "--require-hashes") ||
		exact && !strings.Contains(version, "*") ||
		tagged && tag != "" && tag[0] >= '0' && tag[0] <= '9' ||
		gitCommit.MatchString(spec)
}

var intoInterpreter = regexp.MustCompile(`\|\s*(sudo\s+)?(/\S*/)?(sh|bash|zsh|dash|python\d?|node|perl|ruby)\b`)

func fetchesAndRuns(argv []string) bool {
	line := strings.Join(argv, " ")
	return (strings.Contains(line, "curl") || strings.Contains(line, "wget")) && intoInterpreter.MatchString(line)
}
