package derive

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// Command is what a command line would run.
type Command struct {
	// Words are those of the first simple command, quotes removed, up to the
	// first that is not known without running something. With neither Metachar
	// nor Fault they are the whole command, and there is at least one.
	Words []string

	// Metachar: the line does more than run one command with known words.
	// Found says which, as fixed text; "" if not Metachar.
	Metachar bool
	Found    string

	Fault string // why the line is not understood, fixed text; Words may be missing
}

// MaxCommand bounds a command line in bytes.
const MaxCommand = 64 << 10

const (
	faultCommandLong   = "command is too long"
	faultCommandEmpty  = "command is empty"
	faultCommandNUL    = "command holds a NUL"
	faultCommandUTF8   = "command is not UTF-8"
	faultCommandQuote  = "unfinished quote or escape"
	faultCommandSyntax = "not understood by a shell parser"
)

const (
	foundSeparator    = "separator"
	foundNewline      = "newline outside quotes"
	foundPipe         = "pipe"
	foundBackground   = "& outside quotes"
	foundRedirection  = "redirection"
	foundGroup        = "parenthesis outside quotes"
	foundSubstitution = "substitution"
	foundExpansion    = "expansion"
	foundPattern      = "file name pattern"
	foundBrace        = "brace outside quotes"
	foundTilde        = "tilde expansion"
	foundHistory      = "! or ^ outside quotes"
	foundEquals       = "= or % at the start of a word"
	foundComment      = "comment"
	foundControl      = "control character"
	foundSpace        = "white space or invisible character that is not ASCII"
	foundEscape       = `\ before a closing single quote`
	foundReserved     = "reserved word"
	foundAssignment   = "assignment before the command"
	foundCompound     = "more than a simple command"
)

// ReadCommand reads a line as the shells read what follows -c: dash, bash,
// ksh, zsh. What they would do with it in more ways than one is a Metachar, as
// is all that makes a line more than one command with known words: separators,
// pipes, redirections, groups, substitutions, expansions and file name patterns
// outside quotes ($ and ` inside double quotes too), assignments before the
// command (LD_PRELOAD=… changes what runs), comments, reserved words, control
// characters but a quoted newline or tab, and ! and ^, braces, and = or % at the
// start of a word. A \ before a closing single quote is one because fish does
// not close it there.
//
// A newline within quotes is data, as is one at either end of the line; \ and
// a newline are nothing at all.
//
// The words are those of a shell parser. It sees a whole line only if that has
// no metacharacter, so that it never recurses: time and memory are linear.
func ReadCommand(line string) Command {
	switch {
	case len(line) > MaxCommand:
		return Command{Fault: faultCommandLong}
	case strings.IndexByte(line, 0) >= 0:
		return Command{Fault: faultCommandNUL}
	case !utf8.ValidString(line):
		return Command{Fault: faultCommandUTF8}
	}
	scan := scanCommand(line)
	if scan.fault != "" {
		return Command{Fault: scan.fault}
	}
	if scan.found != "" {
		return Command{Words: readCommandWords(line[:scan.known]).Words, Metachar: true, Found: scan.found}
	}
	return readCommandWords(line)
}

// readCommandWords reads a line without metacharacters. Where nothing is quoted
// and nothing can be an assignment or a declaration there is nothing to parse:
// blanks part words, which is ten times as fast.
func readCommandWords(line string) Command {
	if strings.ContainsAny(line, `'"\=`) || !isASCII(line) {
		return parseCommand(line)
	}
	words := strings.Fields(line)
	if len(words) == 0 || declaration(words[0]) {
		return parseCommand(line)
	}
	return Command{Words: words}
}

// declaration words make assignments of what follows them.
func declaration(word string) bool {
	switch word {
	case "declare", "export", "local", "nameref", "readonly", "typeset":
		return true
	}
	return false
}

// commandScan is the first thing in a line that makes it a Metachar.
type commandScan struct {
	found string
	known int // length of the part before it whose words are whole
	fault string
}

