package policy

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// LoadError is one reason why a policy file does not load.
type LoadError struct {
	File         string
	Line, Column int    // from 1; 0 where there is no position
	Key          string // the key or value at fault, if there is one
	Msg          string
	Near         string // the valid key or value that was probably meant, if one is close
}

// Error is `file:line:column: message`, with the near spelling at the end.
func (e *LoadError) Error() string {
	s := e.Msg
	if e.Near != "" {
		s += "; did you mean " + quoted(e.Near) + "?"
	}
	if e.Line > 0 {
		s = fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, s)
	}
	return s
}

// LoadErrors lists why a policy file does not load, in file order, at most
// maxLoadErrors of them. [Parse] and [Load] return no other error.
type LoadErrors []*LoadError

// maxLoadErrors bounds how many faults of one file are told.
const maxLoadErrors = 20

func (l LoadErrors) Error() string {
	lines := make([]string, len(l))
	for i, e := range l {
		lines[i] = e.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap gives [errors.As] the single errors.
func (l LoadErrors) Unwrap() []error {
	errs := make([]error, len(l))
	for i, e := range l {
		errs[i] = e
	}
	return errs
}

func (l LoadErrors) sorted() LoadErrors {
	slices.SortStableFunc(l, func(a, b *LoadError) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	if len(l) > maxLoadErrors {
		last := l[maxLoadErrors-1]
		l = append(l[:maxLoadErrors-1:maxLoadErrors-1], &LoadError{
			File: last.File, Line: last.Line, Column: last.Column,
			Msg: fmt.Sprintf("%s, and %d more errors", last.Msg, len(l)-maxLoadErrors),
		})
	}
	return l
}

// quoted shows text from the file: in backticks where it is plain, else escaped,
// and cut where it is long.
func quoted(s string) string {
	const longest = 80
	rest := ""
	if len(s) > longest {
		rest = fmt.Sprintf("… (%d bytes)", len(s))
		s = strings.ToValidUTF8(s[:longest], "")
	}
	plain := !strings.ContainsFunc(s, func(r rune) bool { return r == '`' || !unicode.IsPrint(r) })
	if plain {
		return "`" + s + "`" + rest
	}
	return strconv.QuoteToASCII(s) + rest
}
