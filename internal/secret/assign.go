package secret

import (
	"bytes"
	"strings"
)

// nameNeedles stand in every name that promises a secret, see promises.
var nameNeedles = []string{"pass", "secr", "toke", "pwd=", "pwd:", "pwd\"", "pwd'", "pwd ", "cred", "apik", "api_", "api-",
	"sske", "s_ke", "s-ke", "teke", "te_k", "te-k", "thke", "th_k", "th-k", "ount", "ngke", "ng_k", "onke", "on_k", "erke", "er_k", "bear"}

const (
	maxName      = 32  // bytes of a name, counted from its end; a conversion of that length stays on the stack
	minLiteral   = 12  // characters of a secret's literal
	maxLiteral   = 512 // bytes; beyond it a value is data
	judgedPrefix = 64  // bytes of a literal that its kind is judged by
)

// Kinds of words in names.
const (
	noun      uint8 = 1 << iota // ends a name that promises a secret
	keyWord                     // does so after a qualifier
	qualifier                   // makes a key one to keep
	page                        // makes a token one of a page or a parser
	public                      // ends a name whose values look random and are public
	valueWord                   // says nothing: the word before it counts
	bearer                      // an authentication scheme, followed by its token
)

// wordKind is the kind of a word of a name, in any case.
func wordKind(word []byte) uint8 {
	var low [16]byte
	if len(word) > len(low) {
		return 0
	}
	for i, c := range word {
		if class[c]&clUpper != 0 {
			c |= 0x20
		}
		low[i] = c
	}
	switch string(low[:len(word)]) {
	case "password", "passwd", "passphrase", "pwd", "pass", "token", "apikey", "accesskey", "secretkey", "privatekey", "authkey",
		"signingkey", "encryptionkey", "masterkey", "accountkey", "credential", "credentials":
		return noun
	case "secret":
		return noun | qualifier
	case "bearer":
		return noun | bearer
	case "key":
		return keyWord
	case "api", "access", "private", "auth", "signing", "encryption", "master", "account":
		return qualifier
	case "cursor":
		return page | public
	case "page", "next", "prev", "previous", "continuation", "sync", "cancellation", "start", "skip", "resume", "progress":
		return page
	case "etag", "sum", "integrity", "digest", "hash", "sha", "sha1", "sha256", "sha512", "checksum", "fingerprint", "id", "ids", "revision",
		"commit", "nonce", "state", "requeststate", "signature", "sig", "cipher", "thumbprint", "boundary", "uri", "url", "href", "src":
		return public
	case "value":
		return valueWord
	}
	return 0
}

// promises reports whether a value called name is a secret by its name: the
// last word of the name is a noun such as password, or is key after a word such
// as api. Words end at '_', '-', '.' and where a capital follows a small letter.
func promises(name []byte) bool {
	last, before := lastWords(name)
	switch kind := wordKind(last); {
	case kind&noun != 0:
		// `PASS: x` is a test's result, DB_PASS a password.
		return wordKind(before)&page == 0 && (len(before) > 0 || string(last) != "PASS" && string(last) != "Pass")
	case kind&keyWord != 0:
		return wordKind(before)&qualifier != 0
	}
	return false
}

// publicName reports whether a value called name is public by its name: a
// cursor, a digest, an identifier, a page's token.
func publicName(name []byte) bool {
	if len(name) == 0 {
		return false
	}
	last, before := lastWords(name)
	kind := wordKind(last)
	if kind&valueWord != 0 {
		kind = wordKind(before)
	}
	return kind&public != 0 || kind&noun != 0 && wordKind(before)&page != 0
}

// lastWords returns the last word of name and the one before it.
func lastWords(name []byte) (last, before []byte) {
	if len(name) > maxName {
		name = name[len(name)-maxName:]
	}
	end := len(name)
	for word := range 2 {
		for end > 0 && class[name[end-1]]&clAlnum == 0 {
			end--
		}
		start := end
		for start > 0 && class[name[start-1]]&clAlnum != 0 {
			if start < end && class[name[start]]&clUpper != 0 && class[name[start-1]]&clUpper == 0 {
				break
			}
			start--
		}
		if word == 0 {
			last = name[start:end]
		} else {
			before = name[start:end]
		}
		end = start
	}
	return last, before
}

