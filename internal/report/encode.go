package report

import (
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

const hexDigits = "0123456789abcdef"

// appendString appends s as a JSON string of at most limit bytes, quotes
// excepted; what does not fit is cut at a character and ends with "…". Every
// character that [SafeText] would escape is escaped, so that a file may be shown
// on a terminal as it is; a byte that is not UTF-8 becomes U+FFFD. limit is 16
// or more.
func appendString(dst []byte, s string, limit int) []byte {
	const mark = "…"
	dst = append(dst, '"')
	start, fits := len(dst), len(dst) // fits is the longest cut that leaves room for the mark
	for _, r := range s {
		if len(dst)-start <= limit-len(mark) {
			fits = len(dst)
		}
		dst = appendRune(dst, r)
		if len(dst)-start > limit {
			return append(append(dst[:fits], mark...), '"')
		}
	}
	return append(dst, '"')
}

func appendRune(dst []byte, r rune) []byte {
	switch {
	case r == '"' || r == '\\':
		return append(dst, '\\', byte(r))
	case !unsafeRune(r):
		return utf8.AppendRune(dst, r)
	case r > 0xffff:
		r -= 0x10000
		return appendUnit(appendUnit(dst, 0xd800+r>>10), 0xdc00+r&0x3ff)
	default:
		return appendUnit(dst, r)
	}
}

func appendUnit(dst []byte, u rune) []byte {
	return append(dst, '\\', 'u', hexDigits[u>>12&15], hexDigits[u>>8&15], hexDigits[u>>4&15], hexDigits[u&15])
}

// members writes the members of one JSON object, empty ones left out.
type members struct {
	dst   []byte
	comma bool
}

func (m *members) name(name string) {
	if m.comma {
		m.dst = append(m.dst, ',')
	}
	m.comma = true
	m.dst = append(m.dst, '"')
	m.dst = append(m.dst, name...)
	m.dst = append(m.dst, '"', ':')
}

func (m *members) text(name, value string, limit int) {
	if value != "" {
		m.name(name)
		m.dst = appendString(m.dst, value, limit)
	}
}

func (m *members) number(name string, n int64) {
	m.name(name)
	m.dst = strconv.AppendInt(m.dst, n, 10)
}

// list writes at most most texts; a longer list ends with "…".
func (m *members) list(name string, values []string, most, limit int) {
	if len(values) == 0 {
		return
	}
	m.name(name)
	m.dst = append(m.dst, '[')
	for i, v := range values {
		if i > 0 {
			m.dst = append(m.dst, ',')
		}
		if i == most-1 && len(values) > most {
			m.dst = append(m.dst, `"…"`...)
			break
		}
		m.dst = appendString(m.dst, v, limit)
	}
	m.dst = append(m.dst, ']')
}

// id writes an id as it was sent, character for character but for escapes. One
// that is longer than limit, or no JSON string or number, is told as a text.
func (m *members) id(name string, id jsontext.Value, limit int) {
	if len(id) == 0 {
		return
	}
	m.name(name)
	if kind := id.Kind(); (kind == '"' || kind == '0') && id.IsValid() {
		if safe := SafeJSON(id); len(safe) <= limit {
			m.dst = append(m.dst, safe...)
			return
		}
	}
	m.dst = appendString(m.dst, string(id), limit)
}

// limits bound the texts of a finding, in bytes of their JSON form.
type limits struct {
	id, name, place, snippet, phrases, phrase int
}

// facts writes what JSON lines and the properties of SARIF both tell.
func (m *members) facts(f *Finding, l limits) {
	m.text("sub_rule", f.SubRule, l.id)
	m.text("severity", f.Severity, l.id)
	m.text("tier", f.Tier, l.id)
	m.text("action", string(f.Action), l.id)
	m.text("direction", f.Direction, l.id)
	m.id("rpc_id", f.RPCID, l.id)
	m.text("tool", f.Tool, l.name)
	if f.Block != nil {
		m.number("block_index", int64(*f.Block))
	}
	m.text("pointer", f.Pointer, l.place)
	m.text("drift_class", f.DriftClass, l.id)
	m.text("target", f.Target, l.name)
	m.text("snippet", f.Snippet, l.snippet)
	m.list("matched_phrases", f.Matched, l.phrases, l.phrase)
}
