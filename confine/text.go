package confine

import (
	"fmt"
	"io"
	"strings"

	"github.com/aegis-aar/aegis/internal/report"
)

// WriteText prints the Plan for people, one grant a line.
func (p *Plan) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "program      %s\n", report.SafeText(p.Program))
	fmt.Fprintf(&b, "network      denied (a socket answers %s)\n", p.OnSocket)
	fmt.Fprintf(&b, "environment  %s\n", report.SafeText(strings.Join(p.Environment, " ")))
	if p.PrivateTmp {
		b.WriteString("temporary    a private directory, removed at the end\n")
	}
	if p.BestEffort {
		b.WriteString("best effort  THE SERVER IS STARTED EVEN IF THIS CANNOT BE ENFORCED\n")
	}
	if len(p.Grants) == 0 {
		b.WriteString("files        none\n")
	} else {
		b.WriteString("files        rights: r read, x execute, w write, i ioctl; a slash at the end: all in it\n")
	}
	for _, g := range p.Grants {
		path := report.SafeText(g.Path)
		if g.Tree && path != "/" {
			path += "/"
		}
		fmt.Fprintf(&b, "  %s  %s  (%s)\n", g.Rights.letters(), path, report.SafeText(g.Why))
	}
	for _, note := range p.Notes {
		fmt.Fprintf(&b, "note: %s\n", report.SafeText(note))
	}
	fmt.Fprintf(&b, "digest       %s\n", p.Digest())
	_, err := io.WriteString(w, b.String())
	return err
}

// letters are the rights as `r`, `x`, `w` and `i`, a dash for each that is not there.
func (r Rights) letters() string {
	text := []byte("rxwi")
	for i := range text {
		if r&(1<<i) == 0 {
			text[i] = '-'
		}
	}
	return string(text)
}