// assigned looks for a name around i that promises a secret and for the literal
// it is given.
func (f *Finder) assigned(i int) {
	text := f.text
	end := run(text, i, clWord|clDash, maxName)
	if end == f.nameEnd {
		return // another needle in the same name
	}
	f.nameEnd = end
	start := i
	for start > 0 && i-start < maxName && class[text[start-1]]&(clWord|clDash) != 0 {
		start--
	}
	value, quote, ok := afterOperator(text, end)
	if !ok {
		if wordKind(text[start:end])&bearer != 0 && end < len(text) && text[end] == ' ' {
			value, ok = end+1, true
		}
		if !ok {
			return
		}
	}
	if !promises(text[start:end]) {
		return
	}
	if value < f.valueEnd {
		return // part of a literal that has been judged
	}
	stop := literalEnd(text, value, quote)
	f.valueEnd = stop
	if quote == 0 && stop < len(text) && (text[stop] == '(' || text[stop] == '[' || text[stop] == '{') {
		return // code
	}
	if literal(text[value:stop], quote != 0) {
		f.add(ruleAssign, value, stop)
	}
}

// afterOperator returns where the value begins that is given to the name before
// i, and the quote it stands in or 0.
func afterOperator(text []byte, i int) (value int, quote byte, ok bool) {
	if i < len(text) && text[i] == '\\' {
		i++
	}
	if i < len(text) && (text[i] == '"' || text[i] == '\'') {
		i++
	}
	i = run(text, i, clSpace, 4)
	switch {
	case i == len(text):
		return 0, 0, false
	case text[i] == '=' && (i+1 == len(text) || text[i+1] != '='):
		i++
		if i < len(text) && text[i] == '>' {
			i++
		}
	case text[i] == ':':
		i++
		if i < len(text) && (text[i] == '=' || text[i] == ':') {
			i++
		}
	default:
		return 0, 0, false
	}
	i = run(text, i, clSpace, 4)
	if i < len(text) && text[i] == '\\' {
		i++
	}
	if i < len(text) && (text[i] == '"' || text[i] == '\'' || text[i] == '`') {
		return i + 1, text[i], true
	}
	return i, 0, i < len(text)
}

// literalEnd returns the end of the value at i, at most maxLiteral on.
func literalEnd(text []byte, i int, quote byte) int {
	limit := min(len(text), i+maxLiteral)
	for ; i < limit; i++ {
		c := text[i]
		if c == quote && quote != 0 || c == '\\' || c >= 0x80 || class[c]&clSpace != 0 {
			break
		}
		if quote == 0 && strings.IndexByte(",;&)]}\"'`<>|({[", c) >= 0 {
			break
		}
	}
	return i
}

// literal reports whether value is a secret by its own looks, after a name that
// promises one: twelve characters or more, mixed, no placeholder, no path and no
// expression. quoted says that it is surely a literal, not code.
func literal(value []byte, quoted bool) bool {
	if len(value) < minLiteral || len(value) > maxLiteral {
		return false
	}
	value = value[:min(len(value), judgedPrefix)]
	lower, upper, digit, symbol := 0, 0, 0, 0
	rest := 0
	for _, c := range value {
		switch k := class[c]; {
		case c >= 0x80 || c <= ' ' || c == 0x7f:
			return false
		case k&clLower != 0:
			lower = 1
		case k&clUpper != 0:
			upper = 1
		case k&clDigit != 0:
			digit = 1
		case c != '_' && c != '-' && c != '.' && c != '/':
			symbol = 1
		default:
			rest++
		}
	}
	kinds := lower + upper + digit + symbol
	if kinds < 2 || lower+upper == 0 || rest*3 > len(value) {
		return false
	}
	if placeholder(value) || strings.IndexByte("$<{%/~.*([@&!#:|", value[0]) >= 0 || bytes.Contains(value, []byte("://")) || bytes.Contains(value, []byte("${")) {
		return false
	}
	if integrity(value) || !quoted && bytes.IndexByte(value, '/') >= 0 && digit == 0 {
		return false
	}
	words := wordy(value)
	if digit+lower+upper == 3 {
		words = 5*inWords(value) >= 3*len(value)
	}
	if words {
		return quoted && digit != 0 && upper+lower == 2 && symbol != 0
	}
	return digit != 0 || upper+lower == 2
}

var placeholders = []string{"redacted", "your", "example", "placeholder", "changeme", "change-me", "change_me", "xxxx", "****", "....", "1234567890", "abcdef", "dummy", "fake", "sample", "process.env", "os.environ", "getenv", "todo", "insert", "replace", "hidden", "masked", "hunter2", "test", "__", "(len="}

// placeholder reports whether value stands for a secret that is not there.
func placeholder(value []byte) bool {
	var low [judgedPrefix]byte
	n := copy(low[:], value)
	for i := range low[:n] {
		if class[low[i]]&clUpper != 0 {
			low[i] |= 0x20
		}
	}
	for _, p := range placeholders {
		if bytes.Contains(low[:n], []byte(p)) {
			return true
		}
	}
	return false
}
