package policy

import (
	"fmt"
	"hash/fnv"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// appendProjection appends the canonical (RFC 8785) bytes that the
// policy_set_hash is taken over: `default` and `rules` in declaration order,
// every scalar a string, an axis, reason, rate or limit only where it is given;
// and `arguments` where the file has that half. The members are written here in
// the order RFC 8785 asks for.
func (s *Set) appendProjection(b []byte) []byte {
	b = append(b, '{')
	if s.arguments != nil {
		b = append(b, `"arguments":`...)
		b = append(s.arguments.appendProjection(b), ',')
	}
	b = append(b, `"default":`...)
	b = appendString(b, s.fallback.String())
	b = append(b, `,"rules":[`...)
	for i := range s.rules {
		if i > 0 {
			b = append(b, ',')
		}
		b = s.rules[i].appendProjection(b)
	}
	return append(b, "]}"...)
}

func (r *Rule) appendProjection(b []byte) []byte {
	b = append(b, `{"action":`...)
	b = appendString(b, r.Action.String())
	b = appendMember(b, "capability", r.Capability)
	b = append(b, `,"id":`...)
	b = appendString(b, r.ID)
	if l := r.Limits; l != nil {
		b = append(b, `,"limits":{`...)
		start := len(b)
		for _, m := range l.members() {
			if m.value == nil {
				continue
			}
			if len(b) > start {
				b = append(b, ',')
			}
			b = appendString(b, m.name)
			b = append(b, ':')
			b = appendString(b, strconv.FormatUint(*m.value, 10))
		}
		b = append(b, '}')
	}
	b = append(b, `,"priority":`...)
	b = appendString(b, strconv.FormatInt(int64(r.Priority), 10))
	if r.Rate != nil {
		b = append(b, `,"rate":{"max":`...)
		b = appendString(b, strconv.FormatUint(uint64(r.Rate.Max), 10))
		b = append(b, `,"per_seconds":`...)
		b = appendString(b, strconv.FormatUint(r.Rate.PerSeconds, 10))
		b = append(b, '}')
	}
	b = appendMember(b, "reason", r.Reason)
	b = appendMember(b, "role", r.Role)
	b = appendMember(b, "tool", r.Tool)
	return append(b, '}')
}

type limit struct {
	name  string
	value *uint64
}

// members lists the ceilings in canonical order.
func (l *Limits) members() [3]limit {
	return [3]limit{
		{"max_memory_bytes", l.MaxMemoryBytes},
		{"max_output_bytes", l.MaxOutputBytes},
		{"max_wall_ms", l.MaxWallMS},
	}
}

func appendMember(b []byte, name string, value *string) []byte {
	if value == nil {
		return b
	}
	b = append(b, ',')
	b = appendString(b, name)
	b = append(b, ':')
	return appendString(b, *value)
}

// appendString appends s as RFC 8785 spells it. YAML text is valid UTF-8, so
// there is no error to report.
func appendString(b []byte, s string) []byte {
	b, _ = jsontext.AppendQuote(b, s)
	return b
}

func fingerprint(src []byte) string {
	h := fnv.New64a()
	h.Write(src)
	return fmt.Sprintf("fnv1a:%016x", h.Sum64())
}
