package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/aegis-aar/aegis/internal/report"
	"github.com/aegis-aar/aegis/internal/secret"
	"github.com/aegis-aar/aegis/lock"
)

// How many characters are shown of a changed text, and of what stands unchanged
// around the change.
const (
	maxChanged = 2000
	maxAround  = 160
)

// drifts tells drifts to a person and to the outputs.
type drifts struct {
	s        streams
	sinks    *report.Sinks // may be nil
	old, new *lock.Texts   // may be nil
}

// tell prints the facts, target by target, with the old and the new text where
// they are known.
func (d *drifts) tell(found []lock.Drift) {
	shownTarget := ""
	for i := range found {
		f := &found[i]
		if d.sinks != nil {
			d.sinks.Report(f.Finding())
		}
		if i >= maxTold {
			continue
		}
		line := fmt.Sprintf("%s: %s %s", shown(f.Target, maxTarget), f.Severity, f.Class)
		fmt.Fprintf(d.s.out, "%s: %s\n", headings(d.s.out)(line), shown(message(f), maxMessage))
		if last := i+1 == len(found) || found[i+1].Target != f.Target; last && shownTarget != f.Target {
			shownTarget = f.Target
			d.texts(f.Target)
		}
	}
	if n := len(found) - maxTold; n > 0 {
		fmt.Fprintf(d.s.out, "and %d more\n", n)
	}
}

func message(f *lock.Drift) string {
	if f.Detail == "" {
		return f.Message
	}
	return f.Message + " (" + f.Detail + ")"
}

// texts shows where the texts of a target differ. Without the old text there is
// nothing to set the new one against.
func (d *drifts) texts(target string) {
	was, is := d.old.Get(target), d.new.Get(target)
	if d.old == nil || d.new == nil || was == nil && is == nil {
		return
	}
	differences, err := lock.Differences(was, is)
	if err != nil {
		fmt.Fprintf(d.s.out, "  %s\n", report.SafeText(err.Error()))
		return
	}
	for _, f := range differences {
		pointer, _ := secret.RedactAll(f.Pointer)
		if pointer == "" {
			pointer = "(all of it)"
		}
		fmt.Fprintf(d.s.out, "  %s\n", cutMiddle(pointer, 300))
		sideBySide(d.s.out, value(f.Was), value(f.Is))
	}
}

// value is a JSON text as it is shown: of a string, its characters. Without a
// value it is nil.
func value(v jsontext.Value) *string {
	if v == nil {
		return nil
	}
	text := string(v)
	if v.Kind() == '"' {
		if s, err := jsontext.AppendUnquote(nil, v); err == nil {
			text = string(s)
		}
	}
	text, _ = secret.RedactAll(text)
	return &text
}

// sideBySide shows the old text above the new one, the same parts of both cut
// away alike.
func sideBySide(w io.Writer, was, is *string) {
	red, green := paint(w, "31"), paint(w, "32")
	switch {
	case was == nil:
		fmt.Fprintf(w, "    + %s\n", green(cutMiddle(*is, maxChanged)))
	case is == nil:
		fmt.Fprintf(w, "    - %s\n", red(cutMiddle(*was, maxChanged)))
	case *was == *is:
		fmt.Fprintf(w, "      they differ in what looks like a secret, or in their type: %s\n", cutMiddle(*is, maxAround))
	default:
		head, tail := common(*was, *is)
		side := func(s string, colour func(string) string) string {
			return around(s[:head]) + colour(cutMiddle(s[head:len(s)-tail], maxChanged)) + around(s[len(s)-tail:])
		}
		fmt.Fprintf(w, "    - %s\n", side(*was, red))
		fmt.Fprintf(w, "    + %s\n", side(*is, green))
	}
}

func around(s string) string { return cutMiddle(s, maxAround) }

// common are the lengths in bytes of what two texts begin and end with alike,
// in whole characters.
func common(a, b string) (head, tail int) {
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	for head > 0 && (head < len(a) && !utf8.RuneStart(a[head]) || head < len(b) && !utf8.RuneStart(b[head])) {
		head--
	}
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	for tail > 0 && !utf8.RuneStart(a[len(a)-tail]) {
		tail--
	}
	return head, tail
}

// paint colours a text on a terminal, unless NO_COLOR is set (no-color.org) or
// the terminal is dumb.
func paint(w io.Writer, colour string) func(string) string {
	if !isTerminal(w) || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return func(s string) string { return s }
	}
	return func(s string) string {
		if strings.TrimSpace(s) == "" {
			return "\x1b[7m" + s + "\x1b[27m" // what has no shape has no colour either
		}
		return "\x1b[" + colour + "m" + s + "\x1b[39m"
	}
}
