package inspect

// maxRounds bounds how often a response is looked at again after what was found
// in it was removed. One round is needed to see that nothing is left.
const maxRounds = 8

// Inspect runs the catalog on one JSON-RPC response, or any other JSON a server
// sent. What is no JSON is looked at as [Catalog.InspectRaw] does.
//
// What a rule removes is looked at again until nothing is left to remove: a
// secret that a removed character held apart blocks. Findings are the same
// under every posture. response is not changed and not kept.
func (c *Catalog) Inspect(response []byte, d Declaration, p Posture) Report {
	return c.run(response, d, p, false)
}

// InspectRaw runs the catalog on text that is no JSON, both as it stands and
// with the escapes of JSON in it read.
func (c *Catalog) InspectRaw(text []byte, d Declaration, p Posture) Report {
	return c.run(text, d, p, true)
}

func (c *Catalog) run(b []byte, d Declaration, p Posture, raw bool) (report Report) {
	s := c.pool.Get().(*inspection)
	defer func() {
		if recover() == nil {
			s.text, s.report, s.content = nil, Report{}, block{}
			c.pool.Put(s)
			return
		}
		// The state is not to be trusted, and neither is anything found.
		r := ruleOf(RuleFrameError)
		f := Finding{RuleID: r.ID, Severity: r.Severity, Level: r.Level, Tier: r.Tier, Action: Passed,
			BlockIndex: -1, Message: "inspection failed; the response was not inspected"}
		report = Report{Findings: []Finding{f}, Fault: &f}
	}()
	s.c, s.d, s.p, s.report, s.quiet = c, d, p, Report{Raw: raw}, false
	s.rewrite.rules = s.rewrite.rules[:0]
	s.rewrite.strip, s.rewrite.redact = true, true
	edited := s.rounds(b)

	strip, redact := !p.AuditOnly && !p.ShadowANSI, !p.AuditOnly && !p.ShadowSecretEcho && p.RedactSecretEcho
	if s.report.Block == nil && edited != nil && (strip || redact) {
		// The same again with only what the posture lets be removed.
		s.quiet = true
		s.rewrite.rules = s.rewrite.rules[:0]
		s.rewrite.strip, s.rewrite.redact = strip, redact
		edited = s.rounds(b)
		if s.report.Block == nil {
			s.report.Rewritten = edited
		}
	}
	for i := range s.report.Findings {
		f := &s.report.Findings[i]
		if f.Action == Modified && s.report.Block != nil {
			f.Action = Blocked
		}
	}
	return s.report
}

// rounds looks at b, removes what is to be removed, and looks again. It returns
// b without it, or nil if there was nothing.
func (s *inspection) rounds(b []byte) []byte {
	var edited []byte
	for round := 0; ; round++ {
		s.text = b
		s.rewrite.reset()
		if s.report.Raw || !s.walk(b) {
			s.raw(b)
		}
		if len(s.rewrite.edits) == 0 {
			if edited != nil && !s.report.Raw {
				edited = apply(b, s.rewrite.marking())
			}
			return edited
		}
		if round == maxRounds {
			// It grows back. Nothing honest does.
			if s.report.Block == nil && len(s.report.Findings) > 0 && !s.p.AuditOnly {
				f := s.report.Findings[0]
				f.Action = Blocked
				s.report.Block = &f
			}
			return edited
		}
		b = apply(b, s.rewrite.edits)
		edited = b
	}
}

// raw looks at text that is no JSON.
func (s *inspection) raw(text []byte) {
	s.report.Raw = true
	s.rewrite.reset()
	s.stack, s.block = s.stack[:0], -1
	s.addNote(Finding{BlockIndex: -1}, RuleFrameError, "frame is not JSON; inspected as text")
	s.tally.clear()
	s.look(nil, text)
	var edits []edit
	if !s.empty() {
		s.conclude(text, "")
		edits = s.editsFor(text)
	}
	s.decoded = decode(s.decoded[:0], text)
	if len(s.decoded) != len(text) {
		s.tally.clear()
		s.look(nil, s.decoded)
		if !s.empty() {
			s.conclude(s.decoded, "")
			edits = append(edits, rawEdits(text, s.editsFor(s.decoded), true)...)
		}
	}
	if edits != nil {
		s.rewrite.add(0, rawEdits(text, edits, false))
	}
}