// scanCommand looks for characters that have no place outside of quotes. It
// only ever adds refusals: what it lets pass must satisfy the parser too.
func scanCommand(line string) commandScan {
	var (
		quote   byte        // ' or " while inside
		word    = -1        // where the current word starts
		before  = byte(' ') // the byte before within the word, a blank while it is empty
		newline = -1        // the first newline after the words so far
		first   []byte      // the first word, as long as it can be a reserved one
		words   int
	)
	const longestReserved = 8
	stop := func(found string, known int) commandScan { return commandScan{found: found, known: known} }
	for i := 0; i < len(line); i++ {
		c := line[i]
		if plainCommandBytes[c] && (quote != 0 || word >= 0 && words > 1) {
			before = c
			continue
		}
		if c < ' ' && c != '\n' && c != '\t' || c == 0x7f {
			if word >= 0 {
				return stop(foundControl, word)
			}
			return stop(foundControl, i)
		}
		if quote != 0 {
			switch {
			case c == quote:
				if c == '\'' && line[i-1] == '\\' {
					return stop(foundEscape, word)
				}
				quote = 0
				continue // "" does not part a word from its start, not for zsh
			case quote == '"' && c == '$':
				return stop(foundExpansion, word)
			case quote == '"' && c == '`':
				return stop(foundSubstitution, word)
			case quote == '"' && c == '\\' && strings.HasPrefix(line[i+1:], "\n"):
				i++
				continue
			case quote == '"' && c == '\\' && i+1 < len(line) && strings.IndexByte("$`\"\\", line[i+1]) >= 0:
				i++
			}
			before = '"'
			continue
		}
		switch c {
		case ' ', '\t', '\n':
			if word >= 0 {
				if words == 1 && reserved(string(first)) {
					return stop(foundReserved, 0)
				}
				word = -1
			}
			if c == '\n' && words > 0 && newline < 0 {
				newline = i
			}
			before = ' '
			continue
		case ';':
			return stop(foundSeparator, i)
		case '|':
			return stop(foundPipe, i)
		case '&':
			return stop(foundBackground, i)
		case '(', ')':
			return stop(foundGroup, i)
		case '<', '>':
			// The digits before it are part of it.
			if word >= 0 && strings.Trim(line[word:i], "0123456789") == "" {
				return stop(foundRedirection, word)
			}
			return stop(foundRedirection, i)
		case '\\':
			if i+1 < len(line) && line[i+1] == '\n' {
				i++
				continue
			}
		}
		// Here a word begins or goes on.
		if word < 0 {
			if newline >= 0 {
				return stop(foundNewline, newline)
			}
			word = i
			words++
		}
		if words == 1 && len(first) <= longestReserved {
			first = append(first, c)
		}
		switch c {
		case '\'', '"':
			quote = c
			continue
		case '\\':
			i++
			if i == len(line) {
				return commandScan{fault: faultCommandQuote}
			}
			if line[i] < ' ' || line[i] == 0x7f {
				return stop(foundControl, word)
			}
			before = '\\'
			continue
		case '`':
			return stop(foundSubstitution, word)
		case '$':
			return stop(foundExpansion, word)
		case '*', '?', '[':
			return stop(foundPattern, word)
		case '{', '}':
			return stop(foundBrace, word)
		case '!', '^':
			return stop(foundHistory, word)
		case '~':
			if before == ' ' || before == '=' || before == ':' {
				return stop(foundTilde, word)
			}
		case '=', '%':
			if before == ' ' {
				return stop(foundEquals, word)
			}
		case '#':
			if before == ' ' {
				return stop(foundComment, word)
			}
		}
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(line[i:])
			if unicode.IsSpace(r) || r < 0xa0 || invisible(r) || ignorable(r) {
				return stop(foundSpace, word)
			}
			i += max(size, 1) - 1
		}
		before = c
	}
	switch {
	case quote != 0:
		return commandScan{fault: faultCommandQuote}
	case words == 0:
		return commandScan{fault: faultCommandEmpty}
	case words == 1 && reserved(string(first)):
		return stop(foundReserved, 0)
	}
	return commandScan{}
}

// plainCommandBytes have no meaning to any shell once a word has begun, in
// quotes or not, and none for what follows them.
var plainCommandBytes = func() (plain [256]bool) {
	for _, c := range "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./,@+" {
		plain[c] = true
	}
	return plain
}()

// reserved words begin what is not a simple command; a parser recurses on most.
func reserved(word string) bool {
	return word == "let" || word == "foreach" || word == "repeat" || syntax.IsKeyword(word)
}

// commandParsers are kept, since a parser is larger than most lines.
var commandParsers = sync.Pool{New: func() any {
	return syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.KeepComments(true))
}}

// parseCommand reads a line without metacharacters.
func parseCommand(line string) Command {
	p := commandParsers.Get().(*syntax.Parser)
	defer commandParsers.Put(p)
	file, err := p.Parse(strings.NewReader(line), "")
	if err != nil {
		return Command{Fault: faultCommandSyntax}
	}
	if len(file.Stmts) == 0 {
		return Command{Fault: faultCommandEmpty}
	}
	stmt := file.Stmts[0]
	call, simple := stmt.Cmd.(*syntax.CallExpr)
	if !simple {
		return Command{Metachar: true, Found: foundCompound}
	}
	c := Command{Words: make([]string, 0, len(call.Args))}
	for _, arg := range call.Args {
		w, known := unquoted(arg)
		if !known {
			c.Metachar, c.Found = true, foundExpansion
			break
		}
		c.Words = append(c.Words, w)
	}
	switch {
	case len(call.Assigns) > 0:
		c.Metachar, c.Found = true, foundAssignment
	case len(file.Stmts) > 1, stmt.Negated, stmt.Background, stmt.Coprocess, stmt.Disown,
		len(stmt.Redirs) > 0, stmt.Semicolon.IsValid(), len(stmt.Comments) > 0, len(file.Last) > 0:
		c.Metachar, c.Found = true, foundCompound
	case len(c.Words) == 0 && !c.Metachar:
		c.Fault = faultCommandEmpty
	}
	return c
}

// unquoted is a word with its quotes removed (POSIX XCU 2.6.7), if it is made
// of plain and quoted text only.
func unquoted(w *syntax.Word) (text string, known bool) {
	if len(w.Parts) == 1 {
		if lit, ok := w.Parts[0].(*syntax.Lit); ok && strings.IndexByte(lit.Value, '\\') < 0 {
			return lit.Value, true
		}
	}
	var b strings.Builder
	for _, part := range w.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			unescape(&b, part.Value, "")
		case *syntax.SglQuoted:
			if part.Dollar {
				return "", false
			}
			b.WriteString(part.Value)
		case *syntax.DblQuoted:
			if part.Dollar {
				return "", false
			}
			for _, inner := range part.Parts {
				lit, ok := inner.(*syntax.Lit)
				if !ok {
					return "", false
				}
				unescape(&b, lit.Value, "$`\"\\")
			}
		default:
			return "", false
		}
	}
	return b.String(), true
}

// unescape writes s without the backslashes that escape one of the characters,
// or any if none are given.
func unescape(b *strings.Builder, s, escapable string) {
	for {
		at := strings.IndexByte(s, '\\')
		if at < 0 || at+1 == len(s) {
			b.WriteString(s)
			return
		}
		b.WriteString(s[:at])
		if escapable != "" && strings.IndexByte(escapable, s[at+1]) < 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(s[at+1])
		s = s[at+2:]
	}
}
